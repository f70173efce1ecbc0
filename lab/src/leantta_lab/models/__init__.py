"""The networks of the paper and one for motion sensors, with their checkpoints."""
