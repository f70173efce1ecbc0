"""Model files behind HTTP: the Open Inference Protocol, plain files by POST, and numbers for Prometheus."""
