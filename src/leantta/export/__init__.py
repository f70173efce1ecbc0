"""From a torch model to one ONNX file that adapts as it runs."""
