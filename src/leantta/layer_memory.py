"""What one layer remembers of a stream; see `leantta.memory`."""

import torch
from torch import Tensor

from leantta.functional import Filter, Reading, Remembered, filtered_in_stream
from leantta.memory import StreamMemory


class LayerMemory:
    """What one layer remembers; inputs are taken one after the other, also within a batch."""

    def __init__(self, memory: StreamMemory) -> None:
        self.memory = memory
        self.state: Remembered | None = None

    def forget(self) -> None:
        """Return to the state of a layer that has seen nothing."""
        self.state = None

    def follow(self, seen: Tensor, parts: Filter, *, shrink: float) -> tuple[Tensor, Reading]:
        """Take in the features (n, 2c) of a batch, and return the answer to each input and what was seen."""
        state, answers, readings = self.state, [], []
        if state is None:
            nothing = seen.new_zeros(1, 1)
            state = Remembered(seen.new_zeros(1, len(parts.weight)), nothing, nothing)
        for row in seen.split(1):
            answer, reading, state = filtered_in_stream(
                row, parts, state, shrink=shrink, length=self.memory.length
            )
            answers.append(answer)
            readings.append(reading)
        self.state = state
        if not answers:
            return seen, Reading(*(seen.new_zeros(0, 1) for _ in Reading._fields))
        return torch.cat(answers), Reading(*(torch.cat(column) for column in zip(*readings, strict=True)))
