"""The networks of the paper, their checkpoints, and how a user's own network is found."""
