"""Gates: how far a layer follows an input, each with its settings, its formula and its ONNX operator."""
