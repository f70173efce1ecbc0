"""Count what the tool and the laboratory hold and reach, and keep the tables of docs/architecture.md true.

    python scripts/code_map.py                   # print the tables
    python scripts/code_map.py --write           # put them into docs/architecture.md
    python scripts/code_map.py --check           # exit with 1 if they differ from what stands there
    python scripts/code_map.py --show convert    # what an entry point reaches, file by file

`code_reach.py` defines what is reached. Before the tool and the lab were two, a reader who followed calls by
hand passed 15 files for `adapt`, 11 for `load` and predict, 70 for `convert`, 96 for `reproduce` and 82 for
`bench`; this script counts 15, 13, 70, 99 and 86 there. It counts more functions than the reader, 387 instead
of 285 for `convert`: it takes every branch, and every method of a name.
"""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from code_reach import Module, Start, bindings, reach, read_module, read_modules, spoken

HOME = Path(__file__).resolve().parents[1]
CALLS: Mapping[str, tuple[str, ...]] = {"adapt": ("adapt",), "load": ("load", "Session.predict_one")}
"""Calls of `leantta`, by the public names that a caller uses."""
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "convert": (),
    "reproduce": ("TABLE_ABRUPT_GRADUAL",),  # of the tables and figures, the paper's first
    "bench": (),
}
"""Commands of `leantta`, found by their decorator, and the row that each takes of a table."""

Ranks = Sequence[Sequence[str]]


class CodeMapError(Exception):
    """The source or the page is not as this script expects."""


def entry_points(modules: Mapping[str, Module]) -> dict[str, list[Start]]:
    """Return where each entry point begins.

    Raises:
        CodeMapError: one of them is not in the source.
    """
    public = ast.literal_eval(_value(modules["leantta"], "_PUBLIC"))
    homes = {name: home for home, names in public.items() for name in names}
    starts = {
        entry: [Start(modules[homes[name.partition(".")[0]]], name) for name in names]
        for entry, names in CALLS.items()
    }
    for command, rows in COMMANDS.items():
        own = [
            Start(module, name)
            for module in modules.values()
            for name, node in module.definitions.items()
            if isinstance(node, ast.FunctionDef) and any(_is_command(d, command) for d in node.decorator_list)
        ]
        if not own:
            raise CodeMapError(f'no function is decorated with @click.command("{command}")')
        starts[command] = own + [_defined(modules, row) for row in rows]
    return starts


def figures_table(modules: Mapping[str, Module], starts: Mapping[str, Sequence[Start]]) -> str:
    """Return sizes and reach as Markdown."""
    sizes: dict[str, list[int]] = defaultdict(list)
    for module in modules.values():
        sizes[module.package].append(len(module.path.read_text().splitlines()))
    if len(sizes) > 1:
        sizes["together"] = [lines for counts in list(sizes.values()) for lines in counts]
    lines = ["| package | files | lines |", "|---|---:|---:|"]
    lines += [f"| {package} | {len(counts)} | {sum(counts):,} |" for package, counts in sizes.items()]
    lines += [
        "",
        "| entry point | files reached | functions in them | files imported |",
        "|---|---:|---:|---:|",
    ]
    for entry, places in starts.items():
        functions, imported = reach(modules, places)
        lines.append(
            f"| {entry} | {len(functions)} | {sum(map(len, functions.values()))} | {len(imported)} |"
        )
    return "\n".join(lines)


def modules_table(modules: Mapping[str, Module], ranks: Mapping[str, Ranks]) -> str:
    """Return the parts of each package as Markdown, the lowest first, as imports point down."""
    lines = ["| module | rank | what it is | needs |", "|---|---:|---|---|"]
    parts: dict[tuple[str, str], list[Module]] = defaultdict(list)
    for module in modules.values():
        if module.part not in ("", "__main__"):
            parts[module.package, module.part].append(module)
    rank_of = {
        (package, part): rank
        for package, rows in ranks.items()
        for rank, names in enumerate(rows)
        for part in names
    }
    own = {package for package, _ in parts} | set(sys.stdlib_module_names)
    for package, part in sorted(parts, key=lambda key: (key[0], rank_of.get(key, -1), key[1])):
        head = modules[f"{package}.{part}"]
        name = f"{package}.{part}" + ("/" if head.path.name == "__init__.py" else "")
        summary = (ast.get_docstring(head.tree) or "").partition("\n")[0]
        needs = ", ".join(_needs(parts[package, part], own)) or "-"
        lines.append(f"| `{name}` | {rank_of.get((package, part), '-')} | {summary} | {needs} |")
    return "\n".join(lines)


def read_ranks(path: Path, name: str) -> Ranks:
    """Return the ranks of that name in a test of the architecture."""
    ranks: Ranks = ast.literal_eval(_value(read_module("ranks", path), name))
    return ranks


def with_block(page: str, name: str, table: str) -> str:
    """Return a page with a table between the two comments that hold its place.

    Raises:
        CodeMapError: the comments are not there.
    """
    first, last = f"<!-- {name}: made by scripts/code_map.py -->", f"<!-- end of {name} -->"
    before, start, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not start or not end:
        raise CodeMapError(f"the page has no place for {name}. Put these lines there:\n{first}\n{last}")
    return f"{before}{first}\n{table}\n{last}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print, write or check the tables; return the exit code."""
    options = _parser().parse_args(arguments)
    roots = options.root or [HOME / "src" / "leantta", HOME / "lab" / "src" / "leantta_lab"]
    try:
        modules = read_modules(roots)
        starts = _named(modules, options.entry) if options.entry else entry_points(modules)
        if options.show:
            for module, functions in reach(modules, starts[options.show]).functions.items():
                sys.stdout.write(f"{module}: {', '.join(functions)}\n")
            return 0
        ranks = {
            root.name: read_ranks(options.ranks, name)
            for root, name in zip(roots, ("RANKS", "LAB_RANKS"), strict=False)
        }
        tables = {"figures": figures_table(modules, starts), "modules": modules_table(modules, ranks)}
        if not options.check and not options.write:
            sys.stdout.write("\n\n".join(tables.values()) + "\n")
            return 0
        old = new = options.page.read_text()
        for name, table in tables.items():
            new = with_block(new, name, table)
    except (CodeMapError, OSError) as e:
        sys.stderr.write(f"error: {e}\n")
        return 2
    if options.write:
        options.page.write_text(new)
    elif new != old:
        sys.stderr.write(f"{options.page} is out of date. Run: python scripts/code_map.py --write\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--root", type=Path, action="append", help="folder of a package; default: tool and lab"
    )
    parser.add_argument(
        "--ranks",
        type=Path,
        default=HOME / "tests" / "test_architecture.py",
        help="test that holds RANKS for the first --root and LAB_RANKS for the second",
    )
    parser.add_argument("--entry", action="append", help="NAME=MODULE:FUNCTION, instead of the usual ones")
    parser.add_argument("--page", type=Path, default=HOME / "docs" / "architecture.md")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="exit with 1 if the page has other tables")
    action.add_argument("--write", action="store_true", help="put the tables into the page")
    action.add_argument("--show", metavar="ENTRY", help="list what an entry point reaches")
    return parser


def _named(modules: Mapping[str, Module], entries: Sequence[str]) -> dict[str, list[Start]]:
    starts = {}
    for entry in entries:
        name, _, place = entry.partition("=")
        module, _, function = place.partition(":")
        if module not in modules or function.partition(".")[0] not in modules[module].definitions:
            raise CodeMapError(f"{entry!r} is not NAME=MODULE:FUNCTION of these packages")
        starts[name] = [Start(modules[module], function)]
    return starts


def _defined(modules: Mapping[str, Module], name: str) -> Start:
    for module in modules.values():
        if name in module.definitions:
            return Start(module, name)
    raise CodeMapError(f"no module defines {name}; COMMANDS of scripts/code_map.py names it")


def _value(module: Module, name: str) -> ast.expr:
    node = module.definitions.get(name)
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        raise CodeMapError(f"{module.path} has no value {name}")
    return node.value


def _is_command(decorator: ast.expr, name: str) -> bool:
    return ast.unparse(decorator).startswith(f"click.command('{name}'")


def _needs(part: Sequence[Module], own: set[str]) -> list[str]:
    """Return the foreign packages of a part; those that only a function imports stand in brackets."""
    always, anywhere = set[str](), set[str]()
    for module in part:
        nested = [bindings(n) for n in spoken(module.tree) if isinstance(n, ast.Import | ast.ImportFrom)]
        always |= {dotted.partition(".")[0] for dotted in module.imported.values()} - own
        anywhere |= {dotted.partition(".")[0] for names in nested for dotted in names.values()} - own
    return [*sorted(always), *(f"({name})" for name in sorted(anywhere - always))]


if __name__ == "__main__":
    sys.exit(main())
