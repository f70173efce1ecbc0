"""The self-test that a file carries."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leantta.errors import ArtifactError
from leantta.outputs import Head
from leantta.runtime.fields import Fields

MOST_VALUES = 256
"""How many values are kept of an output that is no row of scores."""


class Sample(NamedTuple):
    """Some values of an output, and how far another machine may be off."""

    values: tuple[float, ...]
    tolerance: float

    @classmethod
    def of(cls, output: NDArray[np.float32], tolerance: float) -> "Sample":
        """Return the sample of an output (1, ...)."""
        return cls(tuple(float(value) for value in output.reshape(-1)[places(output.shape[1:])]), tolerance)


def places(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return which values of an output of a shape, without the batch, are kept: of scores (k,) all.

    >>> places((3,)).tolist(), places((2, 16, 16))[:3].tolist(), len(places((2, 16, 16)))
    ([0, 1, 2], [0, 2, 4], 256)
    """
    count = _kept(shape)
    return np.arange(count, dtype=np.int64) * math.prod(shape) // count


def _kept(shape: tuple[int, ...]) -> int:
    """Return how many values of an output are kept; a file may state a shape that no memory has room for."""
    size = math.prod(shape)
    return size if len(shape) == 1 else min(size, MOST_VALUES)


class SelfTest(NamedTuple):
    """A stored input, and what the model gave for it when it was made."""

    dtype: str
    shape: tuple[int, ...]
    packed: str  # base64 of the zlib-compressed raw bytes, little-endian
    samples: Mapping[str, Sample]  # by output

    @classmethod
    def of(cls, given: NDArray[Any], samples: Mapping[str, Sample]) -> "SelfTest":
        """Return the self-test of an input (1, ...) with samples of what the file gave for it."""
        import base64
        import zlib

        little = given.astype(given.dtype.newbyteorder("<")).tobytes()
        packed = base64.b64encode(zlib.compress(little, 9)).decode()
        return cls(given.dtype.name, given.shape, packed, samples)

    @property
    def tolerance(self) -> float:
        """How far any output may be off."""
        return max(sample.tolerance for sample in self.samples.values())

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
        except (zlib.error, ValueError, OverflowError) as e:  # ValueError: no base64, or no characters of any
            raise ArtifactError(f"the stored input of the self-test is damaged: {e}.") from e
        if len(raw) != size:
            raise ArtifactError(f"the stored input of the self-test has not the {size} bytes it should have.")
        return np.frombuffer(raw, dtype).reshape(self.shape).astype(self.dtype)

    def told(self, *, plain: bool) -> dict[str, object]:
        """Return it as the metadata has it; `plain`: of one row of scores, called logits."""
        (first, *_) = samples = [sample._asdict() for sample in self.samples.values()]
        kept = {"dtype": self.dtype, "shape": self.shape, "input": self.packed}
        if plain:
            return {**kept, "logits": first["values"], "tolerance": first["tolerance"]}
        return {**kept, "outputs": dict(zip(self.samples, samples, strict=True))}


def read_selftest(
    part: Fields, dtype: str, shape: tuple[int, ...], heads: Sequence[Head], *, plain: bool
) -> SelfTest:
    """Return the self-test of a file whose inputs have that type and shape.

    Raises:
        ArtifactError: a field is missing or wrong.
    """
    if part.wholes("shape", least=1) != (1, *shape):
        raise part.wrong("shape", f"{[1, *shape]}")
    places_of = {head.name: (part if plain else part.inner("outputs").inner(head.name)) for head in heads}
    key = "logits" if plain else "values"
    return SelfTest(
        dtype=part.text("dtype", of=(dtype,)),
        shape=(1, *shape),
        packed=part.text("input"),
        samples={head.name: _sample(places_of[head.name], key, head) for head in heads},
    )


def _sample(part: Fields, key: str, head: Head) -> Sample:
    values = part.numbers(key, count=_kept(head.shape))
    tolerance = part.number("tolerance")
    if tolerance < 0:
        raise part.wrong("tolerance", "0 or more")
    return Sample(values, tolerance)
