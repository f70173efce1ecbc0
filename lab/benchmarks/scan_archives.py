"""What the benchmarks of `leantta scan` share: archives, model files, and what a tree of processes uses."""

import io
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

TICK = os.sysconf("SC_CLK_TCK")
POOL = 512
"""Pictures that differ; an archive repeats them."""


def pictures(size: tuple[int, int], kind: str) -> list[bytes]:
    """Return the files of pictures (height, width) with structure of every size, as photographs have it."""
    draw = np.random.default_rng(0)
    made = []
    for _ in range(POOL if size[0] < 64 else 64):
        small = draw.integers(0, 256, (max(size[0] // 8, 2), max(size[1] // 8, 2), 3), dtype=np.uint8)
        image = Image.fromarray(small).resize(size[::-1], Image.Resampling.BICUBIC)
        grain = np.asarray(image, np.int16) + draw.integers(-12, 13, (*size, 3), dtype=np.int16)
        data = io.BytesIO()
        Image.fromarray(grain.clip(0, 255).astype(np.uint8)).save(data, kind, quality=90)
        made.append(data.getvalue())
    return made


def write_tar(path: Path, contents: Sequence[bytes], ending: str) -> None:
    """Write a tar as of webdataset."""
    with tarfile.open(path, "w") as archive:
        for place, data in enumerate(contents):
            info = tarfile.TarInfo(f"{place:06d}{ending}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def write_table(path: Path, contents: Sequence[bytes]) -> None:
    """Write a Parquet file with a column of bytes."""
    pq.write_table(pa.table({"image": list(contents)}), path, row_group_size=1000, compression="none")


def write_model(path: Path, network: str, size: int) -> None:
    """Write a model file whose weights are random: they do not change what it costs."""
    import torch
    from torch import nn

    from leantta.data.preprocess import Preprocessing
    from leantta.export.convert import convert
    from leantta.export.options import FileOptions
    from leantta.models.named import build

    torch.manual_seed(0)
    if network == "tiny":
        parts = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)]
        model: nn.Module = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10))
    else:
        model = build(network)
    count = 32 if network == "tiny" else 16  # a large one takes minutes to calibrate, for the same speed
    source = np.random.default_rng(0).integers(0, 256, (count, size, size, 3), dtype=np.uint8)
    seen = torch.from_numpy(source.transpose(0, 3, 1, 2).astype(np.float32) / 255)
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.momentum = None
    with torch.no_grad():
        model.train()(seen)
    how = Preprocessing(resize=size, crop=(size, size), mean=(0.5,) * 3, std=(0.25,) * 3)
    options = FileOptions(input="image", precision="int8", observer="minmax")
    gate = "calibrated" if network == "tiny" else "paper"
    convert(model.eval(), source, path, gate=gate, options=options, preprocessing=how, name=network)


class Used(NamedTuple):
    """What a process and its children have used."""

    cpu_s: float
    rss_bytes: int  # of the process itself
    all_rss_bytes: int
    processes: int


class Watched:
    """Follows a process and all that it starts."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.cpu: dict[int, float] = {}  # by process, also of those that have ended since

    def look(self) -> Used:
        """Return what they have used up to now; what a process used after the last look is not counted."""
        parents, rss = {}, {}
        for each in Path("/proc").iterdir():
            if not each.name.isdigit():
                continue
            try:
                fields = (each / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            pid = int(each.name)
            parents[pid] = int(fields[1])
            rss[pid] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            if self._ours(pid, parents) or pid in self.cpu:
                self.cpu[pid] = (int(fields[11]) + int(fields[12])) / TICK
        own = [pid for pid in parents if self._ours(pid, parents)]
        for pid in own:
            self.cpu.setdefault(pid, 0.0)
        return Used(sum(self.cpu.values()), rss.get(self.pid, 0), sum(rss[pid] for pid in own), len(own))

    def _ours(self, pid: int, parents: dict[int, int]) -> bool:
        while pid in parents and pid != self.pid:
            pid = parents[pid]
        return pid == self.pid
