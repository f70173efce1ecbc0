"""Disturbances of sound: log-mel features ln(b + 1e-8), (n, 1, frames, bands), as `data.logmel` makes them.

Bands b are amplitudes. Sounds that meet add their powers b^2, so that is what most changes act on. The front
end divides a clip by its largest value; where a change makes it louder or quieter, the loudest frame is
therefore brought back to its old level. Silence stays silence, but for `faint`, which adds the noise of a
recorder.
"""

import math

import torch
from torch import Generator, Tensor

from leantta.data.logmel import FLOOR, HIGHEST_HZ, HOP, LOWEST_HZ, SAMPLE_RATE, hz_to_mel, mel_to_hz
from leantta.disturbances.library.disturbance import Disturbance, Library
from leantta.disturbances.library.draws import (
    beside,
    counted,
    line_weights,
    lost_in_bursts,
    normal,
    signs,
    smooth_curves,
    uniform,
)

LOUDEST = 16.0
"""The power of the strongest noise over that of the clip: 12 dB."""

RECORDER = 2e-5
"""The amplitude in each band of a recorder's white noise 70 dB below full scale."""

DECADES = 5.0
"""Noise at strength 1 has so many powers of ten more power than at a strength just above 0."""


def hiss(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add steady noise of a smooth random spectrum."""
    frames, bands = x.shape[2:]
    spectrum = _decibels(8 * smooth_curves(x, random, bands, waves=5))  # (n, bands)
    noise = spectrum[:, None, None] * _flicker(x, random, frames, bands)
    return _with_noise(x, noise, strengths)


def hum(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add three steady tones, more often low ones."""
    bands = x.shape[3]
    centres = bands * uniform(x, random, 3, 1) ** 2
    tones = torch.exp(-2 * (counted(x, bands) - centres) ** 2) * uniform(x, random, 3, 1)  # (n, 3, bands)
    tones = tones.sum(1) + 1e-9
    return _with_noise(x, tones[:, None, None].expand(-1, 1, x.shape[2], -1), strengths)


def clicks(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add single loud frames, up to a tenth of all, with sound in all bands."""
    frames, bands = x.shape[2:]
    share, drawn = 0.1 * uniform(x, random, 1, 1, 1), uniform(x, random, 1, frames, 1)
    hit = drawn >= torch.minimum(1 - share, drawn.amax(2, keepdim=True))  # at least one
    spectrum = _decibels(4 * smooth_curves(x, random, bands, waves=3))[:, None, None]
    return _with_noise(x, hit * spectrum * _flicker(x, random, frames, bands), strengths)


def muffle(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Weaken bands by up to 50 dB, by a smooth random curve."""
    curve = torch.sigmoid(2 * smooth_curves(x, random, x.shape[3], waves=4))  # (n, bands)
    factor = _decibels(-50 * strengths[:, None] * curve)
    return _levelled(_power(x) * factor[:, None, None], x)


def pitch(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Move everything up or down by up to a fifth of the bands."""
    bands = x.shape[3]
    places = counted(x, bands) + 0.2 * bands * (strengths * signs(x, random))[:, None]
    return x @ line_weights(places)[:, None].transpose(2, 3)


def echo(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add a tail that begins late, dies away slowly and is dull."""
    frames, bands = x.shape[2:]
    seconds = (0.3 + 2 * strengths) * (0.7 + 0.3 * uniform(x, random))
    delay = 1 + torch.floor(4 * uniform(x, random))
    lag = counted(x, frames)[:, None] - counted(x, frames) - delay.view(-1, 1, 1)  # (n, frames, frames)
    left = 10 ** (-6 * (HOP / SAMPLE_RATE) / seconds.view(-1, 1, 1))  # of the power, a frame later
    fading = (1 - left) * left ** lag.clamp_min(0) * (lag >= 0)  # the tail of a frame has the frame's power
    tilt = _decibels(-10 * uniform(x, random, 1) * counted(x, bands) / bands)  # (n, bands)
    before = _power(x)
    tail = fading[:, None] @ before * tilt[:, None, None]
    return _levelled(before + beside(6 * strengths, x) * tail, x)


def comb(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Let a reflection from near by cancel some frequencies and double others."""
    delay = 1e-4 + 4e-4 * uniform(x, random, 1)  # seconds
    share = 0.95 * strengths[:, None]
    factor = 1 + share**2 + 2 * share * torch.cos(2 * math.pi * _centres_hz(x) * delay)  # (n, bands)
    return _levelled(_power(x) * factor[:, None, None], x)


def faint(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Record up to 30 dB too quietly, over the recorder's noise, and leave it so."""
    frames, bands = x.shape[2:]
    slope = _decibels(6 * smooth_curves(x, random, bands, waves=2))[:, None, None]
    noise = RECORDER**2 * beside(strengths**2, x) * slope * _flicker(x, random, frames, bands)
    return _features(_power(x) * beside(_decibels(-30 * strengths), x) + noise)


def flatten(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Bring quiet and loud closer together, or further apart, by a power."""
    exponent = beside(torch.exp(0.5 * strengths * signs(x, random)), x)
    loudest = x.amax((2, 3), keepdim=True)
    return (loudest + (x - loudest) * exponent).clamp_min(math.log(FLOOR))


def swell(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Let the sound become louder and quieter, slowly."""
    course = _decibels(15 * strengths[:, None] * smooth_curves(x, random, x.shape[2], waves=8))  # (n, frames)
    return _levelled(_power(x) * course[:, None, :, None], x)


def dropped_frames(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Lose up to a third of the frames, in bursts; silence or the clip's quietest sound remains."""
    lost = lost_in_bursts(x, random, strengths / 3, x.shape[2])[:, None, :, None]
    silence = math.log(FLOOR)
    left = silence + uniform(x, random, 1, 1, 1) * (x.amin((2, 3), keepdim=True) - silence)
    return torch.where(lost, torch.minimum(x, left), x)


def holes(x: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Weaken up to 40 % of the bands of each frame by up to 50 dB, the quietest first."""
    rank = x.argsort(3).argsort(3)
    lost = math.log(10) / 20 * 50 * strengths * (0.5 + 0.5 * uniform(x, random))  # of ln(b)
    hit = rank < 0.4 * beside(strengths, x) * x.shape[3]
    return torch.where(hit, (x - beside(lost, x)).clamp_min(math.log(FLOOR)), x)


def _power(x: Tensor) -> Tensor:
    return (x.exp() - FLOOR).clamp_min(0) ** 2


def _features(power: Tensor) -> Tensor:
    return (power.sqrt() + FLOOR).log()


def _levelled(power: Tensor, before: Tensor) -> Tensor:
    """Return features of such powers, the loudest frame as loud as in the features `before`."""
    old, new = (each.sum(3, keepdim=True).amax(2, keepdim=True) for each in (_power(before), power))
    return _features(power * torch.where(new > 0, old / new.clamp_min(torch.finfo(new.dtype).tiny), 1.0))


def _with_noise(x: Tensor, noise: Tensor, strengths: Tensor) -> Tensor:
    """Add noise of these powers, its mean in proportion to the clip's by the strength."""
    before = _power(x)
    ratio = before.mean((2, 3), keepdim=True) / noise.mean((2, 3), keepdim=True)
    return _levelled(before + beside(_rising(strengths), x) * ratio * noise, x)


def _rising(strengths: Tensor) -> Tensor:
    """Return powers that grow by `DECADES` with the strength, from 0 to `LOUDEST`."""
    return LOUDEST * torch.expm1(strengths * DECADES * math.log(10)) / (10**DECADES - 1)


def _decibels(level: Tensor) -> Tensor:
    """Return powers of levels in dB."""
    return 10 ** (level / 10)


def _flicker(x: Tensor, random: Generator, frames: int, bands: int) -> Tensor:
    """Draw how the power of noise differs from frame to frame and band to band: (n, 1, frames, bands)."""
    return torch.exp(0.5 * normal(x, random, 1, frames, bands))


def _centres_hz(x: Tensor) -> Tensor:
    """Return the frequency in the middle of each band: (bands,)."""
    lowest, highest = (float(hz_to_mel(torch.tensor(hz).double().numpy())) for hz in (LOWEST_HZ, HIGHEST_HZ))
    corners = torch.linspace(lowest, highest, x.shape[3] + 2, dtype=torch.float64)
    return torch.from_numpy(mel_to_hz(corners.numpy())[1:-1]).to(x)


SOUND = Library(
    {
        "hiss": Disturbance("noise", hiss, "background", "Steady and made up, not a real sound with events."),
        "hum": Disturbance("noise", hum, "wind", "Steady tones instead of broad rumble in gusts."),
        "clicks": Disturbance("noise", clicks, "background", "Single frames in all bands."),
        "muffle": Disturbance("filter", muffle, "phone", "A smooth random curve; no band with steep ends."),
        "pitch": Disturbance("filter", pitch, "", "No test moves frequencies."),
        "echo": Disturbance("room", echo, "reverberation", "Smooth, without single echoes, and later."),
        "comb": Disturbance("room", comb, "reverberation", "One early reflection; nothing lasts longer."),
        "faint": Disturbance("level", faint, "gain", "The clip stays quiet, and the noise is not white."),
        "flatten": Disturbance("level", flatten, "clipping", "A power of the bands; no overtones appear."),
        "swell": Disturbance("level", swell, "gain", "The level moves within the clip, without noise."),
        "dropped_frames": Disturbance("gaps", dropped_frames, "", "No test loses parts of a clip."),
        "holes": Disturbance("gaps", holes, "low_bit_rate", "Quiet bands fade instead of getting noisy."),
    },
    axes=4,
    least=math.log(FLOOR),
)
"""Log-mel features before normalization."""
