"""Runs of VGGish, trained on BirdVox, over the clips of Warblr: like those over images, but for the sound."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leantta.data.datasets import Inputs, Labels
from leantta.data.seeds import derived
from leantta.data.stream_table import StreamOptions
from leantta.data.streams import Domain, Stream
from leantta.evaluate.settings import RunSettings
from leantta.methods.contender import Contender, from_file
from leantta.methods.options import MethodOptions
from leantta.progress import Progress
from leantta.reproduce.at_hand import checkpoint, checkpoint_sha256
from leantta.reproduce.costs import run_seconds
from leantta.reproduce.model_files import CALIBRATION_IMAGES, file_job, file_path, layers_and_gate
from leantta.reproduce.protocol import Row
from leantta.reproduce.run_record import BIRDS, THREADS, Run, find_record
from leantta.reproduce.target import Job, Scale, Setting
from leantta.study import Prepared, Study, run_study

if TYPE_CHECKING:
    from torch import nn

    from leantta.data.birds import Clips

MODEL, STREAM = "vggish", "warblr"

HEARD: Mapping[Scale, int] = {"quick": 950, "full": 8000}
"""How many clips of Warblr at most: a part of them, or all."""


def bird_run(setting: Setting, row: Row, seed: int) -> Run:
    """Return the run of a row over Warblr."""
    folder = setting.clips.get(STREAM)
    heard = HEARD[setting.scale]
    clips = heard if folder is None else min(heard, len(_clips(folder, STREAM)))
    return Run(
        model=MODEL,
        dataset=BIRDS,
        method=row.text(setting.scale, "abrupt"),
        stream=STREAM,
        options=StreamOptions(seed=seed, images=clips),
        inputs=clips,
        batch_size=row.batch_size,
    )


def lack(setting: Setting) -> str | None:
    """Return what is missing to run it; None if nothing is."""
    absent = [name for name in (BIRDS, STREAM) if name not in setting.clips]
    if absent:
        return f"no bird sounds: give {' and '.join(f'--{name} FOLDER' for name in absent)}"
    try:
        found = checkpoint(MODEL, BIRDS)
    except ModuleNotFoundError:  # without torch nothing can be run, only shown
        return None
    if found is None:
        return f"no weights of {MODEL} for {BIRDS}: put {MODEL}_{BIRDS}.safetensors into weights/"
    return None


def bird_job(run: Run) -> Job:
    """Return the job of a run."""
    return Job(
        name=f"{run.model} {run.stream} {run.method} batch {run.batch_size} seed {run.options.seed}",
        run=partial(_make, run),
        done=partial(_is_made, run),
        seconds=run_seconds(run.model, run.method, run.batch_size, run.inputs),
        needs=()
        if run.file is None
        else (replace(file_job(MODEL, BIRDS, run.file), run=partial(_make_file, run.file)),),
        group=f"{run.model} {run.method}",
    )


def _is_made(run: Run, setting: Setting) -> bool:
    return find_record(run, setting) is not None


def _make(run: Run, setting: Setting, progress: Progress) -> None:
    source, heard = setting.clips[BIRDS], setting.clips[STREAM]
    if run.file is None:
        contender = _on_torch(run.method, source)
    else:
        contender = from_file(file_path(setting, MODEL, BIRDS, run.file), BIRDS, THREADS)
    study = Study(model=MODEL, images=heard, dataset=BIRDS, batch_size=run.batch_size, records=setting.folder)
    stream = _stream(heard, run.inputs, run.options.seed)
    list(run_study(Prepared(study, [stream], [contender]), lambda _: progress))


def _make_file(kind: str, setting: Setting, progress: Progress) -> None:
    del progress
    from leantta.export.convert import convert

    layers, gate = layers_and_gate(kind)
    convert(
        _model(),
        _features(_clips(setting.clips[BIRDS], BIRDS), np.arange(CALIBRATION_IMAGES)),
        file_path(setting, MODEL, BIRDS, kind),
        layers=layers,
        gate=gate,
        name=MODEL,
        weights_sha256=checkpoint_sha256(MODEL, BIRDS),
    )


@lru_cache(maxsize=1)
def _on_torch(method: str, source: Path) -> Contender:
    import torch

    from leantta.methods.subject import Subject
    from leantta.methods.table import choose

    torch.set_num_threads(THREADS)
    clips = _clips(source, BIRDS)
    chosen = choose(method, MethodOptions())
    subject = Subject(
        model=_model(),
        example=torch.from_numpy(_features(clips, np.arange(2))),
        mean=(0.0,),
        std=(1.0,),
        classes=1,
        source=lambda count: _features(clips, np.arange(count)),
    )
    settings = RunSettings(
        model=MODEL,
        method=chosen.label,
        dataset=BIRDS,
        method_settings=chosen.settings(subject.classes),
        weights_sha256=checkpoint_sha256(MODEL, BIRDS),
        threads=THREADS,
    )
    return Contender(settings, chosen.build(subject))


def _model() -> "nn.Module":
    from leantta.models.table import build
    from leantta.models.weights import find_weights, load_weights

    model = build(MODEL)
    load_weights(model, find_weights(MODEL, BIRDS))
    return model


@lru_cache(maxsize=2)
def _clips(folder: Path, corpus: str) -> "Clips":
    from leantta.data.birds import find_clips  # here, as it needs the extra `audio`

    return find_clips(folder, corpus)


def _features(clips: "Clips", positions: Labels) -> Inputs:
    """Return the features of the clips at these positions, as far as there are any."""
    from leantta.data.birds import Clips, batches

    chosen = positions[positions < len(clips)]
    part = Clips(clips.corpus, tuple(clips.paths[i] for i in chosen), clips.labels[chosen])
    return next(batches(part, size=len(chosen)))[0]


def _stream(folder: Path, count: int, seed: int) -> Stream:
    """Return so many clips of Warblr in random order."""
    clips = _clips(folder, STREAM)
    index = np.random.default_rng(derived(seed, STREAM)).permutation(len(clips))[:count]
    return Stream(
        name=STREAM,
        seed=seed,
        settings={"count": count, "clips": len(clips)},
        domains=(Domain(STREAM, 0),),
        domain=np.zeros(count, np.int64),
        labels=clips.labels[index],
        index=index,
        load=lambda positions: _features(clips, index[positions]),
    )
