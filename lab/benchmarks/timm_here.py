"""timm for tests: from the folder that LEANTTA_TIMM names, or where it is installed.

timm imports names of torchvision that its networks do not need. Where torchvision is missing, an empty
package stands in for it, so that a development machine needs no second copy of torch's binaries.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

FOLDER = "LEANTTA_TIMM"


class _Named(type):
    """A class whose members are their own names."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class _Empty(ModuleType):
    """A module in which every name is a class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Named(name, (), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] != "torchvision":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def timm_here() -> Iterator[Any]:
    """Give the module timm, or None where it is not; nothing of it can be imported afterwards."""
    path, before, finder = list(sys.path), set(sys.modules), _Finder()
    if folder := os.environ.get(FOLDER):
        sys.path.append(folder)
    if find_spec("torchvision") is None:
        sys.meta_path.append(finder)
    try:
        if find_spec("timm") is None:
            yield None
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other people's modules
            import_module("timm.data")
        yield import_module("timm")
    finally:
        sys.path[:] = path
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in ("timm", "torchvision"):
                del sys.modules[name]
