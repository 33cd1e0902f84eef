"""What docs/api.md says of each public name, from signatures and docstrings.

    python tests/support/api_page.py

writes it again. In a section of the page everything before the first example comes from here;
examples, and the text between sections, are written by hand.
"""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tagkit

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
EXAMPLE = "```pycon\n"
# Classes whose methods have sections of their own; those of others are listed in their sections.
_WITH_SECTIONS = (tagkit.Predictor, tagkit.TextGenerator)
_PARTS = ("Args", "Attributes", "Returns", "Raises", "Yields")
_SECTION = re.compile(r"^(###+) `(.+)`\n", re.M)


def names() -> Iterator[str]:
    """Each name that has a section; errors but the first are in the section of that."""
    for name in tagkit._PUBLIC:
        value = getattr(tagkit, name)
        if is_error(value) and value is not tagkit.TagkitError:
            continue
        yield name
        if value in _WITH_SECTIONS:
            yield from (f"{name}.{each}" for each in members(value))


def is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, tagkit.TagkitError)


def members(kind: type) -> Iterator[str]:
    """Public methods and properties of a class, inherited ones last."""
    seen = set()
    for owner in kind.__mro__:
        if not owner.__module__.startswith("tagkit"):  # pydantic documents its methods
            continue
        for name, value in vars(owner).items():
            is_member = inspect.isfunction(value) or isinstance(value, property)
            if is_member and not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name


def value_of(name: str) -> Any:
    owner, _, member = name.partition(".")
    value = getattr(tagkit, owner)
    return inspect.getattr_static(value, member) if member else value


def generated(name: str) -> str:
    """The beginning of a name's section, below its heading."""
    value = value_of(name)
    parts = [] if not inspect.isfunction(value) else [f"```text\n{signature(name, value)}\n```"]
    parts.append(_rendered(inspect.getdoc(value) or ""))
    if inspect.isclass(value) and value not in _WITH_SECTIONS and list(members(value)):
        rows = ((each, value_of(f"{name}.{each}")) for each in members(value))
        listed = [_item(f"`{_member(each, member)}`", _first(member)) for each, member in rows]
        parts.append("Methods and properties:\n\n" + "\n".join(listed))
    if value is tagkit.TagkitError:
        others = [each for each in map(value_of, tagkit._PUBLIC) if is_error(each)][1:]
        parts.append("\n".join(_item(f"`{each.__name__}`", _first(each)) for each in others))
    return "\n\n".join(parts) + "\n"


def _member(name: str, value: Any) -> str:
    return name if isinstance(value, property) else signature(name, value)


def _first(value: Any) -> str:
    return (inspect.getdoc(value) or "").splitlines()[0]


def signature(name: str, function: Any) -> str:
    """`load(path, device="auto")`: names and defaults, on several lines where it is long."""
    found = []
    star = False
    for each in inspect.signature(function).parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not star:
            found, star = [*found, "*"], True
        default = "" if each.default is each.empty else f"={_default(each.default)}"
        found.append(f"{'**' if each.kind is each.VAR_KEYWORD else ''}{each.name}{default}")
    line = f"{name}({', '.join(found)})"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {each},\n" for each in found) + ")"


def _default(value: Any) -> str:
    # Functions that do nothing stand for "none is called".
    if inspect.isfunction(value):
        return "..."
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _rendered(doc: str) -> str:
    """A docstring of Google's layout as Markdown: paragraphs, and a list for each part."""
    blocks: list[str] = []
    for block in doc.split("\n\n"):
        title, _, rest = block.partition(":\n")
        if title not in _PARTS:
            blocks.append(_wrapped(block))
        elif title in ("Returns", "Yields"):
            blocks.append(_wrapped(f"{title}: {rest}"))
        else:
            items = re.split(r"^    (?=\S)", rest, flags=re.M)[1:]
            rows = (item.partition(": ") for item in items)
            listed = "\n".join(_item(f"`{key}`", text) for key, _, text in rows)
            blocks.append(f"{title}:\n\n{listed}")
    return "\n\n".join(blocks)


def _wrapped(text: str, indent: str = "") -> str:
    whole = " ".join(text.split())
    return textwrap.fill(
        whole, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _item(name: str, text: str) -> str:
    return _wrapped(f"- {name}: {text}", "  ")


def sections(page: str) -> dict[str, str]:
    """The text of each section by its name, up to the next heading."""
    found = {}
    parts = _SECTION.split(page)
    for name, text in zip(parts[2::3], parts[3::3], strict=True):
        found[name] = re.split(r"^## ", text, flags=re.M)[0]
    return found


def rewritten(page: str) -> str:
    """The page with what is generated written again; examples stay, missing sections are added."""
    found = sections(page)
    for name in names():
        beginning = f"\n{generated(name)}\n"
        if name in found:
            examples = found[name].partition(EXAMPLE)[1:]
            page = page.replace(
                f"`{name}`\n{found[name]}", f"`{name}`\n{beginning}{''.join(examples)}"
            )
        else:
            page += f"{'####' if '.' in name else '###'} `{name}`\n{beginning}"
    return page


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), encoding="utf-8")
