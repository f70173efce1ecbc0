"""The table of bird detection: VGGish, trained on BirdVox, hears Warblr; weighted F1."""

from leantta.evaluate.intervals import deviation
from leantta.evaluate.metrics import weighted_f1
from leantta.reproduce import cell_text
from leantta.reproduce.bird_runs import HEARD, bird_job, bird_run, lack
from leantta.reproduce.paper_cells import BIRDS
from leantta.reproduce.protocol import CALIBRATED, LEAN, LEAN_INT8, NONE, NONE_INT8, Row, batched
from leantta.reproduce.run_record import record_of
from leantta.reproduce.target import Job, Page, Setting, Target
from leantta.tables import Table

ROWS = (
    NONE,
    NONE_INT8,
    batched("RealisticTTA", "realistic_tta", 1),
    *(
        batched(label, method, size)
        for label, method in (("Tent", "tent:paper"), ("EATA", "eata:paper"), ("CoTTA", "cotta"))
        for size in (1, 16, 64)
    ),
    LEAN,
    LEAN_INT8,
    CALIBRATED,
)


def _jobs(setting: Setting) -> list[Job]:
    if lack(setting) is not None:
        return []
    return [bird_job(bird_run(setting, row, seed)) for row in ROWS for seed in setting.seeds]


def _page(setting: Setting) -> Page:
    missing = lack(setting)
    gap = cell_text.NOT_RUN if missing is None else missing.partition(":")[0]
    body = tuple((row.label, row.variant, _cell(setting, row, gap)) for row in ROWS)
    notes = [
        f"Weighted F1 in %, of {HEARD[setting.scale]:,} clips; ± is the standard deviation over seeds.",
        cell_text.PAPER,
    ]
    return Page(
        markdown="\n\n".join([Table(("method", "variant", "F1"), body).markdown(), "\n".join(notes)]),
        lacking=[] if missing is None else [missing],
    )


def _cell(setting: Setting, row: Row, gap: str) -> str:
    records = [record_of(bird_run(setting, row, seed), setting) for seed in setting.seeds]
    values = [100 * weighted_f1(each.labels, each.predictions) for each in records if each is not None]
    paper = BIRDS[row.key][0] if row.key in BIRDS else None
    if not values:
        return cell_text.beside(gap, paper)
    spread = f"±{deviation(values):.1f}" if len(values) > 1 else ""
    return cell_text.beside(f"{sum(values) / len(values):.1f}{spread}", paper)


TARGET = Target(
    title="Weighted F1 of VGGish on Warblr, trained on BirdVox",
    summary="bird detection; needs --birdvox and --warblr folders and a checkpoint",
    jobs=_jobs,
    page=_page,
)
