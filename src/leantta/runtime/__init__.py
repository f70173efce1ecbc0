"""A model file in, predictions out: numpy and an engine, no torch and no onnx package."""
