"""An attack: inputs that a number makes, one after the other, and what must come of each."""

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from leantta.errors import LeanTTAError

Try = Callable[[random.Random], None]
"""Gives one input: returns if it was answered, and rightly; raises LeanTTAError if it was refused."""

LONGEST = 3_000  # characters of a refusal


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Inputs of one kind. `begin` makes what they share, in a folder; what it enters is left at the end."""

    name: str
    reader: str  # what is attacked
    inputs: str  # what it is given
    begin: Callable[[Path, ExitStack], Try]
    recorded: int  # inputs in the recorded run


def tried(attempt: Try, number: int) -> str:
    """How one input ended: answered, refused, or a fault and which.

    Refused is only what is said in one line. An answer that is wrong, and any other exception, is a fault.
    """
    try:
        attempt(random.Random(number))
    except LeanTTAError as e:
        text = str(e)
        if "\n" in text or not text.strip() or len(text) > LONGEST:
            return f"fault: {type(e).__name__} is not said in one line: {text!r}"
        return "refused"
    except Exception as e:  # noqa: BLE001 - which one it is, is what this is about
        return f"fault: {type(e).__name__}: {e}"
    return "answered"
