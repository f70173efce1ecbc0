"""Benchmarks of model files: latency, throughput, memory, start-up, size and energy, side by side."""
