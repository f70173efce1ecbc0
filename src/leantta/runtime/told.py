"""A prediction as people and programs are told it: by `leantta run` and by `leantta serve` alike."""

from typing import Any

from leantta.runtime.metadata import Info
from leantta.runtime.session import Prediction, probabilities


def facts(info: Info, prediction: Prediction, *, top: int = 1, explain: bool = False) -> dict[str, Any]:
    """Return what is told of a prediction, with its `top` best labels, rounded to what is meant."""
    told: dict[str, Any] = {
        "label": prediction.label,
        "probability": round(prediction.probability, 6),
        "shift": None if prediction.shift is None else round(prediction.shift, 6),
        "latency_ms": round(prediction.latency_ms, 3),
    }
    if top > 1:
        chances = probabilities(prediction.logits)
        best = (-chances).argsort(kind="stable")[:top].tolist()
        told["top"] = [{"label": info.label(i), "probability": round(float(chances[i]), 6)} for i in best]
    if explain and prediction.distances is not None:
        told["distances"] = {layer: round(value, 6) for layer, value in prediction.distances.items()}
    return told
