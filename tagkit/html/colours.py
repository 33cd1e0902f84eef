"""Colours of a page, light and dark: of its parts, and of labels.

Every text has a contrast of 4.5 to 1 or more with what is behind it (WCAG 2.2, 1.4.3), every line
of a chart 3 to 1 (1.4.11); tests compute both. Colour is never alone: a span shows its label.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one scheme, each as #rrggbb.

    Attributes:
        parts: by the name of their variable in the style sheet.
        labels: background and text of each colour of labels.
    """

    parts: dict[str, str]
    labels: tuple[tuple[str, str], ...]


LIGHT = Theme(
    {
        "page": "#ffffff", "panel": "#f4f6f9", "line": "#cbd3de", "text": "#17202c",
        "quiet": "#4b586a", "link": "#1d4ed8", "first": "#2563eb", "second": "#c2410c",
        "band": "#bfd4fb", "heat1": "#e8f0fe", "heat2": "#c7dafc",
        "heat3": "#9dbff9", "right": "#dcefe1",
    },
    (
        ("#bfdbfe", "#172554"), ("#fde68a", "#451a03"), ("#bbf7d0", "#052e16"),
        ("#fbcfe8", "#500724"), ("#ddd6fe", "#2e1065"), ("#fed7aa", "#431407"),
        ("#a5f3fc", "#083344"), ("#d9f99d", "#1a2e05"), ("#fecaca", "#450a0a"),
        ("#dbe1ea", "#0f172a"),
    ),
)  # fmt: skip
DARK = Theme(
    {
        "page": "#11161d", "panel": "#1a212b", "line": "#3b4756", "text": "#e8edf4",
        "quiet": "#a9b6c6", "link": "#93b8ff", "first": "#7aa7ff", "second": "#fb9c5c",
        "band": "#274069", "heat1": "#1b2a44", "heat2": "#21396a",
        "heat3": "#284a91", "right": "#173a26",
    },
    (
        ("#1e3a8a", "#dbeafe"), ("#713f12", "#fef3c7"), ("#14532d", "#dcfce7"),
        ("#831843", "#fce7f3"), ("#4c1d95", "#ede9fe"), ("#7c2d12", "#ffedd5"),
        ("#164e63", "#cffafe"), ("#365314", "#ecfccb"), ("#7f1d1d", "#fee2e2"),
        ("#3b4858", "#f1f5f9"),
    ),
)  # fmt: skip


@dataclass(slots=True)
class Palette:
    """A colour for each label: the first ten differ, in the order in which they are met."""

    numbers: dict[str, int] = field(default_factory=dict)

    def class_of(self, label: str) -> str:
        """The class of a label in the style sheet."""
        number = self.numbers.setdefault(label, len(self.numbers))
        return f"label-{number % len(LIGHT.labels)}"


def rules() -> str:
    """The colours as rules of a style sheet; the light ones on paper."""
    labels = "".join(
        f".label-{n}{{background:var(--label-{n});color:var(--label-{n}-text)}}\n"
        for n in range(len(LIGHT.labels))
    )
    dark = f"@media screen and (prefers-color-scheme:dark){{{_variables(DARK)}}}\n"
    return f"{_variables(LIGHT)}{dark}{labels}"


def _variables(theme: Theme) -> str:
    found = [f"--{name}:{colour}" for name, colour in theme.parts.items()]
    for number, (background, text) in enumerate(theme.labels):
        found += [f"--label-{number}:{background}", f"--label-{number}-text:{text}"]
    return f":root{{{';'.join(found)}}}\n"
