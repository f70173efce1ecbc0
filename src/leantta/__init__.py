"""Test-time adaptation for small CNNs."""
