"""What a model file says about itself: one schema, written by the conversion and read by the runtime.

The metadata is JSON under the key `leantta`; docs/artifact.md describes it. Every field is checked when it is
read. Unknown keys are ignored, so a file of the same format may say more than this version knows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from leantta.errors import ArtifactError, SettingError
from leantta.gates.gate import Gate
from leantta.gates.table import read_gate
from leantta.outputs import LOGITS, RESERVED, Head, deciding, role_of
from leantta.runtime.container import DIGEST_KEY, INFO_KEY, Container
from leantta.runtime.fields import Fields
from leantta.runtime.input_info import InputInfo, read_input
from leantta.runtime.selftest import SelfTest, read_selftest

SHIFT_QUANTILE = 0.99
"""Of the source images, the share whose shift is at most 1."""

FORMAT = 2
"""The highest format of files that this version reads; a higher one was made by a newer version."""


class PlannedLayer(NamedTuple):
    """What the conversion did to one BatchNorm, and why."""

    layer: str
    action: str
    channels: int
    reason: str


class ShiftInfo(NamedTuple):
    """How the distances of an input become its shift: where source images lie and how far they scatter."""

    middle: float
    limit: float
    images: int


class MemoryInfo(NamedTuple):
    """What the layers of a file with a stream mode remember."""

    size: int  # numbers, of all layers together
    length: float  # inputs that they count for, at most


@dataclass(frozen=True, kw_only=True, eq=False)
class Info:
    """What a model file says about itself."""

    model: str
    weights_sha256: str | None
    precision: str
    portable: bool
    input: InputInfo
    classes: tuple[str, ...] | None
    heads: tuple[Head, ...]
    gate: Gate | None  # None: nothing adapts
    layers: tuple[str, ...]  # the adapting ones, in the order of the columns of `distance`
    plan: tuple[PlannedLayer, ...] = field(repr=False)
    shift: ShiftInfo | None
    calibration: Mapping[str, object] | None = field(repr=False)
    ranges: Mapping[str, tuple[float, float]] = field(repr=False)
    selftest: SelfTest = field(repr=False)
    versions: Mapping[str, str]
    memory: MemoryInfo | None = None  # None: it has no stream mode

    @property
    def format(self) -> int:
        """The lowest format whose readers understand all of it.

        1: it puts out one row of scores, `logits`, and does not describe its preprocessing; else 2.
        """
        scores_alone = [(head.name, head.role) for head in self.heads] == [(LOGITS, "classes")]
        return 1 if scores_alone and self.input.preprocessing is None else 2

    @property
    def deciding(self) -> Head | None:
        """The output that decides, for an input or for each pixel; None if there is none."""
        return deciding(self.heads)

    @property
    def outputs(self) -> int:
        """How many scores a decision is made of; 1: a yes-no question, above 0 means yes; 0: none is made."""
        return 0 if self.deciding is None else self.deciding.scores

    def label(self, index: int) -> str:
        """Return the name of a class, or its number when the classes have no names."""
        return self.classes[index] if self.classes else str(index)


def write_info(info: Info) -> str:
    """Return the metadata as the one JSON text that says it: sorted keys, no spaces.

    Raises:
        ValueError: a number is not finite.
    """
    inputs, plain = info.input._asdict(), info.format == 1
    if (sound := inputs.pop("sound")) is not None:
        inputs["sound"] = sound._asdict()
    if (how := inputs.pop("preprocessing")) is not None:
        inputs["preprocessing"] = how.to_json()
    told = {
        **vars(info),
        "format": info.format,
        "heads": [head._asdict() for head in info.heads],
        "outputs": info.outputs,
        "input": inputs,
        "gate": info.gate and info.gate.settings(),
        "plan": [row._asdict() for row in info.plan],
        "shift": info.shift and info.shift._asdict(),
        "selftest": info.selftest.told(plain=plain),
        "memory": info.memory and info.memory._asdict(),
    }
    if info.memory is None:
        del told["memory"]  # as in files that were made before there was one
    del told["heads" if plain else "outputs"]
    return json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_info(container: Container) -> Info:
    """Return what the file says about itself.

    Raises:
        ArtifactError: it is somebody else's model, made by a newer version, or a field is missing or wrong.
    """
    path = container.path
    if INFO_KEY not in container.metadata:
        raise ArtifactError(
            f"{path} is an ONNX file but was not made by leantta convert: it has no metadata of ours. "
            f"Convert your model with `leantta convert`."
        )
    fields = Fields.parse(path, container.metadata[INFO_KEY])
    version = fields.whole("format", least=1)
    if version > FORMAT:
        raise ArtifactError(
            f"{path} has format {version}, made by a newer leantta; this one reads format {FORMAT}. "
            f"Upgrade it: pip install --upgrade leantta"
        )
    if not container.seals_at:
        raise ArtifactError(f"{path} carries no digest ({DIGEST_KEY!r}). Convert the model again.")
    inputs = read_input(fields)
    heads = _heads(fields, inputs, version)
    layers = fields.texts("layers")
    if len(set(layers)) != len(layers):
        raise fields.wrong("layers", "a list of different names")
    if bool(layers) == fields.is_null("gate"):
        raise fields.wrong("gate", "null when no layer adapts, and a gate otherwise")
    versions = fields.inner("versions")
    return Info(
        model=fields.text("model"),
        weights_sha256=None if fields.is_null("weights_sha256") else fields.text("weights_sha256"),
        precision=fields.text("precision", of=("int8", "fp32")),
        portable=fields.flag("portable"),
        input=inputs,
        classes=_classes(fields, deciding(heads)),
        heads=heads,
        gate=_gate(fields.inner("gate")) if layers else None,
        layers=layers,
        plan=tuple(
            PlannedLayer(
                row.text("layer"), row.text("action"), row.whole("channels", least=1), row.text("reason")
            )
            for row in fields.inners("plan")
        ),
        shift=None if fields.is_null("shift") else _shift(fields.inner("shift")),
        calibration=None if fields.is_null("calibration") else fields.inner("calibration").values,
        ranges=_ranges(fields.inner("ranges")),
        selftest=_selftest(fields.inner("selftest"), inputs, heads, version),
        versions={key: versions.text(key) for key in versions.values},
        memory=_memory(fields.inner("memory")) if layers and "memory" in fields.values else None,
    )


def _heads(fields: Fields, inputs: InputInfo, version: int) -> tuple[Head, ...]:
    if version == 1:
        return (Head(LOGITS, (fields.whole("outputs", least=1),), "classes"),)
    heads = []
    for part in fields.inners("heads"):
        shape = part.wholes("shape", least=1)
        role = role_of(shape, inputs.shape)
        part.text("role", of=(role,))
        heads.append(Head(part.text("name"), shape, role))
    names = [head.name for head in heads]
    if not heads or len({*names, *RESERVED}) != len(names) + len(RESERVED):
        raise fields.wrong("heads", "outputs with names of their own")
    return tuple(heads)


def _classes(fields: Fields, decides: Head | None) -> tuple[str, ...] | None:
    if fields.is_null("classes"):
        return None
    names = fields.texts("classes")
    scores = 0 if decides is None else decides.scores
    count = max(scores, 2) if scores else 0
    if len(names) != count or not scores:
        raise fields.wrong("classes", f"null or {count} names, for {scores} scores" if scores else "null")
    return names


def _gate(part: Fields) -> Gate:
    try:
        return read_gate(part)
    except SettingError as e:
        raise ArtifactError(f"{part.path} has wrong metadata: 'gate': {e}. Convert the model again.") from e


def _shift(part: Fields) -> ShiftInfo:
    return ShiftInfo(part.number("middle"), part.number("limit"), part.whole("images", least=1))


def _memory(part: Fields) -> MemoryInfo:
    length = part.number("length")
    if length < 1:
        raise part.wrong("length", "1 or more")
    return MemoryInfo(part.whole("size", least=1), length)


def _ranges(part: Fields) -> Mapping[str, tuple[float, float]]:
    pairs = {key: part.numbers(key, count=2) for key in part.values}
    return {key: (low, high) for key, (low, high) in pairs.items()}


def _selftest(part: Fields, inputs: InputInfo, heads: tuple[Head, ...], version: int) -> SelfTest:
    channels_last = (*inputs.shape[1:], inputs.shape[0])
    dtype, shape = ("uint8", channels_last) if inputs.is_image else ("float32", inputs.shape)
    return read_selftest(part, dtype, shape, heads, plain=version == 1)
