"""Streams: inputs in the order in which a deployed model would meet them. Imports without torch."""
