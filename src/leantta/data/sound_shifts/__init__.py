"""What may happen to a recording between the bird and the model, at five severities."""
