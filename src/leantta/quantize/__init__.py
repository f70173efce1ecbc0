"""What is int8, with which ranges, and how the graph is written then: ONNX in, ONNX out, no torch."""
