"""Whether inputs have drifted away from the training data, seen by their shifts, one after the other.

    monitor = Monitor.of(session.info)
    for image in camera:
        seen = session.predict_one(image)
        event = monitor.see(seen.shift, seen.distances)
        if event is not None:
            print(event)

After each input an exact test (see `leantta.monitor.chance`) asks whether the last ones hold more that
exceed 1 than chance gives: over a short window, which sees a strong drift soon, and over longer ones, which
see a weak one. `false_alarms` is the level of these tests together. So of inputs like the source's on the
average at most that share meets an alarm, however the windows overlap. Inputs that are nearly the same, such
as frames of a camera, count as one: show the monitor one of them.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from leantta.errors import SettingError
from leantta.monitor.chance import chance, least_unusual
from leantta.runtime.metadata import Info

LIMIT = 1.0
"""The shift that 1 % of the source images exceed."""

USUAL_AGAIN = 0.05
"""An alarm ends when the inputs of the window that raised it are as likely as that; all is forgotten then."""

WINDOWS = (25, 100, 400)
MOST_WINDOW = 2000


@dataclass(frozen=True, kw_only=True)
class Event:
    """Drift has begun, or is over."""

    kind: Literal["alarm", "recovery"]
    input: int  # its number, from 1
    shifted: int  # of the last `inputs`
    inputs: int
    chance: float  # of so many or more, if nothing had changed
    moved: Mapping[str, float]  # by layer: its mean distance, as a multiple of what it was while all was well

    def __str__(self) -> str:
        """Return it as a sentence."""
        if self.kind == "recovery":
            return f"recovery at input {self.input}: {self.shifted} of the last {self.inputs} exceed 1"
        layers = ", ".join(f"{name} {times:.1f} x" for name, times in list(self.moved.items())[:3])
        said = (
            f"ALARM at input {self.input}: {self.shifted} of the last {self.inputs} have a shift above 1; "
            f"the chance of that is {self.chance:.0e}"
        )
        return f"{said}; layers: {layers}" if layers else said


class Monitor:
    """Follows one stream of inputs."""

    def __init__(self, *, images: int, windows: Sequence[int] = WINDOWS, false_alarms: float = 1e-4) -> None:
        """Take how many source images set the limit, how many of the last inputs to look at, and the level.

        Raises:
            SettingError: numbers that cannot be.
        """
        if images < 1:
            raise SettingError(f"a limit is set by one source image at least, got {images}")
        if not windows or not all(2 <= window <= MOST_WINDOW for window in windows):
            raise SettingError(f"a window has 2 to {MOST_WINDOW} inputs, got {', '.join(map(str, windows))}")
        if not 0 < false_alarms <= 0.1:
            raise SettingError(
                f"false alarms are a share of the inputs, above 0 and at most 0.1, got {false_alarms}"
            )
        self.images, self.windows, self.false_alarms = images, tuple(sorted(set(windows))), false_alarms
        longest = self.windows[-1]
        self.least = least_unusual(longest, images, false_alarms / len(self.windows))
        if self.least[longest] > longest:
            raise SettingError(
                f"with {images} source images, even {longest} shifted inputs in a row are likelier than "
                f"{false_alarms:g}; look at more inputs at once, or allow more false alarms"
            )
        self.seen = 0
        self._raised: int | None = None  # the window that raised the alarm
        self._last: deque[tuple[bool, Mapping[str, float]]] = deque(maxlen=longest)
        self._calm: dict[str, float] = {}  # sums of distances while all was well
        self._calm_inputs = 0

    @classmethod
    def of(cls, info: Info, *, windows: Sequence[int] = WINDOWS, false_alarms: float = 1e-4) -> "Monitor":
        """Return a monitor for what a model file sees.

        Raises:
            SettingError: nothing adapts in the file, so it measures no shift; or numbers that cannot be.
        """
        if info.shift is None:
            raise SettingError(
                "this file measures no shift, as nothing adapts in it, so it cannot tell drift. Convert the "
                "model with --adapt half."
            )
        return cls(images=info.shift.images, windows=windows, false_alarms=false_alarms)

    @property
    def alarmed(self) -> bool:
        """Whether there is an alarm."""
        return self._raised is not None

    def see(self, shift: float, distances: Mapping[str, float] | None = None) -> Event | None:
        """Take the next input's shift, and its distance by layer; return what has begun or ended with it.

        A shift that is not a number counts as shifted.
        """
        self.seen += 1
        above = not shift <= LIMIT
        self._last.append((above, distances or {}))
        if not above and not self.alarmed and distances is not None:
            self._calm_inputs += 1
            for name, value in distances.items():
                self._calm[name] = self._calm.get(name, 0.0) + value
        if self._raised is not None:
            shifted, inputs = self._count(self._raised)
            if chance(shifted, inputs, self.images) <= USUAL_AGAIN:
                return None
            event = self._event("recovery", self._raised)
            self._raised = None
            self._last.clear()
            return event
        if above:
            for window in self.windows:
                shifted, inputs = self._count(window)
                if shifted >= self.least[inputs]:
                    self._raised = window
                    return self._event("alarm", window)
        return None

    def reset(self) -> None:
        """Forget all inputs."""
        self.seen, self._calm_inputs, self._raised = 0, 0, None
        self._last.clear()
        self._calm.clear()

    def _count(self, window: int) -> tuple[int, int]:
        """Return how many of the last inputs of a window exceed 1, and how many there are."""
        inputs = min(window, len(self._last))
        return sum(above for above, _ in islice(reversed(self._last), inputs)), inputs

    def _event(self, kind: Literal["alarm", "recovery"], window: int) -> Event:
        shifted, inputs = self._count(window)
        return Event(
            kind=kind,
            input=self.seen,
            shifted=shifted,
            inputs=inputs,
            chance=chance(shifted, inputs, self.images),
            moved=self._moved(inputs),
        )

    def _moved(self, inputs: int) -> dict[str, float]:
        """Return by layer how far the shifted ones among the last inputs are, the most moved first."""
        shifted = [distances for above, distances in islice(reversed(self._last), inputs) if above]
        if not shifted or not self._calm_inputs:
            return {}
        ratios = {}
        for name, total in self._calm.items():
            calm, now = total / self._calm_inputs, sum(each.get(name, 0.0) for each in shifted) / len(shifted)
            ratios[name] = now / max(calm, 1e-12)
        return dict(sorted(ratios.items(), key=lambda pair: -pair[1]))
