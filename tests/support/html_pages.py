"""A page of HTML as its elements, read with the standard library; what is not well-formed fails."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Element:
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    def all(self, name: str = "", class_: str = "") -> Iterator["Element"]:
        """The elements inside of this name and class, in order."""
        for child in self.children:
            if isinstance(child, Element):
                if name in ("", child.name) and (not class_ or class_ in child.classes):
                    yield child
                yield from child.all(name, class_)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        """All text inside."""
        return "".join(each if isinstance(each, str) else each.text for each in self.children)

    def text_without(self, class_: str) -> str:
        """All text inside, but for that of the elements of a class."""
        return "".join(
            each if isinstance(each, str) else each.text_without(class_)
            for each in self.children
            if isinstance(each, str) or class_ not in each.classes
        )


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len({*names}), f"<{tag}> has an attribute twice: {names}"
        found = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(found)
        if tag != "meta":  # the only one that has no end
            self.open.append(found)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> inside <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def parsed(text: str) -> Element:
    """The elements of a page or of a fragment.

    Raises:
        AssertionError: it is not well-formed.
    """
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == [reader.root], f"<{reader.open[-1].name}> is not closed"
    return reader.root
