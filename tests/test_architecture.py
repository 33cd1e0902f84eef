"""Who may know whom: each unit imports only units on lines above its own."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from house import House

from tagkit import storage

PACKAGE = Path(__file__).parents[1] / "tagkit"
HOUSE = House(PACKAGE)

LAYERS = [
    ["wording"],
    ["errors"],
    ["limits"],
    ["html", "nn", "storage", "text"],
    ["config"],
    ["corpus", "features"],
    ["evaluation"],
    ["models"],
    ["inference"],
    ["training"],
    ["cli"],
    ["__main__"],
]
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}
# What can be used without a network: nothing there may import torch, not even inside a function.
WITHOUT_TORCH = {"config", "corpus", "evaluation", "features", "storage", "text"}
# Heavy packages, and the only units whose import may load them.
SLOW = {"torch", "safetensors", "seqeval", "sklearn", "optuna"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def unit_of(module: Path) -> str:
    return module.relative_to(PACKAGE).with_suffix("").parts[0]


@cache
def nodes(module: Path) -> list[ast.AST]:
    """All of a module's syntax, parsed once for all of these tests."""
    return [*ast.walk(ast.parse(module.read_text("utf-8")))]


def imports(module: Path) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "tagkit":
                yield from (f"tagkit.{name.name}" for name in node.names)
            yield node.module


def test_every_unit_has_its_place() -> None:
    assert {unit_of(module) for module in modules()} - {"__init__"} == set(LEVEL)


@pytest.mark.parametrize("module", modules(), ids=lambda m: str(m.relative_to(PACKAGE)))
def test_imports_point_up_the_list(module: Path) -> None:
    unit = unit_of(module)
    if unit == "__init__":  # imports the public names for type checkers, which run nothing
        return
    for name in imports(module):
        parts = name.split(".")
        if parts[0] != "tagkit" or len(parts) < 2 or parts[1] == "__version__":
            continue
        imported = parts[1]
        if imported != unit:
            assert LEVEL[imported] < LEVEL[unit], f"{unit} must not import {imported}"
        if unit == "nn":
            assert imported in ("nn", "errors"), "networks know tensors alone"


def test_no_modules_import_each_other_in_a_circle() -> None:
    names = {name_of(module): module for module in modules()}
    graph = {
        name: {nearest(each, names) for each in imports(module)} - {"", name}
        for name, module in names.items()
        if not module.name.startswith("__")  # a package's own names are those of its modules
    }
    TopologicalSorter(graph).prepare()  # raises CycleError


def name_of(module: Path) -> str:
    return ".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts)


def nearest(name: str, names: Mapping[str, Path]) -> str:
    """The module that an import loads: the name itself, or, of a name in a module, that."""
    while name and name not in names:
        name = name.rpartition(".")[0]
    return name


def test_only_the_console_knows_rich_and_nothing_prints() -> None:
    for module in modules():
        if module.name != "console.py":
            assert not any(name.split(".")[0] == "rich" for name in imports(module)), module
        called = {n.func.id for n in nodes(module)
                  if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}  # fmt: skip
        assert not called & {"print", "eval", "exec", "exit", "quit"}, module


@pytest.mark.parametrize("unit", sorted(WITHOUT_TORCH))
def test_what_needs_no_network_imports_no_torch(unit: str) -> None:
    for module in (PACKAGE / unit).rglob("*.py"):
        assert not any(name.split(".")[0] == "torch" for name in imports(module)), module


def test_nothing_reads_or_writes_pickle() -> None:
    for module in modules():
        text = module.read_text("utf-8")
        names = set(imports(module))
        assert not names & {"pickle", "dill", "joblib", "shelve", "marshal"}, module
        assert "torch.load" not in text, module
        assert "torch.save" not in text, module


def test_importing_tagkit_and_its_light_names_imports_nothing_slow() -> None:
    program = (
        "import sys, tagkit\n"
        "tagkit.Sentence, tagkit.Span, tagkit.TagkitError, tagkit.load_config, tagkit.Report\n"
        "tagkit.read, tagkit.write, tagkit.convert\n"
        "gold = [tagkit.Sentence(('Oslo',), ('B-LOC',))]\n"
        "assert tagkit.evaluate(gold, gold).headline == 1\n"
        f"sys.exit(bool({sorted(SLOW)!r} and set(sys.modules) & set({sorted(SLOW)!r})))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_public_names_are_these_and_all_can_be_imported() -> None:
    import tagkit

    assert sorted(tagkit.__all__) == [
        "Alternative", "Analysis", "Audit", "BundleError", "Calibrated", "CheckReport",
        "CheckpointError", "ClassReport", "Config", "ConfigError", "Corpus", "DataError",
        "DeviceError", "Document", "Doubt", "Epoch", "FileError", "Finding", "FormatError",
        "Generated", "GenerationOptions", "Interrupted", "JointReport", "LabelScore",
        "LearningCurve", "LineScore", "Listener", "Prediction", "PredictionOptions", "Predictor",
        "Report", "Score", "Sentence", "SetReport", "Span", "SpanErrors", "StringAnswer", "System",
        "Systems", "TagReport", "TagSet", "TaggedText", "TaggedToken", "TagkitError",
        "TextGenerator", "TextSets", "TextSpan", "Trained", "TrainedSeeds", "TrainingError",
        "Trial", "Tuned", "VectorsError", "__version__", "analyse", "audit", "calibrate", "check",
        "compare", "convert", "evaluate", "evaluate_sets", "learning_curve", "load", "load_config",
        "load_language_model", "read", "set_threads", "train", "train_seeds", "tune", "write",
    ]  # fmt: skip
    for name in tagkit.__all__:
        assert getattr(tagkit, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tagkit.nonsense


# Folders may have so many entries; more where a folder is one table with a file a row.
ENTRIES = 15
MORE_ENTRIES = {".": 20}
# Figures of the house, which only ever fall: a step that lowers one lowers its bound.
ONE_IMPORTER = 86
LONG_FUNCTIONS = 4
WIDE_FUNCTIONS = 3


def test_no_folder_has_more_entries_than_a_reader_takes_in_at_once() -> None:
    for folder, entries in HOUSE.entries().items():
        assert len(entries) <= MORE_ENTRIES.get(folder, ENTRIES), f"{folder}: look for rooms in it"


def test_no_folders_import_each_other_in_a_circle() -> None:
    assert HOUSE.circles_of_folders() == []


def test_a_module_is_one_idea() -> None:
    assert HOUSE.long_modules() == {}, "look for a second idea in it"
    found = HOUSE.with_one_importer()
    assert len(found) <= ONE_IMPORTER, f"is a new one a part of its only importer? {found}"


def test_one_name_means_one_class() -> None:
    assert HOUSE.classes_with_two_homes() == {}


def test_functions_stay_readable() -> None:
    assert len(HOUSE.long_functions()) <= LONG_FUNCTIONS, HOUSE.long_functions()
    assert len(HOUSE.wide_functions()) <= WIDE_FUNCTIONS, HOUSE.wide_functions()


def test_the_figures_of_a_house_are_those_that_are_counted_by_hand(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "",
        "p/room/__init__.py": "",
        "p/room/a.py": "from p.room.inner import b\nclass Twin:\n    pass\n",
        "p/room/inner/__init__.py": "",
        "p/room/inner/b.py": "from p.room.c import x\nclass Twin:\n    pass\n",
        "p/room/c.py": "if TYPE_CHECKING:\n    from p.room.a import Twin\nx = 1\n",
        "p/long.py": "x = 1\n" * 601,
        "p/wide.py": f"def f({', '.join(f'x{n}' for n in range(13))}):\n" + "    pass\n" * 60,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    house = House(tmp_path / "p")
    assert sorted(house.entries()["."]) == ["long", "room", "wide"]
    assert sorted(house.entries()["room"]) == ["a", "c", "inner"]
    assert house.with_one_importer() == {"p.room.c": "p.room.inner.b", "p.room.inner.b": "p.room.a"}
    assert house.circles_of_folders() == ["p.room", "p.room.inner"]
    assert house.classes_with_two_homes() == {"Twin": ["p.room.a", "p.room.inner.b"]}
    assert house.long_modules() == {"p.long": 601}
    assert house.long_functions() == {"p.wide:1 f": 61}
    assert house.wide_functions() == {"p.wide:1 f": 13}


def names_a_task(node: ast.expr) -> bool:
    """Whether an expression is the name of a task, such as `config.task`."""
    return (isinstance(node, ast.Attribute) and node.attr == "task") or (
        isinstance(node, ast.Name) and node.id == "task"
    )


def test_only_the_table_of_tasks_asks_which_task_it_is() -> None:
    allowed = PACKAGE / "models" / "task_table.py"
    for module in modules():
        for node in nodes(module):
            if isinstance(node, ast.Compare):
                asked = any(map(names_a_task, [node.left, *node.comparators]))
            elif isinstance(node, ast.Match):
                asked = names_a_task(node.subject)
            elif isinstance(node, ast.Subscript):  # a dict by task is a comparison too
                asked = names_a_task(node.slice) and module != allowed
            else:
                continue
            assert not asked, f"{module}:{node.lineno}: that is for a method of models.task.Task"


def test_only_storage_renames_and_digests_files() -> None:
    package = Path(storage.__file__).parents[1]
    calls = ("os.rename(", "os.replace(", "os.fsync(", "hashlib.sha256(content", "tempfile.mkstemp")
    for module in package.rglob("*.py"):
        if module.parent.name != "storage":
            source = module.read_text("utf-8")
            assert not [call for call in calls if call in source], module


TESTS = Path(__file__).parent
# Rooms of tests that cross modules.
CROSSING = {"e2e", "fuzz"}
# Tests of no one module, and why they are not in e2e/.
OF_NO_MODULE = {
    "test_architecture": "it is about all modules",
}


def test_tests_mirror_modules() -> None:
    """`tests/nn/test_x.py` is of `tagkit/nn/x.py`, or of `tagkit/nn/` where that is x."""
    for path in TESTS.rglob("test_*.py"):
        test = path.relative_to(TESTS).with_suffix("")
        if test.parts[0] in CROSSING or test.as_posix() in OF_NO_MODULE:
            continue
        name = test.name.removeprefix("test_")
        is_module = (PACKAGE / test.parent / f"{name}.py").is_file()
        is_package = name == test.parent.name and (PACKAGE / test.parent / "__init__.py").is_file()
        assert is_module or is_package, f"{path}: no module has this name; see tests/e2e"


def test_what_mirrors_no_module_is_still_there() -> None:
    assert [test for test in OF_NO_MODULE if not (TESTS / f"{test}.py").is_file()] == []


def test_kept_results_name_no_folder_of_the_machine_that_they_were_made_on() -> None:
    for path in (PACKAGE.parent / "benchmarks" / "results").glob("*.jsonl"):
        found = re.findall(r'"/[^"]*"', path.read_text("utf-8"))
        assert not found, f"{path.name}: {found[0]}"
