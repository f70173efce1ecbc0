"""The networks of the paper, one for motion sensors and one for photographs, with their checkpoints."""
