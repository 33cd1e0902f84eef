"""What begins and ends a page: one file that loads nothing, runs nothing and sends nothing."""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from markupsafe import Markup

from tagkit import __version__
from tagkit.html.colours import rules
from tagkit.html.elements import Child, element

BEGINNING = "<!DOCTYPE html>"
_STYLE_SHEET = "page.css"
_WHOLE_PAGE = re.compile(r":root|(?<!\w)body")  # in its rules


@cache
def style_sheet() -> str:
    """The one style sheet, with its colours."""
    return rules() + files("tagkit.html").joinpath(_STYLE_SHEET).read_text("utf-8")


@cache
def policy() -> str:
    """The Content-Security-Policy: this style sheet, and nothing else whatever a text holds."""
    digest = b64encode(sha256(style_sheet().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def page_head(title: str) -> Markup:
    """Everything before the content of the body."""
    style = Markup(f"<style>{style_sheet()}</style>")
    return Markup(
        f'{BEGINNING}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="tagkit {__version__}">\n'
        f"{element('title', title)}\n{style}\n</head>\n<body>\n"
    )


def fragment(*drawn: Child) -> Markup:
    """A part of a page by itself, as in a notebook, whose own style it leaves as it is."""
    # A scope without a name is the element around it.
    style = _WHOLE_PAGE.sub(":scope", style_sheet())
    return element("div", Markup(f"<style>@scope{{{style}}}</style>"), *drawn)


def page_end() -> Markup:
    """Everything after the content of the body."""
    return Markup("</body>\n</html>\n")
