"""Contract of every disturbance that we fit on, over all libraries; how they are mixed; a user's own."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Generator, Tensor
from torch.nn.functional import interpolate

from leantta.data.logmel import FLOOR, FRAMES, SAMPLE_RATE, log_mel
from leantta.data.windows import BODY, GYRO, TOTAL
from leantta.disturbances.corruptions.names import NAMES
from leantta.disturbances.library.camera import CAMERA
from leantta.disturbances.library.disturbance import (
    Change,
    Disturbance,
    Library,
    disturbed,
    library_with,
    mixed,
)
from leantta.disturbances.library.draws import smooth_curves
from leantta.disturbances.library.motion import MOTION
from leantta.disturbances.library.sound import SOUND
from leantta.disturbances.library.tables import LIBRARIES, described
from leantta.disturbances.motion import MOTION_SHIFTS
from leantta.disturbances.sound import SOUND_SHIFTS
from leantta.errors import DataError, SettingError
from leantta.modalities.kinds import MODALITIES
from leantta_lab.datasets.cifar import load_images
from leantta_lab.samples import CIFAR10_SAMPLE
from motion_files import made_up

PAGE = Path(__file__).resolve().parents[2] / "docs" / "disturbances.md"
ENTRIES = [(modality, name) for modality, library in LIBRARIES.items() for name in library]
TESTED = {"image": set(NAMES), "motion": set(MOTION_SHIFTS), "sound": set(SOUND_SHIFTS)}
COUNT = 24

each_entry = pytest.mark.parametrize(("modality", "name"), ENTRIES)


def dice(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def clips() -> Tensor:
    """Return features of made-up calls over a little noise, each with another pitch and rhythm."""
    time = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE
    noise = np.random.default_rng(0).normal(0, 0.003, time.size)
    waves = [
        np.sin(2 * np.pi * (1000 + 200 * i + 300 * np.sin(9 * time)) * time) * (np.sin((4 + i) * time) > 0.3)
        for i in range(COUNT)
    ]
    return torch.from_numpy(np.stack([log_mel(wave + noise, frames=70)[None] for wave in waves]))


def images() -> Tensor:
    pixels = load_images(CIFAR10_SAMPLE).samples[:COUNT]
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255


@pytest.fixture(scope="module")
def samples() -> dict[str, Tensor]:
    windows = torch.from_numpy(made_up(np.arange(COUNT) % 6))
    return {"image": images(), "motion": windows, "sound": clips()}


def of_strength(samples: Tensor, modality: str, name: str, strength: float, seed: int = 0) -> Tensor:
    strengths = torch.full((len(samples),), strength)
    return disturbed(samples, LIBRARIES[modality], name, strengths, dice(seed))


def test_there_is_a_library_for_every_modality():
    assert set(LIBRARIES) == set(MODALITIES)


@each_entry
def test_no_disturbance_is_one_of_the_tests_and_the_nearest_is(modality, name):
    entry = LIBRARIES[modality][name]
    assert name not in TESTED[modality]
    assert entry.nearest in {"", *TESTED[modality]}
    assert entry.difference
    assert entry.change.__doc__


@each_entry
def test_shape_type_and_range_are_kept_and_the_seed_decides(modality, name, samples):
    given = samples[modality]
    before, strengths = given.clone(), torch.linspace(0, 1, COUNT)
    library = LIBRARIES[modality]
    answer = disturbed(given, library, name, strengths, dice())
    assert (answer.shape, answer.dtype) == (given.shape, given.dtype)
    assert torch.equal(given, before)
    assert answer.isfinite().all()
    assert library.least is None or answer.min() >= library.least
    assert library.most is None or answer.max() <= library.most
    assert torch.equal(answer, disturbed(given, library, name, strengths, dice()))
    exact = disturbed(given.double(), library, name, strengths, dice())
    assert exact.dtype == torch.float64


@each_entry
def test_nothing_at_strength_0_and_more_with_each_further_step(modality, name, samples):
    given = samples[modality]
    steps = (0.0, 0.1, 0.3, 0.6, 1.0)
    changes = [float((of_strength(given, modality, name, step) - given).abs().mean()) for step in steps]
    assert changes == sorted(changes)
    assert changes[0] < 0.01 * float(given.std()) + (0.008 if name == "few_levels" else 0)  # 32 levels
    assert changes[-1] > 0.1 * float(given.std())


@each_entry
def test_a_sample_is_changed_by_its_own_strength_whatever_the_others_are(modality, name, samples):
    given = samples[modality]
    strengths = torch.linspace(0, 1, COUNT)
    library = LIBRARIES[modality]
    together = disturbed(given, library, name, strengths, dice())
    others, other_strengths = given.flip(0).clone(), strengths.flip(0).clone()
    others[5], other_strengths[5] = given[5], strengths[5]
    assert torch.equal(disturbed(others, library, name, other_strengths, dice())[5], together[5])


@each_entry
def test_one_by_one_is_the_same_where_nothing_is_drawn(modality, name, samples):
    given = samples[modality][:4]
    strengths = torch.tensor([0.2, 0.5, 0.7, 1.0])
    library = LIBRARIES[modality]
    together = disturbed(given, library, name, strengths, dice())
    random = dice()
    state = random.get_state()
    alone = [disturbed(given[i : i + 1], library, name, strengths[i : i + 1], random) for i in range(4)]
    if torch.equal(random.get_state(), state):
        torch.testing.assert_close(torch.cat(alone), together, rtol=0, atol=1e-5)
    else:
        assert not torch.equal(disturbed(given, library, name, strengths, dice(1)), together)


@each_entry
def test_a_batch_of_none_stays_one(modality, name, samples):
    none = samples[modality][:0]
    assert of_strength(none, modality, name, 0.5).shape == none.shape


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [16, 32, 96, 224])
@pytest.mark.parametrize("name", CAMERA)
def test_images_of_every_size(name, side, channels):
    image = interpolate(images()[:1, :channels], side, mode="bilinear")
    answer = of_strength(image, "image", name, 1.0)
    assert answer.shape == image.shape
    assert torch.equal(answer, image) is (name == "fade" and channels == 1)  # no colour to lose


@pytest.mark.parametrize("name", CAMERA)
def test_images_that_are_not_square(name):
    image = images()[:2, :, :21, :30]
    assert of_strength(image, "image", name, 0.7).shape == image.shape


@pytest.mark.parametrize("name", ["grain", "banding", "dead_pixels"])
def test_noise_grows_with_the_image(name):
    small = images()
    large = interpolate(small, 224, mode="bilinear")
    changes = [(of_strength(each, "image", name, 0.5) - each).square().mean() for each in (small, large)]
    assert changes[1] > 1.2 * changes[0]


@pytest.mark.parametrize("name", ["box_blur", "coarse"])
def test_blur_grows_with_the_image(name):
    left = [
        of_strength(torch.rand((8, 1, side, side), generator=dice()), "image", name, 0.5).std()
        for side in (32, 224)
    ]
    assert left[1] < 0.6 * left[0]


@pytest.mark.parametrize("shape", [(FRAMES, 64), (119, 64), (1, 64), (30, 40)])
@pytest.mark.parametrize("name", SOUND)
def test_clips_of_every_length_and_silence(name, shape):
    silence = torch.full((2, 1, *shape), float(np.log(FLOOR)))
    answer = of_strength(silence, "sound", name, 1.0)
    assert answer.isfinite().all()
    assert name == "faint" or torch.allclose(answer, silence, atol=1e-3)
    noise = silence + 10 + smooth_curves(silence, dice(), shape[1], waves=3)[:, None, None]
    assert of_strength(noise, "sound", name, 1.0).shape == noise.shape


@pytest.mark.parametrize("name", ["hiss", "hum", "clicks", "muffle", "echo", "comb", "swell"])
def test_the_loudest_frame_keeps_its_level(name, samples):
    given = samples["sound"]
    answer = of_strength(given, "sound", name, 0.8)
    loudest = [(2 * each).exp().sum(3).amax(2).log() for each in (given, answer)]
    torch.testing.assert_close(loudest[1], loudest[0], rtol=0, atol=1e-2)


@pytest.mark.parametrize("name", ["clock_jitter", "smoothing", "pitch"])
def test_reading_elsewhere_leaves_what_is_the_same_everywhere(name):
    modality = "sound" if name in SOUND else "motion"
    even = torch.full((3, 1, 20, 64) if modality == "sound" else (3, 9, 128), -3.0)
    torch.testing.assert_close(of_strength(even, modality, name, 1.0), even, rtol=0, atol=1e-5)


@pytest.mark.parametrize("channels", [1, 3, 6, 9, 4])
@pytest.mark.parametrize("name", MOTION)
def test_windows_of_any_number_of_channels(name, channels):
    windows = torch.from_numpy(made_up(np.arange(6)))[:, 9 - channels :, :100]
    answer = of_strength(windows, "motion", name, 1.0)
    assert answer.shape == windows.shape
    alone = name == "leakage" and channels == 1  # there is no other axis
    assert torch.equal(answer, windows) is alone
    assert of_strength(torch.zeros_like(windows), "motion", name, 1.0).isfinite().all()


@pytest.mark.parametrize("name", MOTION)
def test_both_accelerations_change_alike_but_for_what_is_constant(name, samples):
    moved = of_strength(samples["motion"], "motion", name, 1.0) - samples["motion"]
    total = moved[:, TOTAL] - moved[:, TOTAL].mean(2, keepdim=True)
    torch.testing.assert_close(moved[:, BODY], total, rtol=0, atol=1e-5)
    assert moved[:, GYRO].abs().max() > 0


def test_stuck_samples_repeat_the_one_before(samples):
    answer = of_strength(samples["motion"], "motion", "stuck", 1.0)
    repeats = (answer[:, TOTAL].diff(dim=2) == 0).all(1).float().mean()
    assert 0.6 < repeats < 0.75


def test_a_loose_phone_keeps_the_lengths_that_its_sensors_measure(samples):
    answer = of_strength(samples["motion"], "motion", "loose", 1.0)
    for sensor in (GYRO, TOTAL):
        before, after = (each[:, sensor] for each in (samples["motion"], answer))
        torch.testing.assert_close(after.norm(dim=1), before.norm(dim=1), rtol=0, atol=1e-4)
    along = torch.nn.functional.cosine_similarity(answer[:, TOTAL], samples["motion"][:, TOTAL], dim=1)
    assert 0.49 < along.min() < 0.8  # 60 degrees at most, and near to that somewhere


def test_vigour_moves_no_mean(samples):
    moved = of_strength(samples["motion"], "motion", "vigour", 1.0) - samples["motion"]
    torch.testing.assert_close(moved.mean(2), torch.zeros(moved.shape[:2]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["zero_error", "weak_axis"])
def test_one_axis_of_each_sensor_changes(name, samples):
    moved = of_strength(samples["motion"], "motion", name, 1.0) - samples["motion"]
    for sensor in (GYRO, TOTAL):
        changed = moved[:, sensor].abs().amax(2) > 0
        assert (changed.sum(1) == 1).all()
        assert len(changed.int().argmax(1).unique()) == 3  # each of the three axes for some window


def test_a_wrong_range_is_one_factor_for_a_sensor(samples):
    answer = of_strength(samples["motion"], "motion", "wrong_range", 1.0)
    for sensor in (GYRO, TOTAL):
        before, after = (each[:, sensor].flatten(1) for each in (samples["motion"], answer))
        twice = ((after - 2 * before).abs() < 1e-4).all(1)
        half = ((after - before / 2).abs() < 1e-4).all(1)
        assert (twice ^ half).all()
        assert 0 < twice.sum() < COUNT


def test_holes_weaken_the_quietest_bands_by_50_db_at_most(samples):
    before, after = samples["sound"], of_strength(samples["sound"], "sound", "holes", 1.0)
    hit = after < before
    assert 0.3 < hit.float().mean() <= 0.41
    assert (torch.where(hit, before, -torch.inf).amax(3) <= torch.where(hit, torch.inf, before).amin(3)).all()
    lost = 20 / np.log(10) * (before - after).amax((1, 2, 3))
    assert 24.9 < lost.min() < lost.max() < 50.1


def marked(kinds: dict[str, str]) -> Library:
    """Return a library whose disturbance number i adds 10**i + strength / 10, so that a sum tells."""

    def adding(mark: float) -> Change:
        return lambda x, strengths, _: x + mark + strengths[:, None] / 10

    marks = {name: Disturbance(kind, adding(10.0**i)) for i, (name, kind) in enumerate(kinds.items())}
    return Library(marks, axes=2)


def test_kinds_and_their_members_are_drawn_evenly():
    library = marked({"a": "noise", "b": "noise", "c": "blur", "d": "light"})
    drawn, index, second = mixed(torch.zeros(600, 1), library, dice(), second=0.0)
    assert (second == -1).all()
    assert torch.bincount(index).tolist() == [100, 100, 200, 200]
    assert torch.equal(drawn[:, 0].floor(), 10.0**index)
    strengths = 10 * (drawn[:, 0] - 10.0**index)
    assert strengths.min() < 0.05
    assert strengths.max() > 0.95
    assert strengths.mean() == pytest.approx(0.5, abs=0.05)
    first = {int(mixed(torch.zeros(1, 1), library, dice(seed)).disturbance) for seed in range(60)}
    assert first == {0, 1, 2, 3}


def test_a_second_disturbance_is_of_another_kind_and_weaker():
    library = marked({"a": "noise", "b": "noise", "c": "blur", "d": "light"})
    kinds = ["noise", "noise", "blur", "light"]
    drawn, index, then = mixed(torch.zeros(2000, 1), library, dice(), second=0.4)
    rest = drawn[:, 0].double() - 10.0 ** index.double()
    again = rest > 0.9  # the least mark is 1
    assert again.double().mean() == pytest.approx(0.4, abs=0.04)
    second = rest[again].log10().round(decimals=1).floor().long()
    assert torch.equal(then[again], second)
    assert (then[~again] == -1).all()
    pairs = {(kinds[i], kinds[j]) for i, j in zip(index[again].tolist(), second.tolist(), strict=True)}
    assert pairs == {(one, other) for one in kinds for other in kinds if one != other}
    both = 10 * (rest[again] - 10.0**second)
    assert both.max() < 1.5
    assert both.mean() == pytest.approx(0.75, abs=0.05)


def test_only_kinds_that_are_asked_for_are_drawn(samples):
    few = mixed(samples["image"], CAMERA, dice(), kinds=["noise", "warp"], second=1.0)
    assert {list(CAMERA.values())[place].kind for place in few.disturbance.tolist()} == {"noise", "warp"}
    library = marked({"a": "noise", "b": "blur"})
    assert mixed(torch.zeros(9, 1), library, dice(), kinds=["noise"], second=1.0).samples.max() < 2


@pytest.mark.parametrize("modality", LIBRARIES)
def test_a_mixture_depends_on_seed_and_number_and_no_sample_on_another(modality, samples):
    given, library = samples[modality], LIBRARIES[modality]
    first = mixed(given, library, dice(), second=0.5)
    assert first.samples.shape == given.shape
    assert not torch.equal(mixed(given, library, dice(1)).samples, first.samples)
    others = given.flip(0).clone()
    others[7] = given[7]
    again = mixed(others, library, dice(), second=0.5)
    assert torch.equal(again.disturbance, first.disturbance)
    assert torch.equal(again.samples[7], first.samples[7])
    assert mixed(given[:0], library, dice()).samples.shape == given[:0].shape
    assert mixed(given[:1], library, dice()).samples.shape == given[:1].shape


def own(change: object) -> Library:
    return library_with(CAMERA, {"mine": Disturbance("own", change)})  # type: ignore[arg-type] # wrong on purpose


def test_a_user_adds_a_disturbance():
    library = own(lambda x, s, _: x + s.view(-1, 1, 1, 1))
    assert library.kinds == (*CAMERA.kinds, "own")
    assert "mine" not in CAMERA
    answer = disturbed(images(), library, "mine", torch.ones(COUNT), dice())
    assert torch.equal(answer, torch.ones_like(answer))  # kept in the range of the library
    assert torch.equal(mixed(images(), library, dice(), kinds=["own"]).disturbance, torch.full((COUNT,), 18))
    with pytest.raises(SettingError, match="'grain' already"):
        library_with(CAMERA, {"grain": CAMERA["grain"]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x, s, _: x / s.view(-1, 1, 1, 1), "mine returned NaN or infinite"),
        (lambda x, *_: x[:, :1], r"mine must return what it takes.* returned \(24, 1, 32, 32\)"),
        (lambda x, *_: x.double(), "returned .*float64"),
        (lambda x, *_: x.numpy(), "must return a tensor; it returned ndarray"),
    ],
)
def test_a_bad_disturbance_of_a_user_is_refused(change, said):
    with pytest.raises(DataError, match=said):
        disturbed(images(), own(change), "mine", torch.zeros(COUNT), dice())
    with pytest.raises(DataError, match=said.replace("24", r"\d+")):
        mixed(torch.zeros(COUNT, 3, 32, 32), own(lambda x, s, g: change(x, 0 * s, g)), dice(), kinds=["own"])


def test_what_cannot_be_disturbed_is_refused():
    good, half = images(), torch.full((COUNT,), 0.5)
    with pytest.raises(SettingError, match="no disturbance is called 'fog'"):
        disturbed(good, CAMERA, "fog", half, dice())
    with pytest.raises(SettingError, match="one strength for each of 24"):
        disturbed(good, CAMERA, "grain", half[:3], dice())
    for strength in (-0.1, 1.1, float("nan")):
        with pytest.raises(SettingError, match="between 0 and 1"):
            disturbed(good, CAMERA, "grain", half * 0 + strength, dice())
    with pytest.raises(DataError, match=r"go from 0 to 255|between 0"):
        disturbed(good * 255, CAMERA, "grain", half, dice())
    with pytest.raises(DataError, match="float32 or float64 with 4 axes"):
        mixed((good * 255).byte(), CAMERA, dice())
    with pytest.raises(DataError, match="with 4 axes"):
        mixed(good[0], CAMERA, dice())
    with pytest.raises(DataError, match="NaN or infinite"):
        mixed(good * float("nan"), CAMERA, dice())
    with pytest.raises(SettingError, match="of the kind 'sound'; there are light"):
        mixed(good, CAMERA, dice(), kinds=["noise", "sound"])
    with pytest.raises(SettingError, match="none"):
        mixed(good, CAMERA, dice(), kinds=[])
    with pytest.raises(SettingError, match="probability"):
        mixed(good, CAMERA, dice(), second=2.0)


def test_the_page_has_the_tables():
    page = PAGE.read_text()
    for library in LIBRARIES.values():
        assert described(library).markdown() in page
    for _, name in ENTRIES:
        assert re.search(rf"^\| `{name}` \|", page, re.MULTILINE)
