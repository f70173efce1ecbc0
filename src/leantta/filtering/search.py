"""How shift filters are fitted to a model: from source images and disturbed copies of them, without labels.

Layer after layer in execution order, with all earlier filters in place (see `leantta.filtering.layer`).
Explaining the statistics is not enough: a layer stays only if *decisions* come nearer to those on the clean
images, on other images than it was fitted on. Shifts of the field are partly like those that a filter knows,
and partly not. So of each image one copy is met by the filters as they are, and another by filters, of this
layer and of all earlier ones, that were fitted without its (first) kind of disturbance. Both count the same,
and under unknown kinds alone it must not hurt. The mean alone is tried, too, since dividing by a variance
that noise has blown up takes the signal along.

Some images are for fitting, others for choosing, and the rest tells what to expect. Field images have no
clean decision, so they are for fitting alone: what was fitted on them, too, is chosen by the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from leantta.decisions import expected_losses
from leantta.filtering.images import COPIES, Images, UnfitError, check_images
from leantta.filtering.journal import Journal, SoFar
from leantta.filtering.judging import Gain, Judged, gained, helps, interval, over_pairs
from leantta.filtering.layer import Candidate, LayerData
from leantta.filtering.probe import scores, seen_features, set_constants
from leantta.filtering.report import FilterReport, LayerReport
from leantta.filtering.subject import Filters, Subject
from leantta.pixels import Inputs, joined_inputs

USUAL = 200
"""With fewer images to fit on there is a warning."""

FITTING, CHOOSING, TELLING = range(3)

SHARES = (0.6, 0.25)
"""Of the images, for fitting and for choosing; the rest tells what to expect."""

LEAST_CHANGE = 1e-3
"""Of the deviation of all values; normalising back and forth leaves less."""

PATIENCE = 4
"""Layers in a row that may fail to help before the search goes on with the last ones."""

PAIRS_TO_CHOOSE, PAIRS_TO_CONFIRM, MOST_PAIRS = 250, 4, 8
"""Pairs of copies to choose by, in all; pairs of each image to see whether the filters help; and the most."""

SURE = 1.64
"""Standard errors that a gain must be above 0: chance alone gives that once in 20 times."""

PARTS = ("mean and variance", "mean")
"""What of a layer's answer may be used; the first one that helps is taken."""


def fit_filters(
    subject: Subject, *, rank: int, budget: float, most: int | None = None, seed: int = 0
) -> Filters:
    """Return the filters of the layers that help, the first `most` of them.

    What a fit of the same found before it was stopped is taken from `subject.resume`, and kept there.

    Raises:
        DataError: there are no images, or some are not finite; or field images cannot be used.
        UnfitError: the images are not enough, or the model decides nothing.
    """
    check_images(subject.images, subject.field)
    journal = Journal(subject)
    if isinstance(journal.found, Filters):
        return journal.found
    found = Search(subject, rank=rank, budget=budget, most=most, seed=seed).run(journal)
    journal.keep(found)
    return found


class Search:
    """One run of fitting; see the module."""

    def __init__(
        self, subject: Subject, *, rank: int, budget: float, seed: int, most: int | None = None
    ) -> None:
        """Split the images, and disturb them.

        Raises:
            UnfitError: the model decides nothing, or nothing disturbs them.
            UnsupportedModelError: the model does not run on them.
        """
        self.subject, self.rank, self.budget, self.seed = subject, rank, budget, seed
        self.most = len(subject.layers) if most is None else most
        inputs = subject.images
        order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(seed))
        fitting, choosing = (max(8, round(share * len(inputs))) for share in SHARES)
        parts = inputs[order].split([fitting, choosing, len(inputs) - fitting - choosing])
        plain = subject.filtered({})
        found = scores(plain, inputs[order])
        if found is None or found.shape[1] < 2:
            raise UnfitError("the model decides nothing, so nobody can tell which layers should adapt")
        self.groups = [
            Images.of(part, said, subject.copies, 100 * seed + 10 * i, pairs=_pairs(part) if i else 1)
            for i, (part, said) in enumerate(zip(parts, found.split([*map(len, parts)]), strict=True))
        ]
        if not self.groups[FITTING].changes(LEAST_CHANGE):
            raise UnfitError("the disturbances change nothing")
        self.known = sorted(set(torch.cat([group.kinds for group in self.groups]).flatten().tolist()) - {-1})
        self.kept: dict[str, Candidate] = {}
        self.doubted: Gain | None = None  # what filters gain that may not help

    def run(self, journal: Journal) -> Filters:
        """Try layer after layer, after those that the journal has, and return what helps."""
        layers, so_far = list(self.subject.layers), journal.found
        progress = self.subject.progress(journal.label)
        if not isinstance(so_far, SoFar):
            so_far = SoFar({}, (), self.judged(self.groups[CHOOSING], {}))
        self.kept, rows, best, finished, failed = so_far
        rest = layers[finished:]
        clean = seen_features(self.filtered({}), rest, self.groups[FITTING].inputs) if rest else {}
        for place, name in enumerate(rest, finished):
            progress(place, len(layers))
            is_last = place >= len(layers) - self.subject.last
            if len(self.kept) >= self.most or (failed >= PATIENCE and not is_last):
                continue
            row, best = self.tried(name, clean.pop(name), best)
            rows = (*rows, row)
            failed = 0 if name in self.kept else failed + 1
            journal.keep(SoFar(self.kept, rows, best, place + 1, failed))
        progress(len(layers), len(layers))
        self.confirm()
        before, after = (self.judged(self.groups[TELLING], filters) for filters in ({}, self.kept))
        fitted, chosen, told = (len(group.inputs) for group in self.groups)
        more = over_pairs(after.hit - before.hit, told)
        report = FilterReport(
            layers=rows if self.doubted is None else tuple(map(_given_up, rows)),
            untried=len(layers) - len(rows),
            known=interval(more[:, 0]),
            unknown=interval(more[:, 1]),
            cost=interval(self.cost(self.kept, [TELLING])),
            images=(fitted, chosen, told),
            field=0 if self.subject.field is None else len(self.subject.field),
            notes=self.notes(),
        )
        return Filters({name: each.constants for name, each in self.kept.items()}, report)

    def confirm(self) -> None:
        """Give the filters up if what they gain together may be chance, or is known kinds' alone."""
        if not self.kept:
            return
        others = [self.groups[CHOOSING], self.groups[TELLING]]
        inputs = joined_inputs([each.inputs for each in others])
        said = torch.cat([each.scores for each in others])
        pairs = Images.pair_after_pair(
            inputs, said, self.subject.copies, 100 * self.seed + 30, pairs=PAIRS_TO_CONFIRM
        )
        found = [(self.judged(pair, {}), self.judged(pair, self.kept)) for pair in pairs]
        before, after = (
            Judged(*(torch.cat(part) for part in zip(*each, strict=True)))
            for each in zip(*found, strict=True)
        )
        gain = gained(before, after, len(inputs))
        sure = SURE if self.subject.field is None else 0  # shifts of the field may be none of the library's
        more = ((gain.trust, gain.unknown_trust), (gain.hits, gain.unknown_hits))
        if not any(both.mean > sure * both.error and unknown.mean > 0 for both, unknown in more):
            self.kept, self.doubted = {}, gain

    def notes(self) -> tuple[str, ...]:
        """Return what people should know."""
        notes = []
        if self.doubted is not None:
            notes.append(
                "On images that it was not fitted on, disturbed anew, adapting raises the probability of the "
                f"clean decision by {self.doubted.trust} points (under kinds left out by "
                f"{self.doubted.unknown_trust}), and the share of such decisions by {self.doubted.hits}. "
                "That is not sure to help, so nothing adapts; more images would tell."
            )
        elif not self.kept:
            notes.append("No layer helps on images that it was not fitted on, so nothing adapts.")
        if len(self.groups[FITTING].inputs) < USUAL:
            notes.append(
                f"{len(self.groups[FITTING].inputs)} images to fit on are few, so filters are shrunk; "
                "some hundreds more would help."
            )
        return tuple(notes)

    def tried(self, name: str, clean: Tensor, best: Judged) -> tuple[LayerReport, Judged]:
        """Fit a layer, keep its filter if that helps, and return what was found and how the model decides.

        `clean` are the features of the clean images before anything adapts.
        """
        model = self.filtered(self.kept)
        group = self.groups[FITTING]
        calls = len(clean) // len(group.inputs)

        def features(inputs: Inputs) -> Tensor:
            return seen_features(model, [name], inputs, calls=calls)[name]

        data = LayerData(
            clean,
            features(group.inputs),
            features(group.copies),
            group.kinds.repeat_interleave(calls, 0),
            self.known,
            None if self.subject.field is None else features(self.subject.field),
        )
        ridge, explained = data.best_ridge()
        candidate = data.candidate(ridge, self.rank)
        adapts, told = "no: does not help", None
        for part in PARTS:
            filters = {**self.kept, name: candidate.part(part)}
            judged = self.judged(self.groups[CHOOSING], filters)
            gain = gained(best, judged, len(self.groups[CHOOSING].inputs))
            told = gain if told is None or gain.trust.mean > told.trust.mean else told
            if helps(gain):
                if float(self.cost(filters, [FITTING, CHOOSING]).mean()) <= self.budget:
                    self.kept = filters
                    distance = data.field_distance(candidate.constants)
                    return (
                        LayerReport(
                            name, data.channels, explained, ridge, gain.trust, gain.hits, part, distance
                        ),
                        judged,
                    )
                adapts = "no: costs too much on clean images"
        assert told is not None  # there are parts
        return LayerReport(name, data.channels, explained, ridge, told.trust, told.hits, adapts), best

    def judged(self, group: Images, filters: Mapping[str, Candidate]) -> Judged:
        """Return how the model with these filters decides; second copies meet those without their kind."""
        model = self.filtered(filters)
        known, unknown = group.copies.chunk(COPIES)
        kinds = group.kinds[len(known) :, 0]
        by_known = _decided(scores(model, known))
        by_unknown = torch.zeros_like(by_known)
        for number, kind in enumerate(self.known):
            here = kinds == kind
            if bool(here.any()):
                for name, each in filters.items():
                    set_constants(model, name, each.without[number])
                by_unknown[here] = _decided(scores(model, unknown[here]))
        return Judged.of(group.scores, by_known, by_unknown)

    def cost(self, filters: Mapping[str, Candidate], places: Sequence[int]) -> Tensor:
        """Return what the model expects to lose on each clean image of some groups, (n,).

        Those that it was fitted on may count: the price is seldom paid, and too few images would not show it.
        """
        model = self.filtered(filters)
        groups = [self.groups[place] for place in places]
        after = [_decided(scores(model, group.inputs)) for group in groups]
        return torch.cat([expected_losses(g.scores, s) for g, s in zip(groups, after, strict=True)])

    def filtered(self, filters: Mapping[str, Candidate]) -> nn.Module:
        """Return the model with these filters, as fitted on all kinds."""
        return self.subject.filtered({name: each.constants for name, each in filters.items()})


def _given_up(row: LayerReport) -> LayerReport:
    """Return what is said of a layer whose filter was good only as far as it seemed."""
    return row._replace(adapts="no: not sure to help") if row.adapts in PARTS else row


def _pairs(images: Inputs) -> int:
    """Return how many pairs of copies each image has to choose by: more where there are few images."""
    return min(MOST_PAIRS, -(-PAIRS_TO_CHOOSE // len(images)))


def _decided(found: Tensor | None) -> Tensor:
    assert found is not None  # the same model gave scores before
    return found
