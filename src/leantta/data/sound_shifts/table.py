"""Every shift of sound, with its strengths."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from leantta.data.sound_shifts.device import clipping, gain, low_bit_rate, phone
from leantta.data.sound_shifts.noise import background, wind
from leantta.data.sound_shifts.room import reverberation
from leantta.data.sound_shifts.scene import Exact, Scene

Level = Callable[[Exact, Scene], Exact]
"""One shift at one severity."""


@dataclass(frozen=True)
class SoundShift:
    """A way to change a recording, at the severities 1 to 5."""

    levels: tuple[Level, Level, Level, Level, Level]
    random: bool = True  # False: the seed changes nothing
    needs_backgrounds: bool = False


SOUND_SHIFTS: Mapping[str, SoundShift] = {
    "background": SoundShift(
        (
            partial(background, snr_db=20),
            partial(background, snr_db=12),
            partial(background, snr_db=6),
            partial(background, snr_db=0),
            partial(background, snr_db=-6),
        ),
        needs_backgrounds=True,
    ),
    "wind": SoundShift(
        (
            partial(wind, snr_db=12),
            partial(wind, snr_db=6),
            partial(wind, snr_db=0),
            partial(wind, snr_db=-6),
            partial(wind, snr_db=-12),
        )
    ),
    "reverberation": SoundShift(
        (
            partial(reverberation, seconds=0.3, wet_db=-12),
            partial(reverberation, seconds=0.5, wet_db=-8),
            partial(reverberation, seconds=0.8, wet_db=-4),
            partial(reverberation, seconds=1.2, wet_db=0),
            partial(reverberation, seconds=1.5, wet_db=4),
        )
    ),
    "phone": SoundShift(
        (
            partial(phone, low_hz=100, high_hz=8000),
            partial(phone, low_hz=150, high_hz=6000),
            partial(phone, low_hz=200, high_hz=5000),
            partial(phone, low_hz=300, high_hz=3400),
            partial(phone, low_hz=400, high_hz=2500),
        ),
        random=False,
    ),
    "clipping": SoundShift(
        (
            partial(clipping, kept=0.5),
            partial(clipping, kept=0.25),
            partial(clipping, kept=0.12),
            partial(clipping, kept=0.06),
            partial(clipping, kept=0.03),
        ),
        random=False,
    ),
    "gain": SoundShift(
        (
            partial(gain, attenuation_db=15),
            partial(gain, attenuation_db=25),
            partial(gain, attenuation_db=35),
            partial(gain, attenuation_db=45),
            partial(gain, attenuation_db=55),
        )
    ),
    "low_bit_rate": SoundShift(
        (
            partial(low_bit_rate, bits=7),
            partial(low_bit_rate, bits=6),
            partial(low_bit_rate, bits=5),
            partial(low_bit_rate, bits=4),
            partial(low_bit_rate, bits=3),
        ),
        random=False,
    ),
}
