"""How large the ceiling of a calibrated gate may be on a model: by what adapting costs on source images.

With p the probabilities of the unchanged model for one image, `first` its decision and `then` that of the
adapting model, the model itself expects to lose

    cost = mean over images of p[first] - p[then]

of its accuracy, which is zero where the decision stays. It needs no labels, and overstates the loss a little,
as what adapting has seen is not in p.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from leantta.functional import two_scores
from leantta.gates import CalibratedGate
from leantta.nn import AdaptiveNorm
from leantta.progress import Progress, silent
from leantta.surgery.observe import joined, scores_of

PARTS = (1.0, 0.75, 0.5, 0.375, 0.25, 0.125, 0.0)
"""Of the room between floor and ceiling, in the order in which they are tried."""


def fitted(
    scores: Tensor | None,
    lean: nn.Module,
    gate: CalibratedGate,
    batches: Sequence[Tensor],
    *,
    progress: Progress = silent,
) -> CalibratedGate:
    """Return the gate with the largest ceiling that keeps its budget on these images of the source.

    `scores` (n, classes) are those of the unchanged model on them. `lean` is the adapting model; what its
    layers have for a gate is written over. A model without scores decides nothing, so its gate stays.
    """
    layers = [module for module in lean.modules() if isinstance(module, AdaptiveNorm)]
    if gate.budget is None or not layers or scores is None:
        return gate
    for place, part in enumerate(PARTS):
        tried = replace(gate, ceiling=round(gate.floor + part * (gate.ceiling - gate.floor), 6))
        for layer in layers:
            layer.gate = tried
        progress(place, len(PARTS))
        with torch.inference_mode():
            found = joined(scores_of(lean(batch)) for batch in batches)
        if found is not None and cost(scores, found) <= gate.budget:
            break
    progress(len(PARTS), len(PARTS))
    return tried


def cost(before: Tensor, after: Tensor) -> float:
    """Return the accuracy that a model with the first scores expects to lose by the decisions of the others.

    Both are (n, classes); one score is for the second class, against zero.

    >>> cost(torch.tensor([[0.0], [2.0]]), torch.tensor([[-1.0], [-1.0]]))  # doctest: +ELLIPSIS
    0.38...
    """
    probabilities = _two(before).softmax(1)
    first, then = (_two(scores).argmax(1, keepdim=True) for scores in (before, after))
    lost = probabilities.gather(1, first) - probabilities.gather(1, then)
    return float(lost.double().mean())


def _two(scores: Tensor) -> Tensor:
    return two_scores(scores) if scores.shape[1] == 1 else scores
