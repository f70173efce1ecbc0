"""Where the datasets are published, and how to know that they arrived whole.

The addresses and checksums are those of the University of Toronto (CIFAR) and of Zenodo (CIFAR-C, CC BY 4.0).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A published tar file: the name it is kept under, the folder it unpacks to, its checksum and size."""

    url: str
    file: str
    folder: str
    md5: str
    size_bytes: int


_TORONTO = "https://www.cs.toronto.edu/~kriz"
_ZENODO = "https://zenodo.org/records"

ARCHIVES: Mapping[str, Archive] = {
    "cifar10": Archive(
        url=f"{_TORONTO}/cifar-10-binary.tar.gz",
        file="cifar-10-binary.tar.gz",
        folder="cifar-10-batches-bin",
        md5="c32a1d4ab5d03f1284b67883e8d87530",
        size_bytes=170_052_171,
    ),
    "cifar10-python": Archive(
        url=f"{_TORONTO}/cifar-10-python.tar.gz",
        file="cifar-10-python.tar.gz",
        folder="cifar-10-batches-py",
        md5="c58f30108f718f92721af3b95e74349a",
        size_bytes=170_498_071,
    ),
    "cifar100": Archive(
        url=f"{_TORONTO}/cifar-100-binary.tar.gz",
        file="cifar-100-binary.tar.gz",
        folder="cifar-100-binary",
        md5="03b5dce01913d631647c71ecec9e9cb8",
        size_bytes=168_513_733,
    ),
    "cifar100-python": Archive(
        url=f"{_TORONTO}/cifar-100-python.tar.gz",
        file="cifar-100-python.tar.gz",
        folder="cifar-100-python",
        md5="eb9058c3a382ffc7106e4002c42a8d85",
        size_bytes=169_001_437,
    ),
    "cifar10-c": Archive(
        url=f"{_ZENODO}/2535967/files/CIFAR-10-C.tar?download=1",
        file="CIFAR-10-C.tar",
        folder="CIFAR-10-C",
        md5="56bf5dcef84df0e2308c6dcbcbbd8499",
        size_bytes=2_918_471_680,
    ),
    "cifar100-c": Archive(
        url=f"{_ZENODO}/3555552/files/CIFAR-100-C.tar?download=1",
        file="CIFAR-100-C.tar",
        folder="CIFAR-100-C",
        md5="11f0ed0f1191edbf9fa23466ae6021d3",
        size_bytes=2_918_473_216,
    ),
}
