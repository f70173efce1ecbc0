"""The table of gates: a name in, a gate out."""

from collections.abc import Mapping

from leantta.errors import SettingError
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.filter import FilterGate
from leantta.gates.gate import Fields, Gate, UnknownGate
from leantta.gates.paper import PaperGate

GATES: Mapping[str, type[Gate]] = {"paper": PaperGate, "calibrated": CalibratedGate, "filter": FilterGate}

DEFAULT_GATE = FilterGate.default()
"""Where source images are at hand."""

DEFAULT_WITHOUT_IMAGES = PaperGate.default()


def gate_of(gate: Gate | str) -> Gate:
    """Return the gate itself, or the default gate of that name.

    >>> gate_of("paper")
    PaperGate(tau=0.9, lam=0.9)
    """
    if isinstance(gate, Gate):
        return gate
    if gate not in GATES:
        raise SettingError(f"no gate is called {gate!r}; the gates are {', '.join(GATES)}")
    return GATES[gate].default()


def read_gate(part: Fields) -> Gate:
    """Return the gate that the metadata of a file tells of; a name that is not in the table is kept as it is.

    Raises:
        ArtifactError: a field is missing or of another type.
        SettingError: a value is out of range.
    """
    name = part.text("name")
    if name in GATES:
        return GATES[name].read(part)
    return UnknownGate(name=name, told={key: value for key, value in part.values.items() if key != "name"})
