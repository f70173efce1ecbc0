"""What a person sees of a training: a bar with the remaining time, loss and accuracy smoothed."""

from leantta.progress import Bar
from leantta.training.loop import Step

SMOOTHING = 0.02


class Shown:
    """Draws the steps of a training on a bar."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.name = bar.label
        self.loss = self.accuracy = float("nan")
        self.first: int | None = None

    def __call__(self, step: Step) -> None:
        """Show one more step; what was done before a stop does not count for the remaining time."""
        if self.first is None:
            self.first, self.loss, self.accuracy = step.done - 1, step.loss, step.accuracy
        self.loss += SMOOTHING * (step.loss - self.loss)
        self.accuracy += SMOOTHING * (step.accuracy - self.accuracy)
        self.bar.label = (
            f"{self.name} epoch {step.epoch + 1} loss {self.loss:.3f} accuracy {100 * self.accuracy:.1f} %"
        )
        self.bar(step.done - self.first, step.total - self.first)
