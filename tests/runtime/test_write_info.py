"""What a conversion writes about a file is what the runtime reads."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leantta.data.logmel import BANDS, SAMPLE_RATE, clip_samples
from leantta.data.preprocess import Preprocessing
from leantta.data.words import INTERPOLATIONS, ColourOrder
from leantta.gates.calibrated import CalibratedGate
from leantta.gates.gate import Gate
from leantta.gates.paper import PaperGate
from leantta.outputs import Head, deciding, role_of
from leantta.runtime.container import read_container
from leantta.runtime.input_info import InputInfo, SoundInfo
from leantta.runtime.metadata import (
    Info,
    PlannedLayer,
    ShiftInfo,
    read_info,
    write_info,
)
from leantta.runtime.selftest import Sample, SelfTest
from runtime.artifacts import artifact, said

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SOME_TEXT = st.text(max_size=8)
UNIT = st.floats(0, 1)
GATES = st.one_of(
    st.builds(PaperGate, tau=UNIT, lam=UNIT),
    st.builds(
        lambda ends, budget: CalibratedGate(floor=min(ends), ceiling=max(ends), budget=budget),
        st.tuples(UNIT, UNIT),
        st.none() | UNIT,
    ),
)
SIZES = st.integers(1, 9)


@st.composite
def inputs_of_any_kind(draw: st.DrawFn) -> InputInfo:
    kind = draw(st.sampled_from(["tensor", "image", "signal", "frames", "waveform"]))
    if kind in ("frames", "waveform"):
        frames = draw(st.integers(1, 300))
        samples = clip_samples(frames)
        sound = SoundInfo(SAMPLE_RATE, samples, draw(st.sampled_from(["silence", "repeat"])))
        return InputInfo(kind, (1, frames, BANDS) if kind == "frames" else (samples,), sound=sound)
    normalized = kind != "tensor" or draw(st.booleans())
    axes = 3 if kind == "image" or (kind == "tensor" and normalized) else draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(SIZES, min_size=axes, max_size=axes)))
    if not normalized:
        return InputInfo(kind, shape)
    channels = shape[0]
    mean = draw(st.lists(FINITE, min_size=channels, max_size=channels))
    std = draw(st.lists(st.floats(0.01, 9), min_size=channels, max_size=channels))
    how = None
    if axes == 3 and kind != "signal" and channels in (1, 3) and draw(st.booleans()):
        orders: list[ColourOrder] = ["grey"] if channels == 1 else ["rgb", "bgr"]
        interpolation = draw(st.sampled_from(INTERPOLATIONS))
        size = (shape[1], shape[2])
        resize = draw(st.sampled_from([size, 20, None]))
        crop = size if isinstance(resize, int) else draw(st.none() | st.just(size))
        colours = draw(st.sampled_from(orders))
        how = Preprocessing(resize=resize, crop=crop, colours=colours, interpolation=interpolation)
    return InputInfo(kind, shape, tuple(mean), tuple(std), preprocessing=how)


@st.composite
def shapes_of_outputs(draw: st.DrawFn, inputs: InputInfo) -> tuple[int, ...]:
    if len(inputs.shape) == 3 and draw(st.booleans()):
        return (draw(SIZES), *inputs.shape[1:])  # a decision for each pixel
    return tuple(draw(st.lists(SIZES, min_size=1, max_size=4)))


@st.composite
def infos(draw: st.DrawFn) -> Info:
    inputs = draw(inputs_of_any_kind())
    heads = draw(st.just(None) | st.lists(shapes_of_outputs(inputs), min_size=1, max_size=3))
    own: tuple[Head, ...]
    if heads is None:
        own = (Head("logits", (draw(st.integers(1, 4)),), "classes"),)
    else:
        own = tuple(Head(f"o.{i}", s, role_of(s, inputs.shape)) for i, s in enumerate(heads))
    decides = deciding(own)
    outputs = 0 if decides is None else decides.scores
    layers = tuple(draw(st.lists(SOME_TEXT, unique=True, max_size=3)))
    names = st.lists(SOME_TEXT, min_size=max(outputs, 2), max_size=max(outputs, 2)).map(tuple)
    stored = np.zeros((1, *inputs.shape), np.float32)
    if inputs.is_image:
        stored = np.zeros((1, *inputs.shape[1:], inputs.shape[0]), np.uint8)
    samples = {
        head.name: Sample.of(
            np.full((1, *head.shape), draw(st.floats(-9, 9, width=32))), draw(st.floats(0, 9))
        )
        for head in own
    }
    rows = st.builds(PlannedLayer, SOME_TEXT, SOME_TEXT, st.integers(1, 99), SOME_TEXT)
    return Info(
        model=draw(SOME_TEXT),
        weights_sha256=draw(st.none() | SOME_TEXT),
        precision=draw(st.sampled_from(["int8", "fp32"])),
        portable=draw(st.booleans()),
        input=inputs,
        classes=draw(st.none() | names) if outputs else None,
        heads=own,
        gate=draw(GATES) if layers else None,
        layers=layers,
        plan=tuple(draw(st.lists(rows, max_size=3))),
        shift=draw(st.none() | st.builds(ShiftInfo, FINITE, FINITE, st.integers(1, 999))),
        calibration=draw(st.none() | st.dictionaries(SOME_TEXT, st.integers() | SOME_TEXT, max_size=2)),
        ranges=draw(st.dictionaries(SOME_TEXT, st.tuples(FINITE, FINITE), max_size=3)),
        selftest=SelfTest.of(stored, samples),
        versions=draw(st.dictionaries(SOME_TEXT, SOME_TEXT, max_size=2)),
    )


@settings(max_examples=200, deadline=None)
@given(infos())
def test_what_is_written_is_read(info: Info) -> None:
    text = write_info(info)
    assert vars(read_info(said(text))) == vars(info)
    assert write_info(read_info(said(text))) == text


def test_the_text_is_the_one_of_its_values(tmp_path: Path) -> None:
    container = read_container(artifact(tmp_path / "a.onnx", changes={"something newer": ...}))
    stored = json.loads(container.metadata["leantta"])
    wanted = json.dumps(stored, sort_keys=True, separators=(",", ":"))
    assert write_info(read_info(container)) == wanted


def test_gates_are_told_by_the_names_of_their_settings(tmp_path: Path) -> None:
    info = read_info(read_container(artifact(tmp_path / "a.onnx")))

    def told(gate: Gate) -> object:
        return json.loads(write_info(replace(info, gate=gate)))["gate"]

    assert told(PaperGate(tau=0.8, lam=0.7)) == {"name": "paper", "tau": 0.8, "lambda": 0.7}
    plain = {"name": "calibrated", "floor": 0.0, "ceiling": 0.5}
    assert told(CalibratedGate(floor=0.0, ceiling=0.5)) == plain
    assert told(CalibratedGate(floor=0.0, ceiling=0.5, budget=0.01)) == {**plain, "budget": 0.01}
