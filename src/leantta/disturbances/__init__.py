"""What may happen to an input between the world and the model: corruptions, and shifts of sensors."""
