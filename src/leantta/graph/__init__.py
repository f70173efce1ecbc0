"""ONNX graphs as plain values, and the adaptive normalization as functions inside them."""
