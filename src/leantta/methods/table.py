"""The table of methods: a name in, a predictor out.

A method is written `name` or `name:settings`: `none`, `leantta`, `leantta:all`, `leantta:sixteen:calibrated`,
`eata:recommended`, `tent:paper:learning_rate=0.01`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches

from leantta.baselines.base import Normalized
from leantta.baselines.table import BASELINES, DEFAULT_PRESET, config_of
from leantta.errors import SettingError
from leantta.evaluate.predictor import Predictor
from leantta.methods.chosen import Chosen
from leantta.methods.lean import choose_lean, choose_none
from leantta.methods.options import MethodOptions
from leantta.methods.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method by name; `choose` is called with what follows the name's colon."""

    summary: str
    choose: Callable[[str, MethodOptions], Chosen]


def choose(text: str, options: MethodOptions) -> Chosen:
    """Return the method that a text names; what follows the colon goes before the options.

    >>> choose("leantta:all", MethodOptions()).label, choose("tent", MethodOptions()).label
    ('leantta:all', 'tent:paper')

    Raises:
        SettingError: there is no such method, or it cannot be told that.
    """
    name, _, rest = text.partition(":")
    if name not in METHODS:
        near = get_close_matches(name, METHODS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise SettingError(f"no method is called {name!r}; the methods are {', '.join(METHODS)}.{hint}")
    return METHODS[name].choose(rest, options)


def _baseline(name: str) -> Callable[[str, MethodOptions], Chosen]:
    def chosen(text: str, options: MethodOptions) -> Chosen:
        del options  # they are LeanTTA's
        config_of(name, text, 10)  # a wrong word is found before anything is loaded

        def build(subject: Subject) -> Predictor:
            return BASELINES[name].make(
                Normalized(subject.model, subject.mean, subject.std),
                config_of(name, text, subject.classes),
                classes=subject.classes,
                source=subject.source,
            )

        starts_with_preset = text and "=" not in text.partition(":")[0]
        words = text if starts_with_preset else ":".join(filter(None, (DEFAULT_PRESET, text)))
        return Chosen(
            label=f"{name}:{words}",
            settings=lambda classes: asdict(config_of(name, text, classes)),
            build=build,
        )

    return chosen


METHODS: Mapping[str, Method] = {
    "none": Method(summary="the model as it was trained", choose=choose_none),
    "leantta": Method(
        summary="each input adapts the selected BatchNorms, the rest is fused", choose=choose_lean
    ),
    **{
        name: Method(summary=row.summary, choose=_baseline(name))
        for name, row in BASELINES.items()
        if name != "source"  # it is called none here
    },
}
