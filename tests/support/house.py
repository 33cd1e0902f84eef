"""Figures of the shape of a package: what a reader has to hold in the head. Reads files, runs none.

    python tests/support/house.py            # all figures, and what is behind each

`tests/test_architecture.py` holds them within bounds, which only ever fall.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LINES = 600  # of a module: one idea, one file, however long
FUNCTION_LINES = 60
PARAMETERS = 12


@dataclass(frozen=True)
class House:
    """A package, by its files.

    Attributes:
        root: its folder.
    """

    root: Path

    @cached_property
    def files(self) -> dict[str, Path]:
        """The file of each module, by its dotted name; that of a folder ends with `__init__`."""
        return {
            ".".join(path.relative_to(self.root.parent).with_suffix("").parts): path
            for path in sorted(self.root.rglob("*.py"))
        }

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """The syntax of each module."""
        return {name: ast.parse(path.read_text("utf-8")) for name, path in self.files.items()}

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules that each module imports when it runs, not for types alone."""
        found: dict[str, set[str]] = {}
        for name, tree in self.trees.items():
            typing = {id(node) for block in ast.walk(tree) if _is_for_types(block)
                      for node in ast.walk(block)}  # fmt: skip
            found[name] = {
                module
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing
                for module in (node.module, *(f"{node.module}.{each.name}" for each in node.names))
                if module in self.files and module != name
            }
        return found

    def entries(self) -> dict[str, list[str]]:
        """The modules and folders in each folder, by its path inside the package."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.files.values():
            entry = path.parent if path.name == "__init__.py" else path
            if entry != self.root:
                found[entry.parent.relative_to(self.root).as_posix()].append(entry.stem)
        return dict(found)

    def long_modules(self) -> dict[str, int]:
        """Modules of more lines than one idea needs."""
        counts = {name: path.read_text("utf-8").count("\n") for name, path in self.files.items()}
        return {name: lines for name, lines in counts.items() if lines > LINES}

    def with_one_importer(self) -> dict[str, str]:
        """Modules that one other module imports: parts of it, or ideas of their own."""
        importers: dict[str, list[str]] = defaultdict(list)
        for name, modules in self.imports.items():
            for module in modules:
                importers[module].append(name)
        return {name: users[0] for name, users in sorted(importers.items()) if len(users) == 1}

    def circles_of_folders(self) -> list[str]:
        """Folders of one room that import each other, perhaps by way of others."""
        graph: dict[str, set[str]] = defaultdict(set)
        for name, modules in self.imports.items():
            folder = name.rpartition(".")[0]
            for module in modules:
                other, _, last = module.rpartition(".")
                # What a folder's own file has is what its rows are for: a table.
                is_same_room = folder.split(".")[:2] == other.split(".")[:2]
                if other != folder and last != "__init__" and is_same_room:
                    graph[folder].add(other)
        return sorted(folder for folder in [*graph] if folder in _reached(graph, folder))

    def classes_with_two_homes(self) -> dict[str, list[str]]:
        """Names of classes that two modules define: a reader takes one for the other."""
        homes: dict[str, list[str]] = defaultdict(list)
        for name, tree in self.trees.items():
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(name)
        return {name: modules for name, modules in sorted(homes.items()) if len(modules) > 1}

    def functions(self) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Each function by its module and line: methods of several classes share a name."""
        for name, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{name}:{node.lineno} {node.name}", node

    def long_functions(self) -> dict[str, int]:
        """Functions over `FUNCTION_LINES`."""
        sizes = {name: (node.end_lineno or 0) - node.lineno + 1 for name, node in self.functions()}
        return {name: lines for name, lines in sizes.items() if lines > FUNCTION_LINES}

    def wide_functions(self) -> dict[str, int]:
        """Functions of more than `PARAMETERS` parameters."""
        counts = {name: len(node.args.args) + len(node.args.kwonlyargs)
                  for name, node in self.functions()}  # fmt: skip
        return {name: count for name, count in counts.items() if count > PARAMETERS}


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _reached(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """All that lies behind a folder's imports."""
    seen: set[str] = set()
    left = [start]
    while left:
        for other in graph.get(left.pop(), ()):
            if other not in seen:
                seen.add(other)
                left.append(other)
    return seen


def _show(house: House) -> Iterator[str]:
    lines = sum(path.read_text("utf-8").count("\n") for path in house.files.values())
    yield f"{lines:,} lines in {len(house.files)} modules"
    for folder, names in sorted(house.entries().items()):
        yield f"{len(names):>4} entries in {folder}"
    for title, found in (
        ("modules with one importer", house.with_one_importer()),
        (f"modules over {LINES} lines", house.long_modules()),
        (f"functions over {FUNCTION_LINES} lines", house.long_functions()),
        (f"functions of more than {PARAMETERS} parameters", house.wide_functions()),
        ("class names with two homes", house.classes_with_two_homes()),
    ):
        yield f"{len(found)} {title}"
        yield from (f"     {name}: {value}" for name, value in found.items())
    yield f"circles of folders: {house.circles_of_folders()}"


if __name__ == "__main__":
    sys.stdout.writelines(
        f"{line}\n" for line in _show(House(Path(__file__).parents[2] / "tagkit"))
    )
