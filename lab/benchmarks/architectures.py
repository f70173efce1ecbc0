"""Which architectures can be adapted and converted: one row for each, from timm with random weights.

    LEANTTA_TIMM=FOLDER python lab/benchmarks/architectures.py        # runs what the record lacks
    LEANTTA_TIMM=FOLDER python lab/benchmarks/architectures.py NAME   # runs these again

Both fill the page. `pip install --no-deps --target FOLDER timm==1.0.30` makes the folder. A network gets its
BatchNorm statistics and its last layer from the CIFAR-10 images of the repository, so that it decides
something; all else is random.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from leantta.data.resize import cover
from leantta.errors import LeanTTAError
from leantta.export.check import LIMIT
from leantta.export.convert import convert
from leantta.export.held_out import HeldOut
from leantta.export.report import Conversion
from leantta.export.trace import Traced, trace_adapted
from leantta.files import replacing
from leantta.gates.paper import PaperGate
from leantta.graph.run import run_graph
from leantta.outputs import named
from leantta.records.json_file import read_json, write_json
from leantta.records.provenance import provenance_now
from leantta.runtime.session import load
from leantta.surgery.apply import adapt
from leantta.surgery.plan import Action, plan
from leantta.tables import markdown
from leantta_lab.datasets.cifar import load_images
from leantta_lab.samples import CIFAR10_SAMPLE
from timm_here import timm_here

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "results" / "architectures.json"
PAGE = ROOT / "docs" / "architectures.md"
BEGIN, END = "<!-- made by lab/benchmarks/architectures.py -->\n", "<!-- end -->"
KIND, FORMAT = "architectures", 1

CLASSES, SIZE = 10, 64
SETTLED, CALIBRATED, HELD_OUT, AT_ONCE = 384, 64, 64, 32
"""Images for statistics and last layer, for ranges, and for comparing; and how many at once."""
MEAN, STD = np.array([0.4914, 0.4822, 0.4465], np.float32), np.array([0.2471, 0.2435, 0.2616], np.float32)
RIDGE = 1.0

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One network: how timm calls it, or what is built on it, and the size of its images."""

    name: str
    build: Callable[[Any], nn.Module]
    size: int = SIZE


@dataclass(frozen=True, kw_only=True)
class Row:
    """What became of one network; None: it did not get so far."""

    name: str
    size: int
    parameters: int
    seconds: float
    norms: int | None = None
    adapt: int | None = None
    fused: int | None = None
    kept: int | None = None
    operators: int | None = None
    in_float: tuple[tuple[str, int], ...] = ()  # operators in float32, by kind
    int8_share: float | None = None  # of the multiply-adds, what is in int8
    exact: float | None = None  # difference of the float32 graph's scores to torch, as a share of the largest
    difference: float | None = None  # of the int8 file's
    agreement: float | None = None  # share of held-out images that file and torch decide alike
    images: int | None = None
    refused: str | None = None  # the line that says why


def _of_timm(name: str, size: int = SIZE, **settings: Any) -> Architecture:
    return Architecture(
        name=name,
        size=size,
        build=lambda timm: timm.create_model(name, num_classes=CLASSES, **settings),
    )


class ShuffledBlock(nn.Module):
    """Half of the channels passes, the other is convolved; then both halves are mixed."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(
            *(nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(inplace=True)),
            *(nn.Conv2d(half, half, 3, padding=1, groups=half, bias=False), nn.BatchNorm2d(half)),
            *(nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(inplace=True)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return as many channels as there were."""
        left, right = x.chunk(2, 1)
        mixed = torch.stack([left, self.branch(right)], 2)  # (n, c / 2, 2, h, w)
        return mixed.flatten(1, 2)


class Shuffled(nn.Module):
    """A small network of such blocks, as timm has none."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for channels in (24, 48, 96, 192):
            layers += [nn.Conv2d(before, channels, 3, 2, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
            layers += [ShuffledBlock(channels), ShuffledBlock(channels)]
            before = channels
        self.body, self.fc = nn.Sequential(*layers), nn.Linear(before, CLASSES)

    def get_classifier(self) -> nn.Module:
        """Return the last layer, as networks of timm do."""
        return self.fc

    def forward(self, x: Tensor) -> Tensor:
        """Return scores (n, k)."""
        scores: Tensor = self.fc(self.body(x).mean((2, 3)))
        return scores


class Segmenter(nn.Module):
    """A U-shaped network: features of three sizes, each added to what comes from below."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body
        channels = body.feature_info.channels()
        self.across = nn.ModuleList([nn.Conv2d(count, 32, 1, bias=False) for count in channels])
        self.norms = nn.ModuleList([nn.BatchNorm2d(32) for _ in channels])
        self.head = nn.Conv2d(32, CLASSES, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return a map of scores, (n, k, h, w)."""
        *higher, lowest = [
            torch.relu(norm(conv(seen)))
            for seen, conv, norm in zip(self.body(x), self.across, self.norms, strict=True)
        ]
        y = lowest
        for seen in reversed(higher):
            y = seen + nn.functional.interpolate(y, scale_factor=2.0, mode="nearest")
        scores: Tensor = self.head(y)
        return scores


class Detector(nn.Module):
    """A head without anchors: classes and boxes at every place of one map of features."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body
        count = body.feature_info.channels()[-1]
        self.conv, self.norm = nn.Conv2d(count, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)
        self.scores, self.boxes = nn.Conv2d(64, CLASSES, 1), nn.Conv2d(64, 4, 1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Return scores (n, k, h, w) and the distances to the sides of a box (n, 4, h, w)."""
        y = torch.relu(self.norm(self.conv(self.body(x)[-1])))
        return {"scores": self.scores(y), "boxes": self.boxes(y).exp()}


def _with_features(head: Callable[[Any], nn.Module], body: str, *indices: int) -> Callable[[Any], nn.Module]:
    return lambda timm: head(timm.create_model(body, features_only=True, out_indices=indices))


ARCHITECTURES: Mapping[str, Architecture] = {
    each.name: each
    for each in (
        _of_timm("mobilenetv3_small_100"),
        _of_timm("mobilenetv4_conv_small_050"),
        _of_timm("efficientnet_lite0"),
        _of_timm("lcnet_050"),
        _of_timm("mnasnet_050"),
        _of_timm("ghostnet_050"),
        _of_timm("mobileone_s0"),
        _of_timm("repvgg_a0"),
        _of_timm("regnetx_002"),
        _of_timm("resnet18"),
        _of_timm("seresnet18"),
        _of_timm("resnetv2_18"),
        _of_timm("resnet50"),
        _of_timm("resnext50_32x4d"),
        _of_timm("vgg11_bn"),
        _of_timm("dla46_c"),
        _of_timm("hrnet_w18_small"),
        _of_timm("densenet121"),
        _of_timm("inception_v3", 96),
        Architecture(name="like shufflenet", build=lambda _: Shuffled()),
        Architecture(name="Unet-like on resnet18", build=_with_features(Segmenter, "resnet18", 1, 2, 3, 4)),
        Architecture(name="detector on resnet18", build=_with_features(Detector, "resnet18", 3)),
        _of_timm("convnext_atto"),
    )
}


def run(architecture: Architecture, timm: Any, folder: Path) -> Row:
    """Return what becomes of one network: planned, adapted, converted, loaded and compared."""
    started = perf_counter()
    torch.manual_seed(0)
    model = architecture.build(timm)
    parameters = sum(each.numel() for each in model.parameters())
    told: dict[str, Any] = {"name": architecture.name, "size": architecture.size, "parameters": parameters}
    inputs, labels = images_of("train", SETTLED, architecture.size)
    try:
        settle_(model, inputs, labels)
        example = torch.from_numpy(inputs[:2])
        rows = plan(model, example)
        told |= {
            "norms": len(rows.rows),
            "adapt": len(rows.named(Action.ADAPT)),
            "fused": len(rows.named(Action.FUSE)),
            "kept": len(rows.named(Action.KEEP)),
        }
        adapt(model, example)
        traced: list[Traced] = []

        def kept(*asked: Any) -> Traced:
            traced.append(trace_adapted(*asked))
            return traced[-1]

        # Torch's exporter takes longest, so it runs once; and the error of random weights is to be seen.
        with patch("leantta.export.convert.trace_adapted", kept), patch.dict(LIMIT, int8=np.inf):
            done = convert(model, inputs[:CALIBRATED], folder / "net.onnx", layers="half", gate=PaperGate())
        told |= {"exact": _exact(traced[0], inputs[:CALIBRATED])} | _compared(done, architecture.size)
    except LeanTTAError as e:
        told["refused"] = str(e)
    return Row(**told, seconds=round(perf_counter() - started, 1))


def settle_(model: nn.Module, inputs: Floats, labels: npt.NDArray[np.int64]) -> None:
    """Give BatchNorms the statistics of the images, and the last layer weights that tell classes apart."""
    images = torch.from_numpy(inputs).split(AT_ONCE)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.momentum = None  # the plain average of what is seen
            module.reset_running_stats()
            if module.affine and not module.weight.any():  # a branch that begins as nothing
                nn.init.ones_(module.weight)
    with torch.no_grad():
        model.train()
        for batch in images:
            model(batch)
        model.eval()
        find = getattr(model, "get_classifier", None)
        head = None if find is None else find()
        if not isinstance(head, nn.Linear):
            return
        seen: list[Tensor] = []
        handle = head.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
        for batch in images:
            model(batch)
        handle.remove()
        features = torch.cat(seen).double()
        mean, scale = features.mean(0), features.std(0) + 1e-6
        x = (features - mean) / scale
        wanted = torch.nn.functional.one_hot(torch.from_numpy(labels), CLASSES).double() - 1 / CLASSES
        kernel = x @ x.T / x.shape[1] + RIDGE * torch.eye(len(x), dtype=x.dtype)
        weight = (x.T / x.shape[1] @ torch.linalg.solve(kernel, wanted)).T / scale
        head.weight.copy_(weight)
        head.bias.copy_(-weight @ mean)


def images_of(split: str, count: int, size: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return images of the sample as a model takes them, and their labels."""
    data = load_images(CIFAR10_SAMPLE, "cifar10", "train" if split == "train" else "test")
    pixels = np.stack([cover(image, size, size) for image in data.samples[:count]])
    values = ((pixels / np.float32(255) - MEAN) / STD).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(values, np.float32), data.labels[:count].astype(np.int64)


def _exact(traced: Traced, inputs: Floats) -> float:
    """Return how far the scores of the float32 graph are from torch's, which knows those of some inputs."""
    wanted = traced.returned.outputs[traced.returned.heads[0].name]
    those = HeldOut.of(len(inputs)).reporting[: len(wanted)]
    scores = run_graph(traced.graph, inputs[those], traced.graph.outputs)[0]
    return float(np.abs(scores - wanted).max() / np.abs(wanted).max())


def _compared(done: Conversion, size: int) -> dict[str, Any]:
    """Return how the file that was written compares with torch on images that it has not seen."""
    images, _ = images_of("test", HELD_OUT, size)
    with load(done.path) as session, torch.inference_mode():
        ours = session.run(images).arrays
        theirs = {name: each.numpy() for name, each in named(done.adapted(torch.from_numpy(images))).items()}
    scores = next(iter(theirs))  # or a map of them
    gaps = [float(np.abs(ours[name] - each).max() / np.abs(each).max()) for name, each in theirs.items()]
    kinds: dict[str, int] = {}
    for each in done.in_float:
        kinds[each.op] = kinds.get(each.op, 0) + 1
    return {
        "operators": done.operators,
        "in_float": tuple(sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))),
        "int8_share": 1 - done.float_share,
        "difference": max(gaps),
        "agreement": float((ours[scores].argmax(1) == theirs[scores].argmax(1)).mean()),
        "images": len(images),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table of the page, in Markdown."""
    cells = []
    for row in rows:
        counted = row["norms"] is not None
        share = row.get("int8_share")  # rows of before this column have none
        cells.append(
            [
                row["name"],
                f"{row['parameters'] / 1e6:.1f}",
                f"{row['norms']}: {row['adapt']}, {row['fused']}, {row['kept']}" if counted else "-",
                "-" if row["exact"] is None else f"{row['exact']:.0e}",
                "-" if row["agreement"] is None else f"{100 * row['agreement']:.0f} %",
                "-" if row["difference"] is None else f"{100 * row['difference']:.1f} %",
                "-" if share is None else f"{100 * share:.0f} %",
                row["refused"] or _in_int8(row),
            ]
        )
    header = [
        "network",
        "million parameters",
        "BatchNorms: adapt, fused, kept",
        "float32 graph",
        "int8: same decision",
        "outputs within",
        "multiply-adds in int8",
        "operators in int8; the others",
    ]
    return markdown(header, cells)


def _in_int8(row: Mapping[str, Any]) -> str:
    """Return how many operators are in int8, and which are not."""
    others = ", ".join(f"{count} {kind}" for kind, count in row["in_float"])
    floating = sum(count for _, count in row["in_float"])
    return f"{row['operators'] - floating} of {row['operators']}" + (f"; {others}" if others else "")


def filled(text: str, rows: list[dict[str, Any]]) -> str:
    """Return the page with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table(rows)}\n{END}{rest.partition(END)[2]}"


def main(names: list[str]) -> None:
    """Run the networks that the record lacks, or those named; write the record after each, then the page."""
    rows = {row["name"]: row for row in read_json(RECORD, KIND, FORMAT)["rows"]} if RECORD.exists() else {}
    torch.set_num_threads(1)
    with timm_here() as timm, TemporaryDirectory() as folder:
        if timm is None:
            sys.exit(
                "timm is not here: pip install --no-deps --target FOLDER timm==1.0.30, LEANTTA_TIMM=FOLDER"
            )
        for name in names or [name for name in ARCHITECTURES if name not in rows]:
            row = run(ARCHITECTURES[name], timm, Path(folder))
            print(f"{name}: {row.seconds} s, {row.refused or row.agreement}", flush=True)
            rows[name] = asdict(row)
            known = [rows[each] for each in ARCHITECTURES if each in rows]
            write_json(
                {"kind": KIND, "format": FORMAT, **asdict(provenance_now()), "timm": timm.__version__}
                | {"rows": known},
                RECORD,
            )
    page = filled(PAGE.read_text(encoding="utf-8"), read_json(RECORD, KIND, FORMAT)["rows"])
    with replacing(PAGE) as part:
        part.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
