"""How shift filters are fitted to a model: from source images and disturbed copies of them, without labels.

Layer after layer in execution order, with all earlier filters in place (see `leantta.gates.filter_layer`).
Explaining the statistics is not enough: a layer stays only if *decisions* come nearer to those on the clean
images, on other images than it was fitted on, and under disturbances that neither its fit nor those of
earlier layers ever saw: each copy is met by filters fitted without what happened to it. The mean alone is
tried, too, since dividing by a variance that noise has blown up takes the signal along.

Some images are for fitting, others for choosing, and the rest tells what to expect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from leantta.errors import DataError, SettingError
from leantta.gates.filter_layer import Candidate, LayerData
from leantta.gates.filter_probe import scores, seen_features, set_constants
from leantta.gates.filter_report import FilterReport, Interval, LayerReport
from leantta.gates.gate import Fitted, Source
from leantta.gates.paper import PaperGate

if TYPE_CHECKING:
    from leantta.gates.filter import FilterGate

FEWEST = 24
"""Different images that are needed to fit, choose and tell."""

USUAL = 200
"""With fewer images to fit on there is a warning."""

SHARES = (0.6, 0.25)
"""Of the images, for fitting and for choosing; the rest tells what to expect."""

COPIES = 2
"""Disturbed copies of each image."""

LEAST_CHANGE = 1e-3
"""Of the deviation of all values; normalising back and forth leaves less."""

PATIENCE = 4
"""Layers in a row that may fail to help before the search ends."""

STEADY = 1.0
"""Standard errors by which a layer must help."""

PARTS = ("mean and variance", "mean")
"""What of a layer's answer may be used; the first one that helps is taken."""


class UnfitError(Exception):
    """The filter cannot be fitted; the text says why."""


class Judged(NamedTuple):
    """How a model decides on images that it was not fitted on, (n, copies) or (n,)."""

    trust: Tensor  # (n, copies): the probability of the decision on the clean image
    hit: Tensor  # (n, copies): whether the decision is that one
    cost: Tensor  # (n,): the probability that the decision on the clean image itself loses


class Images(NamedTuple):
    """Images for one purpose, and their copies, copy after copy."""

    inputs: Tensor  # (n, ...)
    copies: Tensor  # (copies * n, ...)
    done: Tensor  # (copies * n, 2): disturbances of each, the second -1 for none

    @classmethod
    def of(cls, inputs: Tensor, source: Source, seed: int) -> Images:
        """Disturb images."""
        made = [source.copies(inputs, seed + copy) for copy in range(COPIES)]
        done = [torch.stack([each.disturbance, each.second], 1) for each in made]
        return cls(inputs, torch.cat([each.inputs for each in made]), torch.cat(done))


def fit_filter(gate: FilterGate, source: Source) -> Fitted:
    """Return the filters of the layers that help, or the paper's gate if there is nothing to go by."""
    try:
        search = Search(gate, source)
    except UnfitError as e:
        note = f"{e}. The paper's gate, which needs no images, takes the filter's place."
        return Fitted(PaperGate.default(), {}, FilterReport(notes=(note,)))
    return search.run()


class Search:
    """One run of fitting; see the module."""

    def __init__(self, gate: FilterGate, source: Source) -> None:
        """Split the images, and disturb them.

        Raises:
            UnfitError: they are not enough, or the model decides nothing.
            DataError: there are no images, or some are not finite.
            UnsupportedModelError: the model does not run on them.
        """
        self.gate, self.source = gate, source
        inputs = _checked(source.batches)
        order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(gate.seed))
        fitting, choosing = (max(8, round(share * len(inputs))) for share in SHARES)
        parts = inputs[order].split([fitting, choosing, len(inputs) - fitting - choosing])
        try:
            groups = [Images.of(part, source, 100 * gate.seed + 10 * i) for i, part in enumerate(parts)]
        except SettingError as e:  # no library is for such inputs
            raise UnfitError(str(e)) from e
        self.fitting, self.choosing, self.telling = groups
        change = (self.fitting.copies - torch.cat([self.fitting.inputs] * COPIES)).abs().max()
        if float(change) <= LEAST_CHANGE * float(inputs.std()):
            raise UnfitError("the disturbances change nothing")
        self.known = sorted(set(torch.cat([group.done for group in groups]).flatten().tolist()) - {-1})
        self.kept: dict[str, Candidate] = {}
        plain = source.adapting_only(gate, {})
        self.clean: list[Tensor] = []
        for group in (self.choosing, self.telling):
            found = scores(plain, group.inputs)
            if found is None or found.shape[1] < 2:
                raise UnfitError("the model decides nothing, so nobody can tell which layers should adapt")
            self.clean.append(found.softmax(1))

    def run(self) -> Fitted:
        """Try layer after layer, and return what helps."""
        layers = list(self.source.layers)
        progress = self.source.progress("filter")
        clean = seen_features(self.source.adapting_only(self.gate, {}), layers, self.fitting.inputs)
        rows: list[LayerReport] = []
        best, failed = self.judged(self.choosing, {}), 0
        for place, name in enumerate(layers):
            progress(place, len(layers))
            if failed == PATIENCE:
                break
            row, best = self.tried(name, clean.pop(name), best)
            rows.append(row)
            failed = 0 if name in self.kept else failed + 1
        progress(len(layers), len(layers))
        before, after = self.judged(self.telling, {}), self.judged(self.telling, self.kept)
        report = FilterReport(
            layers=tuple(rows),
            untried=len(layers) - len(rows),
            gain=interval((after.hit - before.hit).mean(1)),
            cost=interval(after.cost),
            images=(len(self.fitting.inputs), len(self.choosing.inputs), len(self.telling.inputs)),
            notes=self.notes(),
        )
        return Fitted(self.gate, {name: each.constants for name, each in self.kept.items()}, report)

    def notes(self) -> tuple[str, ...]:
        """Return what people should know."""
        notes = []
        if not self.kept:
            notes.append("No layer helps under shifts that its fit never saw, so nothing adapts.")
        if len(self.fitting.inputs) < USUAL:
            notes.append(
                f"{len(self.fitting.inputs)} images to fit on are few, so filters are shrunk; some hundreds "
                "more would help."
            )
        return tuple(notes)

    def tried(self, name: str, clean: Tensor, best: Judged) -> tuple[LayerReport, Judged]:
        """Fit a layer, keep its filter if that helps, and return what was found and how the model decides.

        `clean` are the features of the clean images before anything adapts.
        """
        model = self.source.adapting_only(self.gate, {key: each.constants for key, each in self.kept.items()})
        group, calls = self.fitting, len(clean) // len(self.fitting.inputs)
        seen, copies = (
            seen_features(model, [name], inputs, calls=calls)[name] for inputs in (group.inputs, group.copies)
        )
        data = LayerData(clean, seen, copies, group.done.repeat_interleave(calls, 0), self.known)
        ridge, explained = data.best_ridge()
        candidate = data.candidate(ridge, int(self.gate.rank))
        adapts, told = "no: does not help", Interval(-torch.inf, 0)
        for part in PARTS:
            filters = {**self.kept, name: candidate.part(part)}
            judged = self.judged(self.choosing, filters)
            gain = interval((judged.trust - best.trust).mean(1))
            told = max(told, gain)
            if gain.mean > STEADY * gain.half / 1.96:
                if float(judged.cost.mean()) <= self.gate.budget:
                    self.kept = filters
                    return LayerReport(name, data.channels, explained, ridge, gain, part), judged
                adapts = "no: costs too much on clean images"
        return LayerReport(name, data.channels, explained, ridge, told, adapts), best

    def judged(self, group: Images, filters: Mapping[str, Candidate]) -> Judged:
        """Return how the model with these filters decides, each copy without what happened to it."""
        clean = self.clean[0 if group is self.choosing else 1]
        first = clean.argmax(1)
        model = self.source.adapting_only(self.gate, {n: each.constants for n, each in filters.items()})
        then = _decided(scores(model, group.inputs)).argmax(1, keepdim=True)
        cost = clean.gather(1, first[:, None]) - clean.gather(1, then)
        found = torch.zeros(len(group.copies), clean.shape[1])
        for place, disturbance in enumerate(self.known):
            here = group.done[:, 0] == disturbance
            if bool(here.any()):
                for name, each in filters.items():
                    set_constants(model, name, each.without[place])
                found[here] = _decided(scores(model, group.copies[here]))
        wanted = first.repeat(COPIES)
        trust = found.softmax(1).gather(1, wanted[:, None])[:, 0]
        hit = (found.argmax(1) == wanted).float()
        return Judged(trust.view(COPIES, -1).T, hit.view(COPIES, -1).T, cost[:, 0])


def interval(values: Tensor) -> Interval:
    """Return the mean of the values of independent images, and how sure it is.

    >>> interval(torch.tensor([0.0, 1.0, 0.0, 1.0])).mean
    0.5
    """
    if len(values) < 2:
        return Interval(float(values.mean()), torch.inf)
    return Interval(float(values.mean()), 1.96 * float(values.std()) / len(values) ** 0.5)


def _decided(found: Tensor | None) -> Tensor:
    assert found is not None  # the same model gave scores before
    return found


def _checked(batches: Sequence[Tensor]) -> Tensor:
    """Return the images as one tensor, if there is enough to fit, choose and tell by."""
    if not sum(len(batch) for batch in batches):
        raise DataError("no images were given to fit the shift filter on; some hundreds are usual")
    inputs = torch.cat(list(batches))
    if not bool(inputs.isfinite().all()):
        raise DataError("one of the images to fit the shift filter on is not finite; repair or remove it")
    different = len(torch.unique(inputs.flatten(1), dim=0))
    if different < FEWEST:
        raise UnfitError(
            f"the shift filter needs {FEWEST} different images, some hundreds are usual; {len(inputs)} were "
            f"given, of which {different} differ"
        )
    return inputs
