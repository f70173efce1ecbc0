"""Run a predictor over a stream and keep what it said. Imports without torch."""
