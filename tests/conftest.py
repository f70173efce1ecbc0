from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def sample() -> Path:
    """The CIFAR-10 sample that the repository carries."""
    return CHECKOUT / "examples" / "cifar10_sample.npz"


@pytest.fixture(scope="session")
def weights() -> Path:
    """The checkpoint that the repository carries."""
    return CHECKOUT / "weights" / "resnet18_cifar10.safetensors"
