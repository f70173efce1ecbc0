"""What a gate is: the one place that knows how a layer's statistics follow an input.

Layers, files, options and records ask the gate; none of them asks which gate it is. Importing a gate needs
neither torch nor onnx, since a device reads gates from files. To add one:

- a subclass of `Gate` with its settings as fields;
- its formula in `leantta.functional`: `reading` if one weight per input is enough, else `statistics`;
- its `Operator`: the same formula in the text form of ONNX;
- a line in `leantta.gates.table`, so that options and files know its name;
- for speed alone: a branch in the native kernel for the operator's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

from leantta.errors import SettingError
from leantta.gates.source import Fitted, Source

if TYPE_CHECKING:
    from torch import Tensor

    from leantta.functional import Reading, Shift, Stats
    from leantta.layer_memory import LayerMemory

AnyGate = TypeVar("AnyGate", bound="Gate")


class Setting(NamedTuple):
    """One setting of a gate: its field, its name in files and options, and the help of its option."""

    name: str
    key: str
    help: str
    least: float
    most: float


def setting(
    default: float | None, help: str, *, key: str | None = None, least: float = 0, most: float = 1
) -> Any:
    """Return the field of a gate that is a number from `least` to `most`, or None where that is the default.

    `key` is its name in files and options, if the field cannot have it.
    """
    return field(default=default, metadata={"key": key, "help": help, "least": least, "most": most})


@dataclass(frozen=True, kw_only=True)
class Operator:
    """How ONNX computes a gate: pieces of a function's body, in ONNX's own text.

    A layer's input u is normalised by the source statistics already. A body starts with its mean `mean` and
    variance `var`, `squared_mean` and `excess`, the variance less that of the source. In dead channels (see
    `leantta.functional.alive`) all four are zero. It ends with

        y = gamma * (u - moved_mean) / sqrt(new_var) + beta

    The pieces between must set `total` (the raw distance, one per input), `new_var` and `moved_mean`. There
    are two forms of a body, so that each has as few operators as possible: in float, statistics are (n, c, 1,
    ...), in int8 (n, 1, ..., c). A constant with one value per channel comes as a column, (c, 1, ...) in
    float and (c, 1) in int8; any other comes as it is. Attributes of the node are written `@name`.
    """

    name: str  # of the float form; the int8 forms have QLinear before it
    constants: tuple[str, ...]  # further inputs, as `Gate.unit_constants` gives them
    in_float: str
    in_int8: str
    after: str  # what both forms have in common
    new_var: str = """
    moved_var = Mul (weight, excess)
    one = Constant <value_float = 1.0> ()
    new_var = Add (one, moved_var)
"""
    moved_mean: str = """
    moved_mean = Mul (weight, mean)
"""
    streams: bool = False  # it has one more input `before`, (n, k), and must set `after`: what it remembers
    shown: str = """
    distance = Identity (raw)
"""  # from the raw distances of all layers to those that the file shows


class Fields(Protocol):
    """A JSON object whose fields are taken one by one; a wrong one is an error that names it."""

    @property
    def values(self) -> Mapping[str, object]:
        """Everything that is there."""

    def number(self, key: str) -> float:
        """Return a finite number."""

    def text(self, key: str) -> str:
        """Return a text."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """How the statistics of a layer follow an input.

    Fields made by `setting` are its settings. It may have others, for its fitting: nothing writes them down.
    """

    name: ClassVar[str]  # in files, options and the text of a method
    summary: ClassVar[str]  # for the help of --gate
    needs_images: ClassVar[bool] = False  # it has to be fitted on source images
    uses_field: ClassVar[bool] = False  # it can be fitted on images from the field, too
    images: ClassVar[int] = 512  # how many source images are usual
    layers: ClassVar[str] = "half"  # that adapt, or may do so, if nothing else is asked for
    constants: ClassVar[tuple[str, ...]] = ()  # what it keeps for each layer, as buffers of these names
    operator: ClassVar[Operator]
    stream_operator: ClassVar[Operator | None] = None  # that with a memory, of a gate that can use one

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for each in self.known():
            value = getattr(self, each.name)
            if value is not None and not each.least <= value <= each.most:
                raise SettingError(f"{each.key} must lie in [{each.least:g}, {each.most:g}], got {value!r}")

    @property
    def remembers(self) -> bool:
        """Whether it can use what a layer remembers of a stream."""
        return self.stream_operator is not None

    @classmethod
    def known(cls) -> tuple[Setting, ...]:
        """Return the settings that such a gate has."""
        own = [each for each in fields(cls) if "help" in each.metadata]
        return tuple(
            Setting(each.name, **{**each.metadata, "key": each.metadata["key"] or each.name}) for each in own
        )

    @classmethod
    def default(cls: type[AnyGate]) -> AnyGate:
        """Return the gate that its name alone means."""
        return cls()

    def changed(self: AnyGate, **values: float) -> AnyGate:
        """Return the gate with these settings, as somebody asks for them."""
        return replace(self, **values)

    def values(self) -> dict[str, Any]:
        """Return the settings by field."""
        return {each.name: getattr(self, each.name) for each in self.known()}

    def settings(self) -> dict[str, object]:
        """Return the gate as the metadata of a file has it; what is None is left out."""
        given = {each.key: getattr(self, each.name) for each in self.known()}
        return {"name": self.name, **{key: value for key, value in given.items() if value is not None}}

    @classmethod
    def read(cls: type[AnyGate], part: Fields) -> AnyGate:
        """Return the gate that `settings` wrote.

        Raises:
            ArtifactError: a field is missing or of another type.
            SettingError: a value is out of range.
        """
        defaults = {each.name: each.default for each in fields(cls)}
        wanted = [e for e in cls.known() if e.key in part.values or defaults[e.name] is not None]
        return cls(**{each.name: part.number(each.key) for each in wanted})

    def described(self, asked: Gate) -> str:
        """Return a line about the gate for people; `asked` is what it was before it was fitted."""
        del asked
        given = [f"{key} {value:g}" for key, value in self.settings().items() if key != "name"]
        return ", ".join([self.name, *given])

    def comes_from(self, asked: Gate) -> bool:
        """Tell whether this is the gate that was asked for, but for what fitting changes."""
        return self == asked

    def fit(self, source: Source) -> Fitted:
        """Return the gate as it fits the model, and its constants for each layer that adapts."""
        del source
        return Fitted(self, {})

    def reading(self, shift: Shift, source: Stats, constants: Mapping[str, Tensor]) -> Reading:
        """Return the distance of each input and the weight that it has, each (n, 1).

        `constants` are the layer's. In dead channels (see `leantta.functional.alive`) the shift is zero, and
        `source.var` may be.
        """
        del shift, source, constants
        raise SettingError(f"the {self.name} gate is not known here, so no layer can follow it")

    def between(self, weight: Tensor) -> Tensor:
        """Return the share of the squared mean shift that the variance of the mixture has, (n, 1)."""
        return weight * (1 - weight)

    def statistics(
        self,
        shift: Shift,
        source: Stats,
        constants: Mapping[str, Tensor],
        *,
        eps: float,
        mixture_variance: bool,
        memory: LayerMemory | None = None,
    ) -> tuple[Stats, Reading]:
        """Return the statistics (n, c) to normalise each input with, and what the gate saw and decided.

        They are blended by the weight of `reading`. A gate that does otherwise has its own, and may need the
        BatchNorm's `eps`; it must leave dead channels (see `leantta.functional.alive`) at the source's.
        `mixture_variance` adds the variance between source and input. A gate that `remembers` may be given
        the `memory` of the layer.
        """
        from leantta.functional import blend

        del eps, memory  # both parts of a blend have eps
        reading = self.reading(shift, source, constants)
        between = self.between(reading.weight) if mixture_variance else None
        return blend(source, shift, reading.weight, between), reading

    def attributes(self) -> dict[str, float]:
        """Return the attributes of the operator's node."""
        return {}

    def unit_constants(
        self, var: Tensor, scale: Tensor, constants: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return the operator's constants for u = (x - mu_s) / sqrt(scale).

        `var` are the source variances and `scale` the same with eps, each (c,) in float64; `constants` are
        the layer's. Where a constant has one value per channel, that of a dead channel becomes zero.
        """
        del var, scale, constants
        return {}


@dataclass(frozen=True, kw_only=True)
class UnknownGate(Gate):
    """The gate of a file that this installation does not know; the file runs all the same."""

    name: str  # type: ignore[misc] # of an instance here: there are many such gates
    told: Mapping[str, object] = field(default_factory=dict, hash=False)  # its settings, as the file has them

    def values(self) -> dict[str, Any]:
        """Return the settings that the file has."""
        return dict(self.told)

    def settings(self) -> dict[str, object]:
        """Return what the file says."""
        return {"name": self.name, **self.told}
