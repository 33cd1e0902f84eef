"""Colours that everybody can read, in light and in dark."""

import re

import pytest

from tagkit.html.colours import DARK, LIGHT, Palette, Theme, rules
from tagkit.html.page import style_sheet

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_contrast_of_black_and_white_and_of_a_known_grey_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@THEMES
def test_each_label_has_a_contrast_of_at_least_seven_to_one(theme: Theme) -> None:
    for background, text in theme.labels:
        assert contrast(background, text) >= 7, (background, text)


@THEMES
@pytest.mark.parametrize("text", ["text", "quiet", "link"])
@pytest.mark.parametrize("behind", ["page", "panel"])
def test_each_text_of_a_page_has_a_contrast_of_at_least_four_and_a_half(
    theme: Theme, text: str, behind: str
) -> None:
    assert contrast(theme.parts[text], theme.parts[behind]) >= 4.5


@THEMES
@pytest.mark.parametrize("behind", ["heat1", "heat2", "heat3", "right"])
def test_each_number_of_a_matrix_has_it_too(theme: Theme, behind: str) -> None:
    assert contrast(theme.parts["text"], theme.parts[behind]) >= 4.5


@THEMES
@pytest.mark.parametrize("drawn", ["first", "second"])
def test_what_charts_draw_has_a_contrast_of_at_least_three(theme: Theme, drawn: str) -> None:
    assert contrast(theme.parts[drawn], theme.parts["page"]) >= 3


def test_both_themes_have_the_same_colours() -> None:
    assert LIGHT.parts.keys() == DARK.parts.keys()
    assert len(LIGHT.labels) == len(DARK.labels)


def test_the_style_sheet_uses_colours_of_the_themes_alone() -> None:
    sheet = style_sheet().removeprefix(rules())
    assert not re.findall(r"#[0-9a-f]{3,8}\b|rgb|hsl", sheet)
    used = {*re.findall(r"var\(--([a-z0-9]+)\)", sheet)}
    assert used == LIGHT.parts.keys()


def test_the_first_ten_labels_have_colours_of_their_own_which_stay() -> None:
    palette = Palette()
    found = [palette.class_of(str(number)) for number in range(12)]
    assert len({*found[:10]}) == 10
    assert found[10] == found[0]
    assert palette.class_of("3") == found[3]
