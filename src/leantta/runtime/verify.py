"""Whether a model file is whole and computes what it computed when it was made."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from leantta.errors import ArtifactError
from leantta.runtime.bodies import changed_functions
from leantta.runtime.container import check_digest, read_container
from leantta.runtime.engines import open_engine
from leantta.runtime.kernel import describe
from leantta.runtime.metadata import Info, read_info
from leantta.runtime.prediction import Outputs
from leantta.runtime.selftest import places
from leantta.runtime.session import Session
from leantta.runtime.signature import check_signature, output_names
from leantta.runtime.signing import check_signed

_DISTANCE_TOLERANCE = 0.01  # of 1 + the value: int8 rounds, and a batch may be summed in another order


class Check(NamedTuple):
    """One thing that was looked at, and what was found."""

    name: str
    ok: bool
    detail: str


def verify(
    path: str | PathLike[str], *, engine: str = "onnxruntime", key: str | PathLike[str] | None = None
) -> list[Check]:
    """Return what was checked of the file at `path`; nothing is checked after a part that others need fails.

    With a public `key`, the signature of the file is checked first.

    Raises:
        MissingFileError: there is nothing at `path`.
        SettingError: there is no such engine.
        MissingExtraError: the engine is not installed.
    """
    checks: list[Check] = []
    name = "structure" if key is None else "signature"
    try:
        if key is not None:
            check_signed(path, key)
            checks.append(Check(name, True, f"the owner of {key} signed this file"))
            name = "structure"
        container = read_container(path)
        opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in container.opsets.items())
        checks.append(Check(name, True, f"ONNX, {container.size:,} bytes, one file; operators of {opsets}"))
        name = "digest"
        digest = check_digest(container)
        if digest is not None:  # else the metadata is nothing of ours, which is what to say
            checks.append(Check(name, True, f"sha256 {digest[:16]}..."))
        name = "metadata"
        info = read_info(container)
        checks.append(Check(name, True, f"format {info.format}: {_summary(info)}"))
        name = "functions"
        changed = changed_functions(container.path)
        strange = (
            f"{', '.join(changed)}: none that LeanTTA writes for such layers, so it runs without the kernel"
        )
        checks.append(Check(name, not changed, strange if changed else "as LeanTTA writes them"))
        name = "engine"
        opened = open_engine(engine, container.path, names=output_names(info))
        check_signature(opened, info, container.path)
        kernel = f" with our kernel, {describe()}" if opened.native and info.layers else ""
        detail = f"{engine} loads it{kernel}; inputs and outputs are as its metadata says"
        checks.append(Check(name, True, detail))
        name = "self-test"
        with Session(opened, info, container.path) as session:
            checks += _behaviour(session)
    except ArtifactError as e:
        checks.append(Check(name, False, str(e)))
    return checks


def _summary(info: Info) -> str:
    adapts = f"{len(info.layers)} layers adapt" if info.layers else "nothing adapts"
    return f"{info.model}, {info.precision}, {adapts}"


def _behaviour(session: Session) -> Iterator[Check]:
    """Give the checks that compute something."""
    stored = session.info.selftest
    images = stored.images()
    alone = session.run(images)
    yield _compare(
        "self-test",
        f"the stored input gives the stored {_called(session.info)}",
        [
            (alone.arrays[head.name].reshape(-1)[places(head.shape)], np.array(values), _within(tolerance))
            for head in session.info.heads
            for values, tolerance in [stored.samples[head.name]]
        ],
    )
    other = _unlike(images)
    second = session.run(other)
    both = session.run(np.concatenate([images, other]))
    yield _compare(
        "batch",
        "two inputs at once give what each gives alone",
        [
            *(
                (
                    both.arrays[name],
                    np.concatenate([alone.arrays[name], second.arrays[name]]),
                    _within(sample.tolerance),
                )
                for name, sample in stored.samples.items()
            ),
            *_measures(both, alone, second),
        ],
    )
    if alone.shift is not None and alone.distance is not None:
        values = np.concatenate([alone.shift, second.shift, alone.distance.ravel()])
        finite = bool(np.isfinite(values).all())
        detail = (
            f"{len(session.info.layers)} distances and a shift of {alone.shift[0]:.3g} for the stored input"
        )
        yield Check("shift", finite, detail if finite else "distances or shift are not finite")


def _called(info: Info) -> str:
    names = [head.name for head in info.heads]
    return names[0] if len(names) == 1 else f"{len(names)} outputs"


Tolerance = Callable[[npt.NDArray[Any]], Any]
Pair = tuple[npt.NDArray[Any], npt.NDArray[Any], Tolerance]


def _within(tolerance: float) -> Tolerance:
    return lambda _: tolerance


def _measures(both: Outputs, first: Outputs, second: Outputs) -> Iterator[Pair]:
    """Give the distances and shifts of a batch beside those of its inputs alone."""
    for pooled, *parts in (
        (both.distance, first.distance, second.distance),
        (both.shift, first.shift, second.shift),
    ):
        present = [part for part in parts if part is not None]
        if pooled is not None and present:
            yield pooled, np.concatenate(present), lambda values: _DISTANCE_TOLERANCE * (1 + np.abs(values))


def _compare(name: str, meaning: str, pairs: list[Pair]) -> Check:
    """Return whether all pairs agree, with the largest difference as a share of what is allowed."""
    worst = 0.0
    for found, wanted, allowed in pairs:
        with np.errstate(invalid="ignore"):  # infinity less infinity; NaN is the answer then
            gap = np.abs(found.astype(np.float64) - wanted)
            share = gap / np.maximum(allowed(wanted), 1e-30)
        worst = max(worst, float(np.nan_to_num(share, nan=np.inf).max()))
    if worst <= 1:
        return Check(name, True, f"{meaning}, off by {worst:.2g} of what is allowed")
    return Check(name, False, f"it is not so that {meaning}: off by {worst:.3g} times what is allowed")


def _unlike(images: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an input that shares nothing with the stored one: its negative, upside down."""
    flipped = images[:, ::-1]
    return 255 - flipped if images.dtype == np.uint8 else 1 - flipped
