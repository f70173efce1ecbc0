"""Shifts of motion sensors: how a phone differs from those that a model was trained with."""
