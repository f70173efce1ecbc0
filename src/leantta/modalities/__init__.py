"""Kinds of data: what models take of each, what may happen to it, and the datasets that have names."""
