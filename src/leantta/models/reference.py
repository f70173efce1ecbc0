"""A model by reference: `path/to/file.py:function` or `package.module:function`.

Both run the user's own code, with everything that code may do: give only files you trust.
"""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from torch import nn

from leantta.errors import MissingFileError, SettingError, UnsupportedModelError


def resolve(spec: str) -> nn.Module:
    """Return the model that a function of the user's own returns, in evaluation mode.

    It is called without arguments. Its file can import what lies beside it; `package.module` may lie in the
    current folder.

    Raises:
        SettingError: there is no such function, or it fails.
        MissingFileError: there is no such file.
        UnsupportedModelError: the function returns something that is not a module.
    """
    place, colon, name = spec.rpartition(":")
    if not colon:
        raise SettingError(f"{spec!r} names a file and no function in it. Write {spec}:FUNCTION.")
    if not place or not name:
        raise SettingError(
            f"{spec!r} is no model. Write path/to/file.py:function or package.module:function."
        )
    from_file = place.endswith(".py")
    with _importable(Path(place).resolve().parent if from_file else Path.cwd()):
        module = _run_file(Path(place)) if from_file else _import_module(place)
        model = _call(_function(module, name, place), spec)
    if not isinstance(model, nn.Module):
        raise UnsupportedModelError(
            f"{spec} returned a {type(model).__name__}; a torch.nn.Module is wanted. Return the model itself."
        )
    return model.eval()


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let modules in `folder` be imported inside the block, as Python does for a script's own folder."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):  # the user's code may have changed the path itself
            sys.path.remove(str(folder))


def _run_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise MissingFileError(f"no file {file} to take a model from. Check the path.")
    name = f"leantta_reference_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look a class's module up by its name
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as e:
        del sys.modules[name]
        raise SettingError(f"{file} cannot be run: {_said(e)}. Fix the file, or name another.") from e
    return module


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as e:
        raise SettingError(
            f"the module {name} cannot be imported: {_said(e)}. Is it installed, or in the current folder?"
        ) from e


def _function(module: ModuleType, name: str, place: str) -> Callable[[], object]:
    named = getattr(module, name, None)
    if named is None:
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        near = get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"It has: {', '.join(known[:8]) or 'no functions'}."
        raise SettingError(f"{place} has no function {name!r}. {hint}")
    if isinstance(named, nn.Module) or not callable(named):
        raise SettingError(
            f"{name!r} in {place} is a {type(named).__name__}, not a function. "
            f"Name a function that returns the model."
        )
    function: Callable[[], object] = named
    return function


def _call(function: Callable[[], object], spec: str) -> object:
    try:
        inspect.signature(function).bind()
    except TypeError as e:
        raise SettingError(
            f"{spec} needs arguments ({e}), but is called without any. Name a function that needs none."
        ) from e
    except ValueError:
        pass  # a builtin without a signature: the call itself will tell
    try:
        return function()
    except (Exception, SystemExit) as e:
        raise SettingError(f"{spec} failed: {_said(e)}. Call it in Python to see where.") from e


def _said(error: BaseException) -> str:
    """The error as one line: its type and the first line of its message."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__


def own_function(spec: str) -> Callable[..., object]:
    """Return a function of the user's own, `path/to/file.py:function` or `package.module:function`.

    Raises:
        SettingError: there is no such function, or its file cannot be run.
        MissingFileError: there is no such file.
    """
    place, _, name = spec.rpartition(":")
    if not place or not name:
        raise SettingError(
            f"{spec!r} is no function. Write path/to/file.py:function or package.module:function."
        )
    from_file = place.endswith(".py")
    with _importable(Path(place).resolve().parent if from_file else Path.cwd()):
        return _function(_run_file(Path(place)) if from_file else _import_module(place), name, place)
