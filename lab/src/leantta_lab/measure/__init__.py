"""What a model costs: latency, throughput, memory, start-up, size and energy, as records."""
