"""The table of methods, and the one place where the text of a method is read.

A method is written `name` or `name:settings`: `none`, `leantta`, `leantta:all`, `leantta:sixteen:calibrated`,
`eata:recommended`, `tent:paper:learning_rate=0.01`.
"""

from collections.abc import Mapping

from leantta import plugins
from leantta.methods.lean import parse_lean, parse_none
from leantta.methods.method import Method, MethodEntry
from leantta.surgery.adaptation import Adaptation

USUAL = Adaptation()

METHODS: Mapping[str, MethodEntry] = {
    "none": MethodEntry(summary="the model as it was trained", parse=parse_none),
    "leantta": MethodEntry(
        summary="each input adapts the selected BatchNorms, the rest is fused", parse=parse_lean
    ),
}
"""The tool's own methods; other packages bring more (`leantta.plugins`)."""


def parse_method(text: str, options: Adaptation = USUAL) -> Method:
    """Return the method that a text names; what follows the colon goes before the options.

    >>> parse_method("leantta:all").label
    'leantta:all'

    Raises:
        SettingError: there is no such method, or it cannot be told that.
    """
    name, _, rest = text.partition(":")
    known = {**METHODS, **plugins.brought("methods")}
    if name not in known:
        raise plugins.unknown("methods", name, known)
    entry: MethodEntry = METHODS[name] if name in METHODS else plugins.load("methods", name)
    return entry.parse(rest, options)
