"""Configurations: TOML files and `--set`."""

import json
from pathlib import Path
from random import Random

from tagkit.config import Config, load_config, option_names, parse_config, to_toml
from tagkit.config.search_space import parse_spaces

from .case import Case, require
from .mutation import altered_bytes, altered_text, encode, odd, odd_value, packed

_DEFAULTS = to_toml(Config())
_NAMES = tuple(option_names())


def _toml_value(rng: Random) -> str:
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(("1979-05-27", "07:32:00", "0x1F", "1_000", "'a'", '"""a"""', "{a = 1}",
                           "inf",
                           "nan", "-nan", "[1, 'a']", "{}", "''", "true", "1e400",
                           "\"\\u0000\""))  # fmt: skip
    if kind == 1:
        return rng.choice(("9" * 30, "9" * 4500, "-" + "9" * 400, "[" * 2000 + "]" * 2000,
                           "{a=" * 600 + "1" + "}" * 600, ".".join("a" * 300)))  # fmt: skip
    if kind == 2:
        return odd(rng)
    if kind < 6:
        return str(
            rng.choice((0, 1, 2, -1, 0.5, 1.5, "'lstm'", "'gru'", "true", 10**6, 1e-3, "[1, 2]"))
        )
    try:
        return json.dumps(odd_value(rng))
    except RecursionError:
        return "[" * 5000


def _statement(rng: Random) -> str:
    name = rng.choice(_NAMES)
    if rng.random() < 0.25:
        name = rng.choice((name.partition(".")[0], name + "x", name[1:], altered_text(rng, name),
                           ".".join("a" * 400), "", "head.threshold.x", "data",
                           f"{name}.{name}"))  # fmt: skip
    return f"{name}{rng.choice(('=', '=', ' = ', '=', ' '))}{_toml_value(rng)}"


def config_case(rng: Random) -> Case:
    """A file, or `--set`, or both."""
    files: dict[str, bytes] = {}
    if rng.random() < 0.5:
        if rng.random() < 0.5:
            text = altered_text(rng, _DEFAULTS)
        else:
            lines = rng.sample(_DEFAULTS.split("\n"), rng.randint(0, 20))
            lines[rng.randrange(len(lines) + 1) :] = [_statement(rng) for _ in range(2)]
            text = altered_text(rng, "\n".join(lines))
        data = encode(text, rng.choice(("utf-8",) * 9 + ("utf-16", "latin-1", "utf-8-sig")))
        if rng.random() < 0.1:
            data = altered_bytes(rng, data)
        files["tagkit.toml"] = packed(rng, data) if rng.random() < 0.02 else data
    overrides = [_statement(rng) for _ in range(rng.choice((0, 1, 1, 2)))]
    search = [_statement(rng) + rng.choice(("", "..1", ":log", "..10:log", ",2,3")) for _ in range(
        1 if rng.random() < 0.2 else 0
    )]  # fmt: skip
    return Case(files, {"set": overrides, "search": search})


def run_config(case: Case, room: Path) -> None:
    """What is accepted survives being written and read."""
    path = room / "tagkit.toml" if case.files else None
    if case.options["search"]:
        parse_spaces(case.options["search"])
    config = load_config(path, case.options["set"])
    (room / "out").write_text(to_toml(config), encoding="utf-8", newline="")
    require(load_config(room / "out") == config, "a configuration changes when it is written",
            case.options["set"])  # fmt: skip
    require(parse_config(config.model_dump(mode="json"), "x") == config, "a configuration as JSON")
