"""Train one model on labelled samples, step by step, so that it can be stopped at any of them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel

from leantta.data.datasets import Dataset, Samples, per_channel
from leantta.data.seeds import derived
from leantta.errors import DataError, SettingError
from leantta.modalities.datasets import dataset_info
from leantta_lab.models.mobilevit import MobileViT
from leantta_lab.training.checkpoint import Moving, Position, load_position, save_position
from leantta_lab.training.recipes import Recipe, optimizer_of, rate_at
from leantta_lab.training.views import VIEWS

SAVE_EVERY = 60.0
"""Seconds between checkpoints."""
TEMPERATURE = 4.0
"""What scores are divided by before teacher and pupil are compared: small ones count then, too."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a training tells after each step."""

    done: int
    total: int
    epoch: int
    loss: float
    accuracy: float  # of this batch, as augmented
    seconds: float  # computed so far, before a stop too


class Training:
    """A model on its way; `run` yields each step, and a file says where it stands."""

    def __init__(
        self,
        model: nn.Module,
        data: Dataset,
        recipe: Recipe,
        *,
        checkpoint: Path,
        key: str,
        bf16: bool,
        teacher: nn.Module | None = None,
    ) -> None:
        """Take the model to train in place, and bring it to where the checkpoint says.

        Raises:
            DataError: fewer samples than a batch.
            SettingError: a recipe that asks for a teacher has none, or the other way round.
            CheckpointError: the checkpoint is damaged or of another training.
        """
        if (recipe.taught > 0) != (teacher is not None):
            given = "no teacher" if teacher is None else "a teacher"
            raise SettingError(f"{given}, and a share of {recipe.taught:g} of the loss that is the teacher's")
        info = dataset_info(data.name)
        if len(data) < recipe.batch_size:
            noun = info.modality.noun
            raise DataError(f"{len(data)} {noun} are less than one batch of {recipe.batch_size}")
        self.model, self.data, self.recipe, self.bf16 = model, data, recipe, bf16
        self.checkpoint, self.key = checkpoint, key
        self.inputs, self.views = info.modality.inputs, VIEWS[info.modality.name]
        self.mean, self.std = info.mean, info.std
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = optimizer_of(model, recipe)
        self.teacher = teacher
        self.average = (
            AveragedModel(model, avg_fn=partial(_moved, keep=recipe.average), use_buffers=True)
            if recipe.average
            else None
        )
        self.moving = Moving(model=model, optimizer=self.optimizer, average=self.average)
        self.steps_per_epoch = len(data) // recipe.batch_size
        self.total = recipe.epochs * self.steps_per_epoch
        self.position = load_position(checkpoint, key, self.moving)

    def run(self) -> Iterator[Step]:
        """Train to the end, yielding after each step.

        Raises:
            SettingError: the loss is no longer a number.
        """
        began = saved = time.monotonic()
        before = self.position.seconds
        self.model.train()
        whole = self.model.least_side if isinstance(self.model, MobileViT) else self.data.samples.shape[1]
        sides = list(self.recipe.sides(whole))
        for step in range(self.position.step, self.total):
            epoch, batch = divmod(step, self.steps_per_epoch)
            loss, accuracy = self._step(step, epoch, batch, sides[epoch])
            now = time.monotonic()
            self.position = Position(step=step + 1, seconds=before + now - began)
            if now - saved > SAVE_EVERY or step + 1 == self.total:
                save_position(self.checkpoint, self.key, self.position, self.moving)
                saved = now
            yield Step(
                done=step + 1,
                total=self.total,
                epoch=epoch,
                loss=loss,
                accuracy=accuracy,
                seconds=self.position.seconds,
            )
        if self.average is not None:  # the average is what a training is for
            self.model.load_state_dict(self.average.module.state_dict())
        self.model.eval()

    def _step(self, step: int, epoch: int, batch: int, side: int) -> tuple[float, float]:
        order = np.random.default_rng(derived(self.recipe.seed, "order", epoch)).permutation(len(self.data))
        chosen = order[batch * self.recipe.batch_size :][: self.recipe.batch_size]
        generator = np.random.default_rng(derived(self.recipe.seed, "views", step))
        views, seen = self.views.make(
            self.data.samples[chosen], self.data.labels[chosen], generator, self.recipe
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.recipe, step / self.total)
        inputs, labels = self._normalized(views), torch.from_numpy(seen)
        if self.recipe.mixup:
            share = float(generator.beta(self.recipe.mixup, self.recipe.mixup))
            other = torch.from_numpy(generator.permutation(len(seen)))  # who is mixed with whom
            inputs = torch.lerp(inputs[other], inputs, share)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            logits = by_class(self.model(sized(self.model, inputs, side)).float())
        loss = self._loss(logits, labels)
        if self.recipe.mixup:
            loss = share * loss + (1 - share) * self._loss(logits, labels[other])
        if self.teacher is not None:
            loss = torch.lerp(loss, self._beside_teacher(inputs, logits), self.recipe.taught)
        if not torch.isfinite(loss):
            raise SettingError(
                f"the loss is {loss.item()} at step {step}: the training has diverged. "
                f"Try a smaller learning rate; {self.checkpoint} has an earlier state."
            )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        return loss.item(), (logits.argmax(1) == labels).float().mean().item()

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits, labels, label_smoothing=self.recipe.label_smoothing)

    def _beside_teacher(self, inputs: Tensor, logits: Tensor) -> Tensor:
        """Return how far the scores are from those of the teacher, which sees the images in full size."""
        assert self.teacher is not None
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            aim = by_class(self.teacher(inputs).float()) / TEMPERATURE
        told = F.log_softmax(logits / TEMPERATURE, dim=1)
        return TEMPERATURE**2 * F.kl_div(told, aim.log_softmax(1), reduction="batchmean", log_target=True)

    def _normalized(self, views: Samples) -> Tensor:
        inputs = torch.from_numpy(self.inputs(views))
        if inputs.dim() == 4:  # channels last in memory, as a model for images likes it
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        mean, std = (torch.from_numpy(per_channel(v, inputs.dim())) for v in (self.mean, self.std))
        return (inputs - mean) / std


def _moved(average: Tensor, value: Tensor, updates: Tensor | int, keep: float) -> Tensor:
    """Return the average after one more value; the first ones count for more, until there are enough."""
    if not value.is_floating_point():  # a counter
        return value
    count = int(updates)
    return torch.lerp(value, average, min(keep, (1 + count) / (10 + count)))


def by_class(scores: Tensor) -> Tensor:
    """Return a score per class: a single one says how much more the second is worth than the first.

    >>> by_class(torch.tensor([[3.0]]))
    tensor([[0., 3.]])
    """
    return F.pad(scores, (1, 0)) if scores.shape[1] == 1 else scores


def sized(model: nn.Module, images: Tensor, side: int) -> Tensor:
    """Return the images at `side` pixels; a model that stretches its images is told so too.

    What is no image has no sides, and stays as it is.
    """
    if isinstance(model, MobileViT):
        model.least_side = side
    if images.dim() != 4 or images.shape[-1] <= side:
        return images
    return F.interpolate(images, size=(side, side), mode="area")
