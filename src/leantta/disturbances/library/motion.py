"""Disturbances of motion sensors: windows (n, channels, samples) of accelerations and turning rates.

Windows of nine channels are those of `data.windows`, in g and rad/s. Their body's acceleration is the total
one without gravity: it changes as the total one does, but for what is constant over the window. Of any other
number of channels each is taken for a sensor's axis, and the size of the window's values for its unit.
"""

import math
from collections.abc import Callable
from functools import wraps

import torch
from torch import Generator, Tensor

from leantta.data.windows import BODY, CHANNELS, GYRO, TOTAL
from leantta.disturbances.library.disturbance import Change, Disturbance, Library
from leantta.disturbances.library.draws import (
    beside,
    box_weights,
    counted,
    line_weights,
    lost_in_bursts,
    normal,
    signs,
    smooth_curves,
    uniform,
)

ACCELERATION, TURNING = 0.3, 0.6
"""The deviation in g and in rad/s of the strongest noise, a little more than that of the tests."""

OF_VALUES = 0.5
"""The same for sensors that we do not know, in proportion to the root mean square of a window."""

SensorChange = Callable[[Tensor, Tensor, Tensor, Generator], Tensor]
"""A `Change` of what sensors measured, told second what is strong noise there: (channels, 1) or (n, 1, 1)."""


def _as_sensors(change: SensorChange) -> Change:
    """Return a change of windows, from one of what sensors measure."""

    @wraps(change)
    def changed(windows: Tensor, strengths: Tensor, random: Generator) -> Tensor:
        if windows.shape[1] != CHANNELS:
            scale = OF_VALUES * windows.square().mean((1, 2), keepdim=True).sqrt()
            return change(windows, scale, strengths, random)
        scale = windows.new_tensor([TURNING] * 3 + [ACCELERATION] * 3)[:, None]
        measured = torch.cat((windows[:, GYRO], windows[:, TOTAL]), 1)
        after = change(measured, scale, strengths, random)
        moved = (after - measured)[:, 3:]
        body = windows[:, BODY] + moved - moved.mean(2, keepdim=True)
        return torch.cat((body, after), 1)

    return changed


@_as_sensors
def rumble(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add noise that is smooth over a few samples."""
    widths = 2 + uniform(x, random) * x.shape[2] / 8
    noise = normal(x, random, *x.shape[1:]) @ box_weights(widths, x.shape[2]).transpose(1, 2)
    noise = noise / noise.square().mean(2, keepdim=True).sqrt()
    return x + beside(strengths, x) * scale * noise


@_as_sensors
def spikes(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add high single values to up to a tenth of the samples, in each channel others."""
    hit = uniform(x, random, *x.shape[1:]) < 0.1 * beside(strengths, x)
    height = signs(x, random, *x.shape[1:]) * (3 + 6 * uniform(x, random, *x.shape[1:]))
    return x + hit * beside(strengths, x) * scale * height


@_as_sensors
def vibration(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add a quick sine, as of an engine, of another size and phase in each channel."""
    cycles = 0.08 + 0.37 * uniform(x, random, 1, 1)  # in a sample
    phase = uniform(x, random, x.shape[1], 1)
    sine = torch.sin(2 * math.pi * (cycles * counted(x, x.shape[2]) + phase))
    return x + beside(1.5 * strengths, x) * scale * normal(x, random, x.shape[1], 1) * sine


@_as_sensors
def sway(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add an offset that swings slowly around zero."""
    cycles = 0.4 + 1.6 * uniform(x, random, 1, 1)  # in a window
    phase = uniform(x, random, x.shape[1], 1)
    sine = torch.sin(2 * math.pi * (cycles * counted(x, x.shape[2]) / x.shape[2] + phase))
    return x + beside(1.5 * strengths, x) * scale * normal(x, random, x.shape[1], 1) * sine


@_as_sensors
def zero_error(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Add a constant to one axis of each sensor."""
    size = normal(x, random, x.shape[1], 1) * _one_axis(x, random)
    return x + beside(2 * strengths, x) * scale * size


@_as_sensors
def leakage(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Let a part of each axis of a sensor appear in its other axes."""
    del scale
    sensors = _by_sensor(x)
    count, axes = sensors.shape[1:3]
    part = beside(0.6 * strengths, sensors) * normal(x, random, count, axes, axes)
    apart = 1 - torch.eye(axes, dtype=x.dtype, device=x.device)
    return (sensors + part * apart @ sensors).reshape(x.shape)


@_as_sensors
def weak_axis(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Let one axis of each sensor read less, down to a tenth."""
    del scale
    return x * (1 - 0.9 * beside(strengths, x) * _one_axis(x, random))


@_as_sensors
def loose(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Let all sensors swing to and fro together, as a phone in a wide pocket, by up to 60 degrees."""
    del scale
    sensors = _by_sensor(x)
    axes = sensors.shape[2]
    first, second = normal(x, random, 2, 1, axes, 1).unbind(1)  # the plane of turning, (n, 1, axes, 1)
    first = first / first.norm(dim=2, keepdim=True)
    second = second - (second * first).sum(2, keepdim=True) * first
    second = second / second.norm(dim=2, keepdim=True).clamp_min(1e-6)
    cycles, phase = 0.5 + 3 * uniform(x, random, 1, 1, 1), uniform(x, random, 1, 1, 1)
    swing = torch.sin(2 * math.pi * (cycles * counted(x, x.shape[2]) / x.shape[2] + phase))
    angle = beside(math.pi / 3 * strengths, sensors) * swing  # (n, 1, 1, samples)
    along, across = ((each * sensors).sum(2, keepdim=True) for each in (first, second))
    less, turned = torch.cos(angle) - 1, torch.sin(angle)
    moved: Tensor = first * (less * along - turned * across) + second * (turned * along + less * across)
    return (sensors + moved).reshape(x.shape)


@_as_sensors
def vigour(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Let movement be up to twice or half as strong, while what is constant stays."""
    del scale
    factor = torch.exp(beside(math.log(2) * strengths * signs(x, random), x))
    middle = x.mean(2, keepdim=True)
    return middle + factor * (x - middle)


@_as_sensors
def wrong_range(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Read up to twice or half as much on all axes of a sensor."""
    del scale
    sensors = _by_sensor(x)
    side = signs(x, random, sensors.shape[1], 1, 1)
    return (sensors * torch.exp(beside(math.log(2) * strengths, sensors) * side)).reshape(x.shape)


@_as_sensors
def saturation(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Cut off what exceeds a part of the largest value of a sensor."""
    del scale
    sensors = _by_sensor(x)
    kept = 1 - beside(strengths, sensors) * (0.6 + 0.3 * uniform(x, random, sensors.shape[1], 1, 1))
    most = kept * sensors.abs().amax((2, 3), keepdim=True)
    return torch.minimum(torch.maximum(sensors, -most), most).reshape(x.shape)


@_as_sensors
def few_steps(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Round to coarse steps, which begin anywhere."""
    step = (1e-4 + 3 * beside(strengths, x)) * scale.clamp_min(torch.finfo(x.dtype).eps)
    start = uniform(x, random, x.shape[1], 1) - 0.5
    return (torch.round(x / step + start) - start) * step


@_as_sensors
def smoothing(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Average over up to a sixth of the window, as a slow sensor does."""
    del scale
    widths = 1 + strengths * (0.5 + 0.5 * uniform(x, random)) * x.shape[2] / 6
    return x @ box_weights(widths, x.shape[2]).transpose(1, 2)


@_as_sensors
def clock_jitter(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Let time run too fast and too slowly in turn."""
    del scale
    size = x.shape[2]
    late = 0.06 * size * strengths[:, None] * smooth_curves(x, random, size, waves=4)  # (n, size)
    return x @ line_weights(counted(x, size) + late).transpose(1, 2)


@_as_sensors
def stuck(x: Tensor, scale: Tensor, strengths: Tensor, random: Generator) -> Tensor:
    """Lose up to 70 % of the samples, in bursts; the last value before remains."""
    del scale
    size = x.shape[2]
    lost = lost_in_bursts(x, random, 0.7 * strengths, size)  # (n, size)
    last = torch.where(lost, 0, torch.arange(size, device=x.device)).cummax(1).values
    return x.gather(2, last[:, None].expand(-1, x.shape[1], -1))


def _by_sensor(x: Tensor) -> Tensor:
    """Return the channels of each sensor, three or all: (n, sensors, axes, samples)."""
    axes = 3 if x.shape[1] % 3 == 0 else x.shape[1]
    return x.reshape(len(x), x.shape[1] // axes, axes, x.shape[2])


def _one_axis(x: Tensor, random: Generator) -> Tensor:
    """Draw an axis of each sensor: 1 there and 0 elsewhere, (n, channels, 1)."""
    drawn = uniform(x, random, x.shape[1])
    sensors = _by_sensor(drawn[..., None])
    return (sensors == sensors.amax(2, keepdim=True)).to(x).reshape(len(x), x.shape[1], 1)


MOTION = Library(
    {
        "rumble": Disturbance("noise", rumble, "noise", "Smooth over several samples, not white."),
        "spikes": Disturbance("noise", spikes, "noise", "Few samples, and much; the others stay."),
        "vibration": Disturbance("noise", vibration, "noise", "One frequency in all channels."),
        "sway": Disturbance("offset", sway, "bias_drift", "Swings to and fro instead of growing steadily."),
        "zero_error": Disturbance("offset", zero_error, "bias_drift", "Constant, and on one axis only."),
        "leakage": Disturbance("axes", leakage, "axis_rotation", "Axes mix without keeping lengths."),
        "weak_axis": Disturbance("axes", weak_axis, "gain", "One axis of each sensor, and only less."),
        "saturation": Disturbance("range", saturation, "gain", "Only large values get smaller."),
        "wrong_range": Disturbance("range", wrong_range, "gain", "All axes of a sensor by one factor."),
        "loose": Disturbance("wear", loose, "axis_rotation", "Turns to and fro; no angle stays."),
        "vigour": Disturbance("wear", vigour, "gain", "Only what moves; gravity stays."),
        "smoothing": Disturbance(
            "time", smoothing, "sampling_rate", "Motion keeps its pace, but loses detail."
        ),
        "clock_jitter": Disturbance(
            "time", clock_jitter, "sampling_rate", "The pace varies, and is right on average."
        ),
        "stuck": Disturbance("loss", stuck, "drop_outs", "The last value remains instead of zero."),
        "few_steps": Disturbance("loss", few_steps, "", "No test rounds values."),
    },
    axes=3,
)
"""Windows of motion before normalization."""
