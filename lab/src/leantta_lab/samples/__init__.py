"""A few hundred CIFAR-10 images that the package carries, for the demo and for first steps."""

from pathlib import Path

CIFAR10_SAMPLE = Path(__file__).parent / "cifar10_sample.npz"
"""Arrays `x_train y_train x_test y_test`, like the whole dataset."""
