"""Attacks on what else is read from disk or typed: records, packs, weights, logs, descriptions, methods."""

import json
import random
from contextlib import ExitStack
from pathlib import Path

import torch
from torch import nn

from hostile.attack import Attack, Try
from hostile.damage import changed_json, damaged
from hostile.model_files import write
from leantta.data.preprocess import read_preprocessing
from leantta.errors import DataError
from leantta.evaluate.packs import packed, read_pack
from leantta.evaluate.record import parse_record
from leantta.methods.parse import parse_method
from leantta.models.weights import load_weights, save_weights
from leantta.monitor.log import is_log, read_lines

PACKS = Path(__file__).parents[2] / "results" / "reproduce" / "quick"


def records(folder: Path, _: ExitStack) -> Try:
    """Damaged records, and packs of them: a pack is whole or refused."""
    files = dict(
        list(read_pack(min(PACKS.glob("*.records.tar.xz"), key=lambda p: p.stat().st_size)).items())[:6]
    )
    whole = packed(files)

    def attempt(random_: random.Random) -> None:
        if random_.random() < 0.5:
            found = read_pack(write(folder / f"{random_.random()}.records.tar.xz", damaged(random_, whole)))
            assert found == files, "a damaged pack was read as something else"
            return
        raw = random_.choice(list(files.values()))
        lines = raw.decode().splitlines()
        if random_.random() < 0.5:
            place = random_.randrange(len(lines))
            lines[place] = changed_json(random_, lines[place])
            raw = "\n".join([*lines, ""]).encode(errors="replace")
        else:
            raw = damaged(random_, raw)
        record = parse_record(raw, "a.jsonl")
        assert 0 <= record.correct.mean() <= 1
        assert record.model
        assert record.method

    return attempt


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 5))


def weights(folder: Path, _: ExitStack) -> Try:
    """Damaged checkpoints: only tensors are ever read, and a model that refuses one is as it was."""
    torch.manual_seed(0)
    model = network()
    save_weights(model, folder / "a.safetensors")
    torch.save({"state_dict": model.state_dict()}, folder / "a.pt")
    torch.save(model.state_dict(), folder / "a.pth", _use_new_zipfile_serialization=False)
    whole = {path.suffix: path.read_bytes() for path in sorted(folder.glob("a.*"))}

    def attempt(random_: random.Random) -> None:
        ending = random_.choice(list(whole))
        path = write(folder / f"b{ending}", damaged(random_, whole[ending]))
        other = network()
        before = [value.clone() for value in other.state_dict().values()]
        try:
            load_weights(other, path)
        except Exception:
            same = zip(before, other.state_dict().values(), strict=True)
            assert all(torch.equal(one, now) for one, now in same), "a refused checkpoint changed the model"
            raise
        assert all(torch.isfinite(value).all() for value in other.state_dict().values())

    return attempt


def descriptions(folder: Path, _: ExitStack) -> Try:
    """Descriptions of preprocessing, texts that name methods, and logs of a watch."""
    told = {
        "resize": 256,
        "crop": [224, 224],
        "interpolation": "bicubic",
        "colours": "rgb",
        "mean": [0.5, 0.4, 0.3],
        "std": [0.2, 0.2, 0.2],
    }
    methods = (
        "none",
        "leantta:half:calibrated:floor=0.1",
        "leantta:ends:filter:most_layers=3",
        "leantta:0.4:paper",
    )
    line = json.dumps({"watch": 1, "file": "a.onnx", "shift": 0.5, "time": "2026-01-01T00:00:00"})

    def attempt(random_: random.Random) -> None:
        match random_.randrange(3):
            case 0:
                text = changed_json(random_, json.dumps(told))
                read_preprocessing(write(folder / "a.json", text.encode(errors="replace")))
            case 1:
                text = damaged(random_, random_.choice(methods).encode()).decode(errors="replace")
                parse_method(text)
            case _:
                path = write(folder / "a.jsonl", damaged(random_, f"{line}\n".encode() * 5))
                if not is_log(path):
                    raise DataError("it is no log.")
                assert all(isinstance(each, dict) for each in read_lines(path))

    return attempt


ATTACKS = (
    Attack(
        name="records",
        reader="read_record, read_pack",
        inputs="damaged records and packs",
        begin=records,
        recorded=6_000,
    ),
    Attack(
        name="weights",
        reader="load_weights",
        inputs="damaged checkpoints, safetensors and pickled",
        begin=weights,
        recorded=3_000,
    ),
    Attack(
        name="descriptions",
        reader="read_preprocessing, parse_method, read_lines",
        inputs="changed descriptions, damaged names of methods and logs",
        begin=descriptions,
        recorded=10_000,
    ),
)
