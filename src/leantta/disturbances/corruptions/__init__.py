"""The 19 corruptions of CIFAR-C and ImageNet-C: a function of (images, name, severity, seed)."""
