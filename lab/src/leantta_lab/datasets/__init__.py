"""Benchmark datasets: where they are published, how they are read, and what is known of each."""
