"""Pages in a real browser: they draw, fit their window, can be read, and run nothing.

Chromium and its driver are those of the system (Debian's packages chromium and chromium-driver),
so that nothing is loaded from a network. Each page holds texts that would break it if they could.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import HEBREW, IMAGE, LABEL, LONG, SCRIPT, all_parts, sentences

import tagkit
from tagkit.evaluation.html_report.page import SECTIONS, report_page
from tagkit.html.colours import DARK, LIGHT, Theme

pytestmark = pytest.mark.slow
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
WIDTHS = pytest.mark.parametrize("width", [360, 1200])


class Browser:
    """A page in a window of a given width and colour scheme."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, width: int = 1200, scheme: str = "light") -> None:
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.driver.get(page.as_uri())

    def js(self, expression: str) -> Any:
        return self.driver.execute_script(f"return {expression}")

    def errors(self) -> list[str]:
        """What the console says: errors of the page, and what its policy has refused."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for, without those that the page's policy refused."""
        found = {}
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            event = message["params"]
            if message["method"] == "Network.requestWillBeSent":
                found[event["requestId"]] = event["request"]["url"]
            elif message["method"] == "Network.loadingFailed":
                if event.get("blockedReason") == "csp":
                    del found[event["requestId"]]
        return list(found.values())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs the system's chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",  # a sandbox cannot be made by root, as which CI runs
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield Browser(driver)
    driver.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_page(f"Evaluation of {SCRIPT}", "", all_parts()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.html"
    tagkit.write(sentences(predicted=False), path)
    return path


@pytest.fixture(params=["report", "texts"])
def page(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


# Every element with text of its own, with its colour, that behind it, and its place.
# What a browser shows of a mark under the pointer (its title) is not drawn.
TEXTS = """Array.from(document.querySelectorAll('body *:not(title)')).filter(e =>
    Array.from(e.childNodes).some(n => n.nodeType == 3 && n.data.trim())).map(e => {
  let behind = e, colour = 'rgba(0, 0, 0, 0)'
  while (behind && colour == 'rgba(0, 0, 0, 0)') {
    colour = getComputedStyle(behind).backgroundColor
    behind = behind.parentElement
  }
  const style = getComputedStyle(e), box = e.getBoundingClientRect()
  return {name: e.tagName, text: e.textContent.slice(0, 40), behind: colour,
          colour: e instanceof SVGElement ? style.fill : style.color,
          size: box.width * box.height, hidden: style.display == 'none'}
})
"""


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@SCHEMES
@WIDTHS
def test_every_text_is_drawn_with_a_contrast_of_four_and_a_half_and_the_page_fits(
    browser: Browser, page: Path, width: int, scheme: str
) -> None:
    browser.open(page, width, scheme)
    assert browser.js("document.documentElement.scrollWidth") <= width
    found = browser.js(TEXTS)
    assert len(found) > 30
    for each in found:
        lighter, darker = sorted(
            (luminance(each["colour"]), luminance(each["behind"])), reverse=True
        )
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, each
        assert each["size"] > 0, each
    assert browser.errors() == []


@WIDTHS
def test_what_is_wider_than_the_window_scrolls_by_itself_and_nothing_else_is_cut(
    browser: Browser, page: Path, width: int
) -> None:
    browser.open(page, width)
    outside = browser.js(
        "Array.from(document.querySelectorAll('body *')).filter(e => !e.closest('.scroll') &&"
        f" e.getBoundingClientRect().right > {width} + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert outside == []


@SCHEMES
def test_spans_have_the_colours_of_their_labels_and_show_the_label(
    browser: Browser, page: Path, scheme: str
) -> None:
    theme: Theme = DARK if scheme == "dark" else LIGHT
    browser.open(page, scheme=scheme)
    spans = browser.js(
        "Array.from(document.querySelectorAll('mark')).map(e => [e.className,"
        " getComputedStyle(e).backgroundColor, getComputedStyle(e).color,"
        " e.querySelector('.name').textContent])"
    )
    assert {label.rstrip("…").rpartition(" 0.")[0] or label for *_, label in spans} >= {LABEL}
    for name, *colours, _ in spans:
        expected = theme.labels[int(name.removeprefix("label-"))]
        rgb = ["rgb({}, {}, {})".format(*bytes.fromhex(each[1:])) for each in expected]
        assert colours == rgb


def test_a_script_in_a_sentence_stays_text_and_nothing_runs(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.js("window.broken === undefined")
    for name in ("script", "img", "iframe", "link", "object", "b", "[onerror]"):
        assert browser.js(f"document.querySelectorAll('{name}').length") == 0, name
    text = browser.js("document.body.textContent")
    for each in (SCRIPT, IMAGE, LONG, LABEL):
        assert each in text
    assert browser.driver.title in (f"Evaluation of {SCRIPT}", "Labelled texts")


def test_the_policy_of_the_page_stops_what_would_run_if_it_got_in(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    """The second line of defence, shown by breaking the first."""
    broken = tmp_path / "broken.html"
    attack = f"{SCRIPT}<style>body{{display:none}}</style><img src=https://example.org/x.png>"
    broken.write_text(
        report.read_text("utf-8").replace("<main>", f"<main>{attack}"), encoding="utf-8"
    )
    browser.open(broken)
    assert browser.js("window.broken === undefined")
    assert browser.js("getComputedStyle(document.body).display") == "block"
    assert len(browser.errors()) == 3
    assert browser.requests() == [broken.as_uri()]


def test_no_request_leaves_the_page(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.requests() == [page.as_uri()]


def test_every_section_of_the_table_is_drawn_and_its_link_leads_there(
    browser: Browser, report: Path
) -> None:
    browser.open(report)
    links = browser.js(
        "Array.from(document.querySelectorAll('nav a')).map(a => [a.textContent,"
        " document.querySelector(a.getAttribute('href')).getBoundingClientRect().height])"
    )
    of_spans = {section.title for section in SECTIONS} - {
        "Columns", "What is taken for what", "Known and unknown words",
    }  # fmt: skip
    assert {title for title, _ in links} == of_spans
    assert all(height > 60 for _, height in links)
    charts = browser.js(
        "Array.from(document.querySelectorAll('svg[role=img]')).map(e => ["
        " e.getBoundingClientRect().width, e.querySelectorAll('.bar,.dot,.curve').length])"
    )
    assert len(charts) == 3
    assert all(width > 300 and drawn > 1 for width, drawn in charts)


def test_hebrew_is_written_from_right_to_left(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hebrew.html"
    tagkit.write([tagkit.Sentence((HEBREW, "Oslo", HEBREW), ("B-LOC", "O", "O"))], path)
    browser.open(path)
    first = browser.js("document.querySelector('mark').getBoundingClientRect().left")
    box = browser.js("document.querySelector('.drawn').getBoundingClientRect().toJSON()")
    assert first > (box["left"] + box["right"]) / 2


def test_it_can_be_printed(browser: Browser, page: Path) -> None:
    browser.open(page, scheme="dark")
    pdf = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(pdf["data"]) > 20_000
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"media": "print", "features": features}
    )
    assert browser.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
