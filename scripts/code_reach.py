"""What a function reaches by name, read from the source without running it.

- A function is a `def`: a function, a method, or a function inside one.
- It reaches what its text names: functions and classes of its own module or by import (also inside a
  function, through a re-export, or as an attribute of an imported module). Annotations do not count, nor does
  what stands under `if TYPE_CHECKING`.
- A class brings its bases, its special methods, and each method whose name is used as an attribute anywhere
  in what is reached.
- A module-level value brings its file and nothing else: a table of models or rules is where the road forks,
  and a call takes one of them. So is an entry point that another package declares.
- A file is reached if something in it is. `imported` are all files that the first one imports, directly or
  through others, at its top or inside a function, used or not.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
Value = ast.Assign | ast.AnnAssign
Definition = Function | ast.ClassDef | Value


@dataclass
class Module:
    """A source file: what it defines at its top, and which dotted name each imported name stands for."""

    name: str
    path: Path
    tree: ast.Module
    definitions: dict[str, Definition] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)

    @property
    def package(self) -> str:
        """The first of its names."""
        return self.name.partition(".")[0]

    @property
    def part(self) -> str:
        """The second of its names, empty for the package itself."""
        return self.name.partition(".")[2].partition(".")[0]


class Start(NamedTuple):
    """Where a walk begins: a function, a `Class.method`, or a row of a table by its name."""

    module: Module
    name: str


class Reach(NamedTuple):
    """What a walk reached: functions by module, and the modules that are imported on the way."""

    functions: Mapping[str, Sequence[str]]
    imported: Sequence[str]


def read_modules(folders: Sequence[Path]) -> dict[str, Module]:
    """Return the modules of packages by their dotted names."""
    modules = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules[name] = read_module(name, path)
    return modules


def read_module(name: str, path: Path) -> Module:
    """Return one module."""
    module = Module(name, path, ast.parse(path.read_text()))
    for node in _statements(module.tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imported.update(bindings(node))
        elif isinstance(node, Function | ast.ClassDef):
            module.definitions[node.name] = node
        elif isinstance(node, Value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)]
            module.definitions.update(dict.fromkeys(names, node))
    return module


def reach(modules: Mapping[str, Module], starts: Sequence[Start]) -> Reach:
    """Return what is reached from `starts`."""
    walk = _Walk(modules)
    for start in starts:
        walk.start(start)
    functions = {name: sorted(found, key=lambda f: f.lineno) for name, found in sorted(walk.reached.items())}
    imported: set[str] = set()
    waiting = [start.module.name for start in starts]
    while waiting:
        name = waiting.pop()
        if name not in imported:
            imported.add(name)
            waiting += _imports(modules, modules[name])
    return Reach({name: [f.name for f in found] for name, found in functions.items()}, sorted(imported))


def bindings(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Return the names that an import makes, each with the dotted name that it stands for."""
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    heads = [(alias, alias.name.partition(".")[0]) for alias in node.names]
    return {alias.asname or head: alias.name if alias.asname else head for alias, head in heads}


def spoken(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it, but no annotations and nothing that is there for type checkers."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns") or (name == "body" and _for_types(node)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from spoken(child)


class _Walk:
    def __init__(self, modules: Mapping[str, Module]) -> None:
        self.reached: dict[str, set[Function]] = defaultdict(set)
        self._modules = modules
        self._seen: set[ast.AST] = set()
        self._attributes: set[str] = set()
        self._waiting: dict[str, list[tuple[Module, Function]]] = defaultdict(list)

    def start(self, start: Start) -> None:
        head, _, method = start.name.partition(".")
        definition = start.module.definitions[head]
        self._reach(start.module, definition)
        self._use(method)
        if isinstance(definition, Value):
            self._follow(start.module, definition)

    def _name(self, dotted: str) -> None:
        """Follow a dotted name to its definition, through the modules that only hand it on."""
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            module = self._modules.get(".".join(parts[:length]))
            if module is None:
                continue
            name, *rest = [*parts[length:], ""]
            if name in module.definitions:
                self._reach(module, module.definitions[name])
            elif name in module.imported:
                self._name(".".join([module.imported[name], *rest[:-1]]))
            return

    def _reach(self, module: Module, node: Definition) -> None:
        if node in self._seen:
            return
        self._seen.add(node)
        self.reached.setdefault(module.name, set())
        if isinstance(node, ast.ClassDef):
            for child in [*node.decorator_list, *node.bases, *node.keywords]:
                self._follow(module, child)
            for statement in node.body:
                if not isinstance(statement, Function):
                    self._follow(module, statement)
                elif statement.name.startswith("__") or statement.name in self._attributes:
                    self._reach(module, statement)
                else:
                    self._waiting[statement.name].append((module, statement))
        elif isinstance(node, Function):
            self._follow(module, node)

    def _follow(self, module: Module, root: ast.AST) -> None:
        nodes = list(spoken(root))
        self.reached[module.name].update(node for node in nodes if isinstance(node, Function))
        known = {name: f"{module.name}.{name}" for name in module.definitions} | module.imported
        if isinstance(root, Function):
            known = {name: dotted for name, dotted in known.items() if name not in _local_names(nodes)}
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                known.update(bindings(node))
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in known:
                self._name(known[node.id])
            elif isinstance(node, ast.Attribute):
                self._use(node.attr)
                head, *rest = _chain(node)
                if head in known:
                    self._name(".".join([known[head], *rest]))

    def _use(self, attribute: str) -> None:
        self._attributes.add(attribute)
        for module, method in self._waiting.pop(attribute, []):
            self._reach(module, method)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those inside `if`, `try` and `with`."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _statements(node.orelse if _for_types(node) else [*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handled = [line for handler in node.handlers for line in handler.body]
            yield from _statements([*node.body, *handled, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.With):
            yield from _statements(node.body)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _local_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the arguments and variables of a function, which hide names of its module."""
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _imports(modules: Mapping[str, Module], module: Module) -> Iterator[str]:
    """Yield the modules of ours that a module imports."""
    for node in spoken(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for dotted in (f"{prefix}{alias.name}" for alias in node.names):
                parent = dotted.rpartition(".")[0]
                yield from [name for name in (dotted, parent) if name in modules][:1]


def _chain(node: ast.Attribute) -> list[str]:
    """Return `a.b.c` as its names; the first is empty if it does not begin with a name."""
    names: list[str] = []
    value: ast.expr = node
    while isinstance(value, ast.Attribute):
        names.append(value.attr)
        value = value.value
    return [value.id if isinstance(value, ast.Name) else "", *reversed(names)]
