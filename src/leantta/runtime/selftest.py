"""The self-test that a file carries."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leantta.errors import ArtifactError


class SelfTest(NamedTuple):
    """A stored input and the logits that the model gave for it when it was made."""

    dtype: str
    shape: tuple[int, ...]
    packed: str  # base64 of the zlib-compressed raw bytes, little-endian
    logits: tuple[float, ...]
    tolerance: float

    @classmethod
    def of(cls, given: NDArray[Any], logits: NDArray[np.float32], tolerance: float) -> "SelfTest":
        """Return the self-test of an input (1, ...) and the logits that the file gave for it."""
        import base64
        import zlib

        little = given.astype(given.dtype.newbyteorder("<")).tobytes()
        packed = base64.b64encode(zlib.compress(little, 9)).decode()
        scores = tuple(float(value) for value in logits.reshape(-1))
        return cls(given.dtype.name, given.shape, packed, scores, tolerance)

    def images(self) -> NDArray[Any]:
        """Return the stored input, as `Session.predict` takes it.

        Raises:
            ArtifactError: it cannot be unpacked.
        """
        import binascii
        import zlib

        dtype = np.dtype(self.dtype).newbyteorder("<")
        size = math.prod(self.shape) * dtype.itemsize
        try:
            unpacker = zlib.decompressobj()
            raw = unpacker.decompress(binascii.a2b_base64(self.packed.encode()), size + 1)
        except (zlib.error, binascii.Error, OverflowError) as e:
            raise ArtifactError(f"the stored input of the self-test is damaged: {e}.") from e
        if len(raw) != size:
            raise ArtifactError(f"the stored input of the self-test has not the {size} bytes it should have.")
        return np.frombuffer(raw, dtype).reshape(self.shape).astype(self.dtype)
