"""Training of the models of the table, on a CPU, with checkpoints."""
