"""Attacks on images, sound, windows of sensors, and collections of them."""

import csv
import io
import json
import random
import struct
import tarfile
import zlib
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image

from hostile.attack import Attack, Try
from hostile.damage import changed_json, damaged
from leantta.data.audio import read_wave
from leantta.data.collection.opening import open_collection
from leantta.data.imagefiles import MAX_EDGE, MAX_PIXELS, read_image, read_note
from leantta.data.windows import CHANNELS, SAMPLES, read_windows

FOREIGN = ("EPS", "GIF", "TIFF", "PPM", "ICO", "PCX", "TGA", "SGI", "IM", "MSP", "PDF", "JPEG2000")
"""Formats that Pillow writes, and that are refused whatever the file is called."""


def encoded(kind: str, **settings: object) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, (19, 23, 3), np.uint8)
    mode = "1" if kind == "MSP" else "RGB"
    found = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(found, kind, **settings)  # type: ignore[arg-type]
    return found.getvalue()


def lying_png(random_: random.Random) -> bytes:
    """A PNG whose head says anything, with checksums that fit."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    edges = (0, 1, 7, 255, 65_535, 65_536, 2**31 - 1)
    head = struct.pack(
        ">IIBBBBB",
        random_.choice(edges),
        random_.choice(edges),
        *(random_.choice((0, 1, 2, 3, 4, 6, 8, 16)) for _ in range(3)),
        0,
        0,
    )
    text = chunk(b"zTXt", b"leantta\x00\x00" + zlib.compress(bytes(10 ** random_.randrange(7))))
    body = chunk(b"IDAT", zlib.compress(random_.randbytes(random_.randrange(3_000))))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + text * random_.randrange(2) + body + chunk(b"IEND", b"")
    )


def images(folder: Path, _: ExitStack) -> Try:
    """Damaged images, heads that lie, and other formats under these names."""
    exif = Image.Exif()
    exif[274] = 6
    whole = [
        *(encoded(kind) for kind in ("PNG", "JPEG", "BMP", "WEBP")),
        encoded("JPEG", progressive=True, exif=exif.tobytes()),
        encoded("PNG", exif=exif.tobytes()),
        encoded("WEBP", lossless=True),
    ]
    foreign = [encoded(kind) for kind in FOREIGN]

    def attempt(random_: random.Random) -> None:
        path = folder / f"x.{random_.choice(('png', 'jpg', 'bmp', 'webp'))}"
        which = random_.random()
        if which < 0.05:
            path.write_bytes(random_.choice(foreign))
        elif which < 0.2:
            path.write_bytes(lying_png(random_))
        else:
            path.write_bytes(damaged(random_, random_.choice(whole)))
        read_note(path)
        pixels = read_image(path)
        assert which >= 0.05, "a format that we do not name was read"
        assert pixels.dtype == np.uint8
        height, width, channels = pixels.shape
        assert channels == 3
        assert 0 < height <= MAX_EDGE
        assert 0 < width <= MAX_EDGE
        assert height * width <= MAX_PIXELS

    return attempt


def sound(folder: Path, _: ExitStack) -> Try:
    """Damaged sound: what comes is finite, or the file is refused."""
    tone = np.sin(np.arange(4_000) / 9).astype(np.float32)[:, None].repeat(2, 1) * 0.5
    whole = []
    for kind, part in (
        ("WAV", "PCM_16"),
        ("WAV", "FLOAT"),
        ("FLAC", "PCM_16"),
        ("OGG", "VORBIS"),
        ("MP3", None),
    ):
        held = io.BytesIO()
        soundfile.write(held, tone, 16_000, part, format=kind)
        whole.append((kind.lower(), held.getvalue()))

    def attempt(random_: random.Random) -> None:
        ending, data = random_.choice(whole)
        path = folder / f"x.{ending}"
        path.write_bytes(damaged(random_, data))
        wave = read_wave(path)
        assert wave.ndim == 1
        assert wave.size
        assert np.isfinite(wave).all()

    return attempt


def windows(folder: Path, _: ExitStack) -> Try:
    """Damaged arrays and tables of numbers."""
    values = np.random.default_rng(0).normal(size=(2, CHANNELS, SAMPLES)).astype(np.float32)
    held: dict[str, bytes] = {}
    for ending in ("npy", "npz"):
        file = io.BytesIO()
        np.save(file, values) if ending == "npy" else np.savez_compressed(file, x=values)
        held[ending] = file.getvalue()
    table = io.StringIO()
    np.savetxt(table, values[0].T, delimiter=",", fmt="%.4g")
    held["csv"] = table.getvalue().encode()

    def attempt(random_: random.Random) -> None:
        ending = random_.choice(list(held))
        path = folder / f"x.{ending}"
        path.write_bytes(damaged(random_, held[ending]))
        found = read_windows(path)
        assert found.shape[1:] == (CHANNELS, SAMPLES)
        assert np.isfinite(found).all()

    return attempt


def collections(folder: Path, _: ExitStack) -> Try:
    """Damaged lists (CSV, JSON lines) and tars of images."""
    picture = encoded("PNG")
    names = [f"{i}.png" for i in range(4)]
    for name in names:
        (folder / name).write_bytes(picture)
    listed = io.StringIO()
    csv.writer(listed).writerows([["path", "label"], *([name, "ab"[i % 2]] for i, name in enumerate(names))])
    lines = "\n".join(json.dumps({"path": name, "label": "a", "domain": "d"}) for name in names)
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for name in names:
            for member, data in (
                (name, picture),
                (f"{name[:-4]}.json", b'{"label": "a"}'),
                (f"{name[:-4]}.cls", b"1"),
            ):
                about = tarfile.TarInfo(member)
                about.size = len(data)
                tar.addfile(about, io.BytesIO(data))
    whole = {"list.csv": listed.getvalue().encode(), "list.jsonl": lines.encode(), "a.tar": held.getvalue()}

    def attempt(random_: random.Random) -> None:
        name = random_.choice(list(whole))
        data = damaged(random_, whole[name])
        if name == "list.jsonl" and random_.random() < 0.5:
            data = "\n".join(changed_json(random_, line) for line in lines.split("\n")).encode(
                errors="replace"
            )
        (folder / name).write_bytes(data)
        collection = open_collection(folder / name)
        assert collection.describe()
        for place in range(min(len(collection), 4)):
            pixels = collection.read(place)
            assert pixels.ndim == 3
            assert pixels.dtype == np.uint8

    return attempt


ATTACKS = (
    Attack(
        name="images",
        reader="read_image, read_note",
        inputs="damaged PNG, JPEG, BMP and WebP, heads that lie, other formats under these names",
        begin=images,
        recorded=16_000,
    ),
    Attack(
        name="sound", reader="read_wave", inputs="damaged WAV, FLAC, Ogg and MP3", begin=sound, recorded=5_000
    ),
    Attack(
        name="windows",
        reader="read_windows",
        inputs="damaged npy, npz and CSV",
        begin=windows,
        recorded=6_000,
    ),
    Attack(
        name="collections",
        reader="open_collection",
        inputs="damaged CSV, JSON lines and tars",
        begin=collections,
        recorded=5_000,
    ),
)
