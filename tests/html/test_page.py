"""The beginning of a page: it loads nothing, and runs nothing."""

import re
from base64 import b64encode
from hashlib import sha256

from html_pages import parsed

from tagkit.html.page import page_end, page_head, policy, style_sheet


def test_the_policy_allows_this_style_sheet_and_nothing_else() -> None:
    root = parsed(f"{page_head('A <title>')}{page_end()}".removeprefix("<!DOCTYPE html>\n"))
    (style,) = root.all("style")
    digest = b64encode(sha256(style.text.encode()).digest()).decode()
    found = [
        each.attributes["content"]
        for each in root.all("meta")
        if each.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert found == [policy()]
    assert policy() == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def test_nothing_in_it_is_loaded_from_elsewhere() -> None:
    assert not re.search(r"url\(|@import|https?:|</", style_sheet())
    assert not re.search(r"<(script|link|img|iframe)\b|\bsrc=|https?:", page_head("x"))


def test_it_has_a_language_a_title_and_fits_a_telephone() -> None:
    head = page_head("A <title>")
    assert head.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "<title>A &lt;title&gt;</title>" in head
    assert 'name="viewport" content="width=device-width, initial-scale=1"' in head
    assert 'name="color-scheme" content="light dark"' in head


def test_the_style_sheet_knows_paper_and_dark_screens() -> None:
    sheet = style_sheet()
    assert "@media print" in sheet
    assert "@media screen and (prefers-color-scheme:dark)" in sheet
    assert sheet.count("{") == sheet.count("}")
