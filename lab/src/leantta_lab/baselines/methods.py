"""The table of baselines: a name in, a class with its presets out; and each as a method of `leantta eval`.

A baseline is written `name`, `name:preset` or `name:preset:field=value`: `eata`, `eata:recommended`,
`tent:paper:learning_rate=0.01`. Presets are functions of the number of classes. The entry points of the group
`leantta.methods` name the methods at the end.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from leantta.errors import SettingError
from leantta.evaluate.predictor import Predictor
from leantta.methods.method import Method, MethodEntry, SourceModel
from leantta.surgery.adaptation import Adaptation
from leantta_lab.baselines.alpha_bn import AlphaBn, AlphaBnConfig, BnBatch
from leantta_lab.baselines.base import Baseline, Config, Normalized, Source
from leantta_lab.baselines.cotta import Cotta, CottaConfig
from leantta_lab.baselines.eata import Eata, EataConfig
from leantta_lab.baselines.intent import Intent, IntentConfig
from leantta_lab.baselines.lame import Lame, LameConfig
from leantta_lab.baselines.mecta import Mecta, MectaConfig
from leantta_lab.baselines.mixnorm import MixNorm, MixNormConfig
from leantta_lab.baselines.note import Note, NoteConfig
from leantta_lab.baselines.realistic_tta import RealisticTta, RealisticTtaConfig
from leantta_lab.baselines.rotta import Rotta, RottaConfig
from leantta_lab.baselines.sar import Sar, SarConfig
from leantta_lab.baselines.sita import Sita, SitaConfig
from leantta_lab.baselines.tent import Tent, TentConfig
from leantta_lab.baselines.ttn import Ttn, TtnConfig
from leantta_lab.baselines.unmix_tns import UnmixTns, UnmixTnsConfig

DEFAULT_PRESET = "paper"
"""LeanTTA's paper, not the method's own; methods that are not in it have this preset too, as published."""


@dataclass(frozen=True, kw_only=True)
class BaselineEntry:
    """One baseline of the table."""

    summary: str
    make: type[Baseline[Any]]
    presets: Mapping[str, Callable[[int], Config]]


def _eata_advice(classes: int) -> EataConfig:
    """Return what EATA's authors use for so many classes: CIFAR-10's, CIFAR-100's or ImageNet's."""
    if classes > 100:
        return EataConfig()
    return EataConfig(similarity=0.4 if classes <= 10 else 0.1, fisher_weight=1.0)


def _cotta_confidence(classes: int) -> float:
    return 0.92 if classes <= 10 else 0.72


def _mecta(classes: int) -> MectaConfig:
    """Return what MECTA's authors use for so many classes: CIFAR-10's, CIFAR-100's or ImageNet's."""
    if classes <= 10:
        return MectaConfig(learning_rate=2.5e-3, similarity=0.4, fisher_weight=1.0)
    return MectaConfig(learning_rate=1e-4, skip_below=0.0025 if classes <= 100 else 0.00125)


BASELINES: Mapping[str, BaselineEntry] = {
    "source": BaselineEntry(summary="no adaptation", make=Source, presets={"paper": lambda _: Config()}),
    "bn_batch": BaselineEntry(
        summary="the statistics of the batch", make=BnBatch, presets={"paper": lambda _: Config()}
    ),
    "alpha_bn": BaselineEntry(
        summary="statistics between the source's and the batch's",
        make=AlphaBn,
        presets={"paper": lambda _: AlphaBnConfig(), "recommended": lambda _: AlphaBnConfig(prior=16.0)},
    ),
    "tent": BaselineEntry(
        summary="entropy of the batch, Adam on scales and offsets",
        make=Tent,
        presets={"paper": lambda _: TentConfig(), "recommended": lambda _: TentConfig()},
    ),
    "eata": BaselineEntry(
        summary="entropy of sure and novel samples, held near the source by its Fisher information",
        make=Eata,
        presets={"paper": lambda _: EataConfig(), "recommended": _eata_advice},
    ),
    "cotta": BaselineEntry(
        summary="a student learns from its running mean over random views, and forgets at random",
        make=Cotta,
        presets={
            "paper": lambda classes: CottaConfig(confidence=_cotta_confidence(classes)),
            "recommended": lambda classes: CottaConfig(
                confidence=_cotta_confidence(classes), optimizer="adam", train="all"
            ),
        },
    ),
    "realistic_tta": BaselineEntry(
        summary="running target statistics, blended with the source's by how far each layer is off",
        make=RealisticTta,
        presets={
            "paper": lambda _: RealisticTtaConfig(),
            "paper-gradual": lambda _: RealisticTtaConfig(momentum=0.01),
            "recommended": lambda _: RealisticTtaConfig(momentum=0.01),
        },
    ),
    "sar": BaselineEntry(
        summary="entropy of sure samples where it is flat, back to the source after a collapse",
        make=Sar,
        presets={"paper": lambda _: SarConfig()},
    ),
    "rotta": BaselineEntry(
        summary="a student and its running mean learn from a balanced memory of recent inputs",
        make=Rotta,
        presets={"paper": lambda _: RottaConfig()},
    ),
    "note": BaselineEntry(
        summary="statistics corrected for each input, entropy of a balanced memory",
        make=Note,
        presets={"paper": lambda _: NoteConfig()},
    ),
    "lame": BaselineEntry(
        summary="predictions of a batch corrected by their neighbours'",
        make=Lame,
        presets={"paper": lambda _: LameConfig()},
    ),
    "sita": BaselineEntry(
        summary="statistics of an input and random views of it, mixed with the source's",
        make=Sita,
        presets={"paper": lambda _: SitaConfig()},
    ),
    "intent": BaselineEntry(
        summary="predictions under six mixes of statistics, weighted by how sure they are",
        make=Intent,
        presets={"paper": lambda _: IntentConfig()},
    ),
    "mecta": BaselineEntry(
        summary="EATA with statistics that move by need and little kept for gradients",
        make=Mecta,
        presets={"paper": _mecta},
    ),
    "ttn": BaselineEntry(
        summary="statistics between the source's and the batch's, by a weight per channel learnt before",
        make=Ttn,
        presets={"paper": lambda _: TtnConfig()},
    ),
    "mixnorm": BaselineEntry(
        summary="statistics of an input and a view of it, mixed into slowly moving ones",
        make=MixNorm,
        presets={"paper": lambda _: MixNormConfig()},
    ),
    "unmix_tns": BaselineEntry(
        summary="running statistics in several components, each moved by the inputs most like it",
        make=UnmixTns,
        presets={"paper": lambda _: UnmixTnsConfig()},
    ),
}


def config_of(name: str, text: str, classes: int) -> Config:
    """Return the settings that a text such as `recommended:learning_rate=0.01` means.

    >>> config_of("tent", "learning_rate=0.01", 10)
    TentConfig(seed=0, learning_rate=0.01, beta1=0.9, beta2=0.999)

    Raises:
        SettingError: no such preset or field, or a value that the field cannot have.
    """
    presets = BASELINES[name].presets
    words = [word for word in text.split(":") if word]
    preset = words.pop(0) if words and "=" not in words[0] else DEFAULT_PRESET
    if preset not in presets:
        raise SettingError(f"{name} has no preset {preset!r}; its presets are {', '.join(presets)}")
    config = presets[preset](classes)
    given = dict(_field(name, config, word) for word in words)
    return replace(config, **given)


def _field(name: str, config: Config, word: str) -> tuple[str, Any]:
    key, equals, value = word.partition("=")
    known = [field.name for field in fields(config)]
    if not equals or key not in known:
        raise SettingError(f"{name} cannot be told {word!r}; write field=value, one of {', '.join(known)}")
    kind = type(getattr(config, key))
    try:
        return key, kind(value)
    except ValueError as e:
        raise SettingError(f"{name}: {key} takes a value of type {kind.__name__}, got {value!r}") from e


def _baseline(name: str) -> Callable[[str, Adaptation], Method]:
    def parse(text: str, options: Adaptation) -> Method:
        del options  # they are LeanTTA's
        config_of(name, text, 10)  # a wrong word is found before anything is loaded

        def build(source: SourceModel) -> Predictor:
            return BASELINES[name].make(
                Normalized(source.model, source.mean, source.std),
                config_of(name, text, source.classes),
                classes=source.classes,
                source=source.source,
            )

        starts_with_preset = text and "=" not in text.partition(":")[0]
        words = text if starts_with_preset else ":".join(filter(None, (DEFAULT_PRESET, text)))
        return Method(
            label=f"{name}:{words}",
            settings=lambda classes: asdict(config_of(name, text, classes)),
            build=build,
        )

    return parse


def _method(name: str) -> MethodEntry:
    return MethodEntry(summary=BASELINES[name].summary, parse=_baseline(name))


BN_BATCH = _method("bn_batch")
ALPHA_BN = _method("alpha_bn")
TENT = _method("tent")
EATA = _method("eata")
COTTA = _method("cotta")
REALISTIC_TTA = _method("realistic_tta")
SAR = _method("sar")
ROTTA = _method("rotta")
NOTE = _method("note")
LAME = _method("lame")
SITA = _method("sita")
INTENT = _method("intent")
MECTA = _method("mecta")
TTN = _method("ttn")
MIXNORM = _method("mixnorm")
UNMIX_TNS = _method("unmix_tns")
