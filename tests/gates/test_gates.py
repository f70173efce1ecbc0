"""What every gate of the table promises."""

import pytest

from leantta.errors import ArtifactError, SettingError
from leantta.gates.gate import UnknownGate
from leantta.gates.table import GATES, gate_of, read_gate
from leantta.graph.functions import functions_of
from leantta.runtime.fields import Fields

SETTINGS = [(name, each) for name, kind in GATES.items() for each in kind.known()]


@pytest.mark.parametrize("name", GATES)
def test_a_gate_is_known_by_its_name(name):
    gate = gate_of(name)
    assert (gate.name, type(gate), gate_of(gate)) == (name, GATES[name], gate)
    assert gate.settings()["name"] == name
    assert gate.described(gate).startswith(f"{name}, ")
    assert gate.comes_from(gate)
    with pytest.raises(SettingError, match="no gate is called 'paved'; the gates are paper, calibrated"):
        gate_of("paved")


@pytest.mark.parametrize("name", GATES)
def test_a_file_gives_back_what_it_was_told(name):
    told = gate_of(name).settings()
    assert read_gate(Fields("a.onnx", told, "gate.")) == gate_of(name)
    for key in told:
        if key != "budget":  # which a gate need not have
            with pytest.raises(ArtifactError, match=f"has no 'gate.{key}'"):
                read_gate(Fields("a.onnx", {k: v for k, v in told.items() if k != key}, "gate."))


@pytest.mark.parametrize(("name", "setting"), SETTINGS, ids=lambda value: getattr(value, "key", value))
def test_each_setting_reaches_the_file_and_keeps_its_range(name, setting):
    usual = gate_of(name)
    value = setting.least + (0.3 if usual.values()[setting.name] != setting.least + 0.3 else 0.2)
    changed = usual.changed(**{setting.name: value})
    assert changed.settings()[setting.key] == value
    assert changed != usual
    assert setting.help
    for wrong in (setting.least - 1, setting.most + 1, float("nan")):
        with pytest.raises(SettingError, match=f"{setting.key} must lie in"):
            usual.changed(**{setting.name: wrong})


@pytest.mark.parametrize("name", GATES)
def test_its_operator_has_all_forms(name):
    gate = gate_of(name)
    forms = functions_of(gate)
    assert next(iter(forms)) == gate.operator.name
    for form in forms.values():
        of_streams = {"length"} if "before" in form.input else set()
        assert set(form.attribute) == {*gate.attributes(), *of_streams, "layer"}
        assert set(gate.operator.constants) <= set(form.input)


def test_a_gate_of_another_version_is_kept_as_it_is():
    told = {"name": "coming", "rank": 16, "kinds": ["noise", "blur"]}
    gate = read_gate(Fields("a.onnx", told))
    assert isinstance(gate, UnknownGate)
    assert gate.settings() == told
    assert gate.values() == {"rank": 16, "kinds": ["noise", "blur"]}
    assert gate == read_gate(Fields("b.onnx", told)) != read_gate(Fields("b.onnx", {**told, "rank": 8}))
