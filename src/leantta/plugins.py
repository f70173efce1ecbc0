"""What other packages bring by entry points: models, datasets, methods, commands and benchmarks.

A package declares them in its pyproject.toml; `leantta-lab` is one such package, a user's own may be another:

    [project.entry-points."leantta.models"]    name = "module:ENTRY"    a `models.named.ModelEntry`
    [project.entry-points."leantta.datasets"]  name = "module:INFO"     a `modalities.datasets.DatasetInfo`
    [project.entry-points."leantta.methods"]   name = "module:METHOD"   a `methods.method.MethodEntry`
    [project.entry-points."leantta.commands"]  name = "module:command"  a click command of `leantta`
    [project.entry-points."leantta.bench"]     networks = "module:BENCH"  a `measure.request.NetworkBench`

Names are known without importing the package; the value is loaded when it is asked for.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from leantta.errors import SettingError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal["models", "datasets", "methods", "commands", "bench"]

LAB_INSTALL = "pip install leantta-lab"

LAB_NAMES: Mapping[Kind, tuple[str, ...]] = {
    "models": ("resnet18", "mobilenet_v2", "vggish", "mobilevit_s", "efficientnet_lite0", "motion_cnn"),
    "datasets": ("cifar10", "cifar100", "imagenet", "har", "esc50", "capuchin", "birdvox", "warblr"),
    "methods": (
        *("bn_batch", "alpha_bn", "tent", "eata", "cotta", "realistic_tta", "sar", "rotta", "note", "lame"),
        *("sita", "intent", "mecta", "ttn", "mixnorm", "unmix_tns"),
    ),
    "commands": ("demo", "reproduce", "train", "download"),
    "bench": ("networks",),
}
"""What the laboratory brings: only so that a name that is missing can be answered with how to get it."""


@cache
def brought(kind: Kind) -> "dict[str, EntryPoint]":
    """Return the entry points of one kind by name, in the order of their names."""
    from importlib.metadata import entry_points  # here, as loading it takes longer than most commands need

    return {point.name: point for point in sorted(entry_points(group=f"leantta.{kind}"))}


@cache
def load(kind: Kind, name: str) -> Any:
    """Return what stands behind a name.

    Raises:
        SettingError: no installed package brings it; the message says which names there are.
    """
    if name not in brought(kind):
        raise unknown(kind, name, brought(kind))
    return brought(kind)[name].load()


def unknown(kind: Kind, name: str, known: Mapping[str, object]) -> SettingError:
    """Return the error for a name that nobody knows: how to install the lab, or which names there are.

    >>> print(unknown("datasets", "cifar11", {"cifar10": None}))
    no dataset is called 'cifar11'; known: cifar10. Did you mean 'cifar10'?
    """
    noun = kind.removesuffix("s")
    if name in LAB_NAMES[kind]:
        return SettingError(f"the {noun} {name!r} is part of the laboratory: {LAB_INSTALL}")
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    names = ", ".join(known) or f"none; some are part of the laboratory: {LAB_INSTALL}"
    return SettingError(f"no {noun} is called {name!r}; known: {names}.{hint}")
