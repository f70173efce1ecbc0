"""What a disturbance and a library of them are, and how samples are disturbed with them.

A library is a table of one modality; `leantta.disturbances.library.tables` has ours. Add your own to one:

    mine = library_with(CAMERA, {"raindrops": Disturbance("cover", raindrops, "spatter", "Drops refract.")})

where `raindrops(images, strengths, random)` returns changed copies: as many, of the same shape, type and
device. It draws from `random` alone and changes each image by its own strength, from 0 (as good as nothing)
to 1 (as much as the strongest test, or more), whatever the other images are.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from leantta.errors import DataError, SettingError

Change = Callable[[Tensor, Tensor, Generator], Tensor]
"""Takes samples (n, ...), strengths (n,) from 0 to 1 and a generator; returns changed copies (n, ...)."""

ROUNDING = 1e-4
"""So far outside of a library's range a value may lie: computing leaves such traces."""


@dataclass(frozen=True)
class Disturbance:
    """One way to change samples; the first line of the docstring of `change` says what it does."""

    kind: str  # disturbances of one kind are alike: "noise", "blur"
    change: Change
    nearest: str = ""  # the shift of the tests that is most like it, if there is one
    difference: str = ""  # how it differs from that, in one sentence


@dataclass(frozen=True)
class Library(Mapping[str, Disturbance]):
    """Disturbances of one modality by name, and the range that values are kept in; None has no end."""

    disturbances: Mapping[str, Disturbance]
    axes: int  # of a batch of samples: 4 for images (n, c, h, w)
    least: float | None = None
    most: float | None = None

    def __getitem__(self, name: str) -> Disturbance:
        """Return the disturbance of that name."""
        return self.disturbances[name]

    def __iter__(self) -> Iterator[str]:
        """Give the names in order."""
        return iter(self.disturbances)

    def __len__(self) -> int:
        """Return how many disturbances there are."""
        return len(self.disturbances)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that there are, each once, in the order of the table."""
        return tuple(dict.fromkeys(each.kind for each in self.values()))


class Mixed(NamedTuple):
    """Disturbed copies of samples, and the places in the library of what was done to each."""

    samples: Tensor
    disturbance: Tensor  # (n,)
    second: Tensor  # (n,), -1 where there was none


class _Choice(NamedTuple):
    """A disturbance, by its place in the library or -1 for none, and its strength for each sample, (n,)."""

    places: Tensor
    strengths: Tensor


def library_with(library: Library, own: Mapping[str, Disturbance]) -> Library:
    """Return a library that also has disturbances of your own.

    Raises:
        SettingError: one of the names is taken.
    """
    taken = ", ".join(repr(name) for name in own if name in library)
    if taken:
        raise SettingError(f"the library has a disturbance {taken} already. Give yours another name.")
    return replace(library, disturbances={**library.disturbances, **own})


def disturbed(samples: Tensor, library: Library, name: str, strengths: Tensor, random: Generator) -> Tensor:
    """Return copies of samples (n, ...), all with one disturbance, each of its own strength (n,).

    Values that leave the library's range are set to its end.

    Raises:
        SettingError: no such disturbance, or strengths that are not n numbers from 0 to 1.
        DataError: samples that the library is not for; or the disturbance returned another shape, type or
            device, or values that are not finite.
    """
    if name not in library:
        raise SettingError(f"no disturbance is called {name!r}; there are {', '.join(library)}.")
    _check_samples(samples, library)
    if strengths.shape != samples.shape[:1]:
        shape = tuple(strengths.shape)
        raise SettingError(
            f"{name} needs one strength for each of {len(samples)} samples; their shape is {shape}."
        )
    if not bool(((strengths >= 0) & (strengths <= 1)).all()):
        raise SettingError(f"the strengths of {name} must lie between 0 and 1; these do not. Scale them.")
    if not len(samples):
        return samples.clone()
    answer = library[name].change(samples, strengths.to(samples), random)
    _check_answer(answer, samples, name)
    if library.least is None and library.most is None:
        return answer
    return answer.clamp(library.least, library.most)


def mixed(
    samples: Tensor,
    library: Library,
    random: Generator,
    *,
    kinds: Collection[str] | None = None,
    second: float = 0.3,
) -> Mixed:
    """Return copies of samples (n, ...), each with a disturbance of its own, drawn from some or all kinds.

    All kinds are as frequent as n allows, and so are the disturbances of a kind. Strengths are uniform from 0
    to 1. With the probability `second` another one follows, of another of these kinds (if there are several)
    and of half such a strength.
    What is drawn depends on the generator's state, on n, on the library and on these settings. It does not
    depend on the values of the samples, so what happens to one does not depend on the others. Samples with
    the same disturbance are changed together; a part of the batch alone would be changed differently.

    Raises:
        SettingError: a kind that the library does not have, none at all, or no probability.
        DataError: as in `disturbed`.
    """
    asked = tuple(library.kinds if kinds is None else dict.fromkeys(kinds))
    unknown = ", ".join(repr(kind) for kind in asked if kind not in library.kinds)
    if unknown or not asked:
        known = ", ".join(library.kinds)
        raise SettingError(f"no disturbances are of the kind {unknown or '(none)'}; there are {known}.")
    if not 0 <= second <= 1:
        raise SettingError(f"a second disturbance has a probability from 0 to 1, not {second}.")
    _check_samples(samples, library)
    first, then = _choices(len(samples), library, asked, second, random)
    once = _each_disturbed(samples, library, first, random)
    return Mixed(_each_disturbed(once, library, then, random), first.places, then.places)


def _choices(
    count: int, library: Library, kinds: tuple[str, ...], second: float, random: Generator
) -> tuple[_Choice, _Choice]:
    """Draw what happens to each sample, first and then."""
    kind = _dealt(count, len(kinds), random)
    first = _Choice(_members(kind, library, kinds, random), _uniform(count, random))
    again = (_uniform(count, random) < second) & (len(kinds) > 1)
    further = 1 + (_uniform(count, random) * (len(kinds) - 1)).long()  # so many kinds further: another one
    other = _members((kind + further) % len(kinds), library, kinds, random)
    return first, _Choice(torch.where(again, other, -1), _uniform(count, random) / 2)


def _members(kind: Tensor, library: Library, kinds: tuple[str, ...], random: Generator) -> Tensor:
    """Draw a disturbance of the kind of each sample, all as often: places in the library, (n,)."""
    chosen = torch.empty_like(kind)
    for number, name in enumerate(kinds):
        members = torch.tensor([place for place, each in enumerate(library.values()) if each.kind == name])
        here = kind == number
        chosen[here] = members[_dealt(int(here.sum()), len(members), random)]
    return chosen


def _each_disturbed(samples: Tensor, library: Library, choice: _Choice, random: Generator) -> Tensor:
    answer = samples.clone()
    for place, name in enumerate(library):
        here = (choice.places == place).nonzero()[:, 0]
        if len(here):
            there = here.to(samples.device)
            answer[there] = disturbed(samples[there], library, name, choice.strengths[here], random)
    return answer


def _dealt(count: int, choices: int, random: Generator) -> Tensor:
    """Deal out numbers below `choices` at random, each as often as the others or once more: (count,)."""
    order = torch.randperm(choices, generator=random, device=random.device).cpu()
    return order[torch.randperm(count, generator=random, device=random.device).cpu() % choices]


def _uniform(count: int, random: Generator) -> Tensor:
    return torch.rand(count, generator=random, device=random.device).cpu()


def _check_samples(samples: Tensor, library: Library) -> None:
    if samples.dtype not in (torch.float32, torch.float64) or samples.ndim != library.axes:
        raise DataError(
            f"disturbances need a batch of samples as float32 or float64 with {library.axes} axes; these are "
            f"{samples.dtype} {tuple(samples.shape)}. Convert them."
        )
    if not bool(samples.isfinite().all()):
        raise DataError("samples to be disturbed hold NaN or infinite values. Repair or remove them.")
    low = -torch.inf if library.least is None else library.least
    high = torch.inf if library.most is None else library.most
    if (
        samples.numel()
        and not low - ROUNDING <= float(samples.min()) <= float(samples.max()) <= high + ROUNDING
    ):
        raise DataError(
            f"samples to be disturbed must lie between {low} and {high}, as before normalization; these go "
            f"from {float(samples.min()):.4g} to {float(samples.max()):.4g}. Scale them."
        )


def _check_answer(answer: Tensor, samples: Tensor, name: str) -> None:
    if not isinstance(answer, Tensor):
        raise DataError(f"the disturbance {name} must return a tensor; it returned {type(answer).__name__}.")
    found = (tuple(answer.shape), answer.dtype, answer.device)
    asked = (tuple(samples.shape), samples.dtype, samples.device)
    if found != asked:
        raise DataError(
            f"the disturbance {name} must return what it takes, {asked[0]} {asked[1]} on {asked[2]}; it "
            f"returned {found[0]} {found[1]} on {found[2]}. Repair its change."
        )
    if not bool(answer.isfinite().all()):
        raise DataError(
            f"the disturbance {name} returned NaN or infinite values of finite ones. Look for a logarithm, a "
            f"power or a division in its change."
        )
