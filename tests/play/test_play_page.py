"""The page in Chromium: it answers as Python does, follows sliders, camera and keyboard, and asks nobody."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

import leantta
from leantta.data.imagefiles import decode_image, read_image, write_png
from leantta.play.server import address, page_server
from leantta.play.site import site_files
from leantta.runtime.inputs import fit_image
from play.browser import Browser, missing
from running import Run
from runtime.artifacts import artifact

WHY_NOT = missing()
pytestmark = [pytest.mark.browser, pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")]
GOLDEN = sorted((Path(__file__).parents[1] / "runtime" / "golden").glob("*.onnx"))
FILE = next(path for path in GOLDEN if path.stem == "format1_steps")


@contextmanager
def serving(model: Path, samples: Path | None = None) -> Iterator[str]:
    with page_server(site_files(model, samples), 0) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield address(server)
        server.shutdown()
        thread.join()


def picture(path: Path, height: int, width: int, seed: int = 0) -> Path:
    """Write a picture of soft patches, each another colour."""
    coarse = np.random.default_rng(seed).integers(0, 256, (5, 6, 3), np.uint8)
    write_png(path, np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)))
    return path


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    for seed, (name, size) in enumerate({"wide": (70, 150), "small": (9, 7), "fitting": (12, 12)}.items()):
        picture(folder / f"{name}.png", *size, seed)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    film = tmp_path_factory.mktemp("camera") / "film.mjpeg"
    frames = []
    for seed in range(8):
        frame = BytesIO()
        coarse = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), np.uint8)
        Image.fromarray(coarse).resize((320, 240)).save(frame, "JPEG")
        frames.append(frame.getvalue())
    film.write_bytes(b"".join(frames))
    camera = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
    browser = Browser(*camera, f"--use-file-for-fake-video-capture={film}")
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def url(samples: Path) -> Iterator[str]:
    with serving(FILE, samples) as url:
        yield url


def assert_asked_nobody(browser: Browser, url: str) -> None:
    told = browser("told")
    assert told["errors"] == []
    assert len(told["requests"]) > 10
    assert [each for each in told["requests"] if not each.startswith((url, f"blob:{url}", "data:"))] == []


def assert_answers_as_python_does(browser: Browser, model: Path, picture: Path) -> None:
    before = browser.count()
    browser("setInputFiles", "#open-picture", str(picture))
    found = browser.answer(before)["adapting"]
    with leantta.load(model) as session:
        wanted = session.predict_one(fit_image(read_image(picture), session.info))
        tolerance = session.info.selftest.tolerance
        label = wanted.label
    logits = wanted.outputs["logits"]
    assert np.abs(np.array(found["logits"]) - logits).max() <= tolerance
    assert found["shift"][0] == pytest.approx(wanted.shift, abs=0.05)
    assert found["distance"] == pytest.approx(list((wanted.distances or {}).values()), rel=0.05, abs=0.02)
    second, first = np.sort(logits)[-2:]
    if first - second > 2 * tolerance:  # nearer ones may change places
        assert label == browser("textContent", "#adapting .bars li:first-child .name")


@pytest.mark.parametrize(
    "model",
    [pytest.param(path, marks=[] if path == FILE else [pytest.mark.slow]) for path in GOLDEN],
    ids=lambda path: path.stem,
)
def test_answers_are_those_of_leantta_run(browser: Browser, model: Path, samples: Path) -> None:
    with serving(model) as url:
        browser.open(url)
        assert "passed" in browser("textContent", "#facts dl")
        for path in sorted(samples.iterdir()):
            assert_answers_as_python_does(browser, model, path)
        assert_asked_nobody(browser, url)


def test_the_page_shows_both_answers_the_shift_and_the_layers(browser: Browser, url: str) -> None:
    browser.open(url)
    answer = browser.answer()
    with leantta.load(FILE) as session:
        layers = session.info.layers
    for name in ("frozen", "adapting"):
        assert len(answer[name]["logits"]) == 4
        assert "%" in browser("textContent", f"#{name} .bars")
        assert "ms" in browser("textContent", f"#{name} .time")
    assert float(browser("textContent", "#shift-value")) == pytest.approx(
        answer["adapting"]["shift"][0], abs=0.01
    )
    shown = browser("evaluate", "[...document.querySelectorAll('#layers .name')].map(e => e.textContent)")
    assert tuple(shown) == layers


def test_every_slider_changes_the_answer_and_reset_brings_it_back(browser: Browser, url: str) -> None:
    browser.open(url)
    clean = browser.answer()["adapting"]["logits"]
    names = browser("evaluate", "[...document.querySelectorAll('#sliders input')].map(e => e.name)")
    assert {"noise", "blur", "fog", "contrast", "brightness", "jpeg", "pixelate"} <= set(names)
    for name in names:
        before = browser.count()
        browser("fill", f"#slider-{name}", "5")
        changed = browser.answer(before)
        assert changed["adapting"]["logits"] != clean, name
        assert changed["frozen"]["logits"] != changed["adapting"]["logits"], name
        before = browser.count()
        browser("click", "#reset")
        assert browser.answer(before)["adapting"]["logits"] == clean, name


DECODE = """(async () => {
  const { readPicture } = await import("./picture.js");
  const bytes = Uint8Array.from(atob("%s"), (letter) => letter.charCodeAt(0));
  const { width, height, data } = await readPicture(new Blob([bytes]), "that");
  return { width, height, data: Array.from(data) };
})()"""


def test_pictures_are_decoded_as_in_python(browser: Browser, url: str, samples: Path) -> None:
    browser.open(url)
    wide = Image.open(samples / "wide.png")
    turned = Image.Exif()
    turned[0x0112] = 6  # orientation: to be turned a quarter
    forms: dict[str, tuple[Image.Image, dict[str, object], int]] = {  # and how many levels may be between
        "png": (wide, {"format": "PNG"}, 0),
        "png with gamma": (wide, {"format": "PNG", "pnginfo": gamma()}, 0),
        "png in grey": (wide.convert("L"), {"format": "PNG"}, 0),
        "png with a palette": (wide.quantize(50), {"format": "PNG"}, 0),
        "bmp": (wide, {"format": "BMP"}, 0),
        "webp": (wide, {"format": "WEBP", "lossless": True}, 0),
        "jpeg": (wide, {"format": "JPEG", "quality": 85}, 3),
        "jpeg that is turned": (wide, {"format": "JPEG", "subsampling": 0, "exif": turned}, 3),
    }
    for name, (image, options, levels) in forms.items():
        file = BytesIO()
        image.save(file, **options)  # type: ignore[arg-type] # options of any format
        found = browser("evaluate", DECODE % b64encode(file.getvalue()).decode())
        wanted = decode_image(file.getvalue(), name)
        assert (found["height"], found["width"]) == wanted.shape[:2], name
        apart = np.abs(np.array(found["data"]) - wanted.ravel().astype(int)).max()
        assert apart <= levels, f"{name}: {apart}"


def gamma() -> PngImagePlugin.PngInfo:
    """Return what a program writes into a PNG that wants it shown darker; its bytes are the same."""
    info = PngImagePlugin.PngInfo()
    info.add(b"gAMA", (100_000).to_bytes(4, "big"))
    return info


def test_the_camera_is_answered_until_it_is_stopped(browser: Browser, url: str) -> None:
    browser.open(url, permissions=["camera"])
    before = browser.count()
    browser("click", "#camera")
    browser.answer(before + 4)
    shown = browser("evaluate", "new Set(window.answers.slice(-5).map(a => String(a.adapting.logits))).size")
    assert shown > 1  # frames differ
    browser("click", "#camera")
    browser("waitForTimeout", 300)
    stopped = browser.count()
    browser("waitForTimeout", 300)
    assert browser.count() == stopped
    assert browser("getAttribute", "#camera", "aria-pressed") == "false"
    assert_asked_nobody(browser, url)


def test_the_page_is_used_by_keyboard_alone(browser: Browser, url: str) -> None:
    browser.open(url)
    browser.answer()
    reached = []
    for _ in range(18):
        browser("press", "Tab")
        reached.append(browser("evaluate", "document.activeElement.id || document.activeElement.title"))
    assert {"open-model", "open-picture", "camera", "fitting", "slider-noise", "reset"} <= set(reached)
    browser("focus", "#slider-noise")
    before = browser.count()
    browser("press", "End")
    browser.answer(before)
    assert browser("inputValue", "#slider-noise") == "5"
    unnamed = (
        "[...document.querySelectorAll('input, button')].filter(e => !(e.labels?.length || e.textContent || "
    )
    assert browser("evaluate", unnamed + "e.querySelector('img')?.alt)).map(e => e.outerHTML)") == []


def test_nothing_is_cut_off_at_the_width_of_a_phone(browser: Browser, url: str) -> None:
    browser.open(url, viewport={"width": 375, "height": 700}, hasTouch=True)
    browser.answer()
    assert browser("evaluate", "document.documentElement.scrollWidth") <= 375
    wide = "[...document.querySelectorAll('main *')].filter(e => !e.closest('.samples') && "
    assert browser("evaluate", wide + "e.getBoundingClientRect().right > 375).map(e => e.outerHTML)") == []


@pytest.mark.slow
def test_a_wrong_file_is_told_and_the_page_goes_on(browser: Browser, url: str, tmp_path: Path) -> None:
    browser.open(url)
    browser.answer()
    (tmp_path / "bad.onnx").write_bytes(FILE.read_bytes()[:5000])
    (tmp_path / "bad.png").write_bytes(b"no picture")
    for field, name in (("#open-model", "bad.onnx"), ("#open-picture", "bad.png")):
        browser("setInputFiles", field, str(tmp_path / name))
        browser("until", f"document.querySelector('#status.error')?.textContent.includes('{name}')")
    assert_answers_as_python_does(browser, FILE, picture(tmp_path / "good.png", 20, 20))


def test_of_a_file_that_is_not_for_images_the_page_shows_what_is_in_it(
    browser: Browser, tmp_path: Path
) -> None:
    with serving(artifact(tmp_path / "motion.onnx", normalized=False)) as url:
        browser.open(url)
        browser("until", "document.querySelector('#status').textContent.includes('for images')")
        assert not browser("isVisible", "#main")
        assert "tensor" in browser("textContent", "#facts dl")


@pytest.mark.slow
def test_another_model_is_opened_in_place_of_the_first(browser: Browser, url: str, samples: Path) -> None:
    browser.open(url)
    browser.answer()
    other = next(path for path in GOLDEN if path.stem == "format1_fused")
    before = browser.count()
    browser("setInputFiles", "#open-model", str(other))
    browser.answer(before)
    assert_answers_as_python_does(browser, other, samples / "wide.png")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("resnet18", ("--gate", "paper")),
        ("resnet18", ("--gate", "paper", "--portable")),
        ("resnet18", ("--gate", "filter")),
        ("mobilenet_v2", ("--gate", "paper")),
    ],
)
def test_the_networks_of_the_paper_run(
    browser: Browser, run: Run, name: str, how: tuple[str, ...], sample: Path, tmp_path: Path
) -> None:
    model = tmp_path / f"{name}.onnx"
    assert run("convert", name, "--calibration", sample, "-o", model, *how).returncode == 0
    images = np.load(sample)["x_test"]
    with serving(model) as url:
        browser.open(url)
        assert "passed" in browser("textContent", "#facts dl")
        for number in range(5):
            write_png(tmp_path / "some.png", images[number])
            assert_answers_as_python_does(browser, model, tmp_path / "some.png")
        before = browser.count()
        browser("fill", "#slider-fog", "5")
        assert browser.answer(before)["frozen"]["logits"] != browser.answer()["adapting"]["logits"]
        assert_asked_nobody(browser, url)
