"""The table of modalities: a kind of data is one entry, and nothing else in the code tells them apart."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from leantta.modalities.modality import Modality

_HOMES = {
    "image": ("leantta.modalities.image", "IMAGES"),
    "motion": ("leantta.modalities.motion", "MOTION"),
    "sound": ("leantta.modalities.sound", "SOUND"),
}


class _Modalities(Mapping[str, Modality]):
    """Modalities by name, each loaded when it is looked at: a device has use for one of them."""

    def __getitem__(self, name: str) -> Modality:
        module, value = _HOMES[name]
        modality: Modality = getattr(import_module(module), value)
        return modality

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


MODALITIES: Mapping[str, Modality] = _Modalities()


def modality_for(file_input: str) -> Modality:
    """Return the modality of a model file by the kind of its input.

    >>> modality_for("waveform").noun
    'clips'
    """
    return next(kind for kind in MODALITIES.values() if file_input in kind.file_inputs)
