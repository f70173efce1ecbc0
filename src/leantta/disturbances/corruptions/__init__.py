"""The 19 corruptions of CIFAR-10-C at five severities: a function of (images, name, severity, seed)."""
