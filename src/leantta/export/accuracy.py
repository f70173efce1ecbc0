"""How often a predictor decides labelled inputs rightly."""

from leantta.data.datasets import Dataset
from leantta.evaluate.predictor import Predictor, decided
from leantta.modalities.datasets import modality_of
from leantta.progress import Progress

AT_ONCE = 50
"""How many inputs are predicted at once."""


def accuracy_of(predictor: Predictor, data: Dataset, progress: Progress) -> float:
    """Return the share of labelled inputs that the predictor decides as labelled."""
    inputs = modality_of(data.name).inputs
    right = 0
    for start in range(0, len(data.labels), AT_ONCE):
        labels = data.labels[start : start + AT_ONCE]
        logits = predictor.predict(inputs(data.samples[start : start + AT_ONCE]))
        right += int((decided(logits) == labels).sum())
        progress(start + len(labels), len(data.labels))
    return right / len(data.labels)
