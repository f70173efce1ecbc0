"""Build the streams of the benchmark, each from a source of corrupted images and a seed.

| name | order |
|---|---|
| abrupt | the same number of images from each corruption and severity, shuffled |
| gradual | corruptions in random order; for each the severities 1 2 3 4 5 5 4 3 2 1 |
| severity5 | each corruption at severity 5, one after another, in the benchmark's order |
| correlated | as severity5, but the classes come in bursts, as in a video |
| one_cell | one corruption at one severity |
| clean | uncorrupted images |
| as_found | images of several domains as they are, shuffled |

Images are drawn without replacement within a cell (within a step of `gradual`), and independently of other
cells.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from leantta.data.datasets import Inputs, Labels
from leantta.data.seeds import derived
from leantta.disturbances.corruptions.names import SEVERITIES
from leantta.errors import SettingError
from leantta.modalities.cells import CLEAN, Cells
from leantta.streams.stream import Domain, Setting, Stream

WORST = SEVERITIES[-1]

Step = tuple[Domain, Labels]


def abrupt(cells: Cells, per_cell: int = 100, *, seed: int) -> Stream:
    """Return `per_cell` images of each corruption and severity, shuffled together."""
    steps = [
        _drawn(cells, Domain(corruption, severity), per_cell, seed, "abrupt")
        for corruption in cells.corruptions
        for severity in SEVERITIES
    ]
    order = np.random.default_rng(derived(seed, "abrupt", "order")).permutation(per_cell * len(steps))
    return _stream("abrupt", cells, steps, seed, {"per_cell": per_cell}, order)


def gradual(cells: Cells, per_step: int = 100, *, seed: int) -> Stream:
    """Return each corruption growing to severity 5 and fading again, the corruptions in random order."""
    corruptions = np.random.default_rng(derived(seed, "gradual", "order")).permutation(cells.corruptions)
    steps = [
        _drawn(cells, Domain(str(corruption), severity), per_step, seed, f"gradual {step}")
        for corruption in corruptions
        for step, severity in enumerate((*SEVERITIES, *reversed(SEVERITIES)))
    ]
    return _stream("gradual", cells, steps, seed, {"per_step": per_step})


def severity5(cells: Cells, per_cell: int = 100, *, seed: int) -> Stream:
    """Return each corruption at severity 5, one after another in the benchmark's order."""
    steps = [_drawn(cells, Domain(name, WORST), per_cell, seed, "severity5") for name in cells.corruptions]
    return _stream("severity5", cells, steps, seed, {"per_cell": per_cell})


def correlated(cells: Cells, per_cell: int = 100, *, concentration: float = 0.1, seed: int) -> Stream:
    """Return each corruption at severity 5, one after another, with the classes in bursts.

    Within a corruption there are as many slots as classes. Each class spreads its images over the slots in
    proportions drawn from a Dirichlet distribution with this concentration (small: nearly all in one slot;
    large: evenly), and within a slot the classes follow one another in random order.

    Raises:
        SettingError: the concentration is not above 0.
    """
    if not concentration > 0:
        raise SettingError(f"the concentration must be above 0; it is {concentration}.")
    steps = []
    for corruption in cells.corruptions:
        domain, indices = _drawn(cells, Domain(corruption, WORST), per_cell, seed, "correlated")
        generator = np.random.default_rng(derived(seed, "correlated", "bursts", corruption))
        steps.append((domain, _bursts(indices, cells.labels[indices], concentration, generator)))
    return _stream("correlated", cells, steps, seed, {"per_cell": per_cell, "concentration": concentration})


def one_cell(cells: Cells, corruption: str, severity: int, count: int = 100, *, seed: int) -> Stream:
    """Return images of one corruption at one severity.

    Raises:
        SettingError: there is no such corruption or severity.
    """
    if corruption not in cells.corruptions:
        raise SettingError(f"unknown corruption {corruption!r}; known: {', '.join(cells.corruptions)}.")
    if severity not in SEVERITIES:
        raise SettingError(f"the severity must be one of 1 to {WORST}; it is {severity}.")
    step = _drawn(cells, Domain(corruption, severity), count, seed, "one_cell")
    settings: dict[str, Setting] = {"corruption": corruption, "severity": severity, "count": count}
    return _stream("one_cell", cells, [step], seed, settings)


def clean(cells: Cells, count: int = 1000, *, seed: int) -> Stream:
    """Return uncorrupted images, drawn at random."""
    return _stream(
        "clean", cells, [_drawn(cells, Domain(CLEAN, 0), count, seed, "clean")], seed, {"count": count}
    )


def as_found(
    cells: Cells, domains: Sequence[Domain], domain: Labels, most: int = 1000, *, seed: int
) -> Stream:
    """Return unchanged images, at most so many of each domain that they come from, shuffled together.

    `domain` is the place of each image's own among `domains`.
    """
    steps = []
    for place, each in enumerate(domains):
        members = np.flatnonzero(domain == place)
        generator = np.random.default_rng(derived(seed, "as found", *each))
        if len(members):
            steps.append((each, generator.permutation(members)[:most]))
    total = sum(len(members) for _, members in steps)
    order = np.random.default_rng(derived(seed, "as found", "order")).permutation(total)
    return _stream("as_found", cells, steps, seed, {"most": most}, order, made=False)


def _drawn(cells: Cells, domain: Domain, count: int, seed: int, purpose: str) -> Step:
    """Draw `count` different images for a domain, by the seed, the purpose and the domain only."""
    available = len(cells.labels)
    if not 1 <= count <= available:
        raise SettingError(
            f"{count} images of {domain} are asked for; choose 1 to {available}, the images there are."
        )
    generator = np.random.default_rng(derived(seed, purpose, *domain))
    return domain, generator.choice(available, size=count, replace=False)


def _bursts(indices: Labels, labels: Labels, concentration: float, generator: np.random.Generator) -> Labels:
    classes = np.unique(labels)
    slots: list[list[Labels]] = [[] for _ in classes]
    for label in classes:
        members = indices[labels == label]
        shares = generator.dirichlet(np.full(len(classes), concentration))
        cuts = np.rint(np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
        for slot, part in zip(slots, np.split(members, cuts), strict=True):
            slot.append(part)
    ordered = [slot[place] for slot in slots for place in generator.permutation(len(slot))]
    return np.concatenate(ordered)


def _stream(
    name: str,
    cells: Cells,
    steps: Sequence[Step],
    seed: int,
    settings: Mapping[str, Setting],
    order: Labels | None = None,
    *,
    made: bool = True,
) -> Stream:
    """Return a stream of steps; if they are not `made`, images are of their domains as they are."""
    domains = tuple(dict.fromkeys(domain for domain, _ in steps))
    place = {domain: i for i, domain in enumerate(domains)}
    index = np.concatenate([indices for _, indices in steps])
    domain = np.repeat([place[domain] for domain, _ in steps], [len(indices) for _, indices in steps])
    if order is not None:
        index, domain = index[order], domain[order]

    def load(positions: Labels) -> Inputs:
        wanted = domain[positions]
        inputs: Inputs | None = None
        for which in np.unique(wanted):
            chosen = wanted == which
            corruption, severity = domains[which] if made else Domain(CLEAN, 0)
            part = cells.inputs(cells.cell(corruption, severity, index[positions][chosen], seed))
            if inputs is None:
                inputs = np.empty((len(positions), *part.shape[1:]), dtype=np.float32)
            inputs[chosen] = part
        assert inputs is not None  # batches are never empty
        return inputs

    return Stream(
        name=name,
        seed=seed,
        settings={**settings, "images": cells.name, "images_sha256": cells.fingerprint},
        domains=domains,
        domain=domain.astype(np.int64),
        labels=cells.labels[index],
        index=index,
        load=load,
    )
