"""Streams by name, for the command line: a table of what there is, what it takes, and how it is built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from leantta.errors import SettingError
from leantta.modalities.cells import Cells
from leantta.streams.builders import abrupt, clean, correlated, gradual, one_cell, severity5
from leantta.streams.stream import Setting, Stream


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """What a caller may say about a stream; None takes the default, and is an error where there is none."""

    seed: int = 0
    images: int | None = None  # per cell or step; in all for one_cell and clean
    corruption: str | None = None
    severity: int | None = None
    concentration: float | None = None

    def given(self) -> frozenset[str]:
        """Return the names of the options that were set, but for the seed, which every stream takes."""
        values: dict[str, Setting | None] = {
            "images": self.images,
            "corruption": self.corruption,
            "severity": self.severity,
            "concentration": self.concentration,
        }
        return frozenset(name for name, value in values.items() if value is not None)


@dataclass(frozen=True, kw_only=True)
class StreamKind:
    """A stream that can be asked for by name."""

    summary: str
    images: int  # the default of the option
    build: Callable[[Cells, int, StreamOptions], Stream]
    needs: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset({"images"})


def build_stream(name: str, cells: Cells, options: StreamOptions) -> Stream:
    """Return a stream of the table `STREAMS`.

    Raises:
        SettingError: there is no such stream, an option does nothing for it, or one it needs is missing.
    """
    if name not in STREAMS:
        raise SettingError(f"unknown stream {name!r}; known: {', '.join(STREAMS)}.")
    kind = STREAMS[name]
    if idle := options.given() - kind.takes - kind.needs:
        raise SettingError(f"{', '.join(sorted(idle))} changes nothing in the stream {name!r}; leave it out.")
    if missing := kind.needs - options.given():
        raise SettingError(f"the stream {name!r} needs a {' and a '.join(sorted(missing))}.")
    return kind.build(cells, kind.images if options.images is None else options.images, options)


def _correlated(cells: Cells, images: int, options: StreamOptions) -> Stream:
    if options.concentration is None:
        return correlated(cells, images, seed=options.seed)
    return correlated(cells, images, concentration=options.concentration, seed=options.seed)


def _one_cell(cells: Cells, images: int, options: StreamOptions) -> Stream:
    assert options.corruption is not None  # build_stream checked what is needed
    assert options.severity is not None
    return one_cell(cells, options.corruption, options.severity, images, seed=options.seed)


STREAMS: Mapping[str, StreamKind] = {
    "abrupt": StreamKind(
        summary="the same number of images from each corruption and severity, shuffled",
        images=100,
        build=lambda cells, images, options: abrupt(cells, images, seed=options.seed),
    ),
    "gradual": StreamKind(
        summary="corruptions in random order, each growing to severity 5 and fading again",
        images=100,
        build=lambda cells, images, options: gradual(cells, images, seed=options.seed),
    ),
    "severity5": StreamKind(
        summary="each corruption at severity 5, one after another",
        images=100,
        build=lambda cells, images, options: severity5(cells, images, seed=options.seed),
    ),
    "correlated": StreamKind(
        summary="as severity5, with the classes in bursts",
        images=100,
        build=_correlated,
        takes=frozenset({"images", "concentration"}),
    ),
    "one_cell": StreamKind(
        summary="one corruption at one severity",
        images=1000,
        build=_one_cell,
        needs=frozenset({"corruption", "severity"}),
    ),
    "clean": StreamKind(
        summary="uncorrupted images",
        images=1000,
        build=lambda cells, images, options: clean(cells, images, seed=options.seed),
    ),
}
