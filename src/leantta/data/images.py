"""Images as a modality: CIFAR in any of its forms, and the corruptions of the benchmark."""

from leantta.data.cifar import load_images
from leantta.data.corruptions.names import NAMES
from leantta.data.datasets import Samples, model_inputs
from leantta.data.modality import Modality
from leantta.extras import missing_extra


def _corrupt(samples: Samples, name: str, severity: int, *, seed: int, first: int = 0) -> Samples:
    try:  # here, not above: clean images need no scipy, and a device may not have it
        from leantta.data.corruptions.apply import corrupt
    except ModuleNotFoundError as e:
        raise missing_extra(e) from e
    return corrupt(samples, name, severity, seed=seed, first=first)


def _made_by() -> str:
    try:
        from leantta.data.corruptions.frost import made_by
    except ModuleNotFoundError:  # no corruption can be made here, only clean images shown
        return "generated"
    return f"generated, {made_by()}"


IMAGES = Modality(
    noun="images",
    load=load_images,
    inputs=model_inputs,
    corruptions=NAMES,
    corruptor=lambda _: _corrupt,
    made_by=_made_by,
)
