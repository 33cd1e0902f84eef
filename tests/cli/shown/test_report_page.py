"""`tagkit eval --html`: a page, which takes the place of no other file."""

import gzip
import json
from pathlib import Path

import pytest
from hostile import all_parts
from html_pages import Element, parsed
from program import Program
from says import Says

from tagkit.evaluation.analysis.label_errors import Audit
from tagkit.evaluation.analysis.power_law import LearningCurve

GOLD = "Ada\tB-PER\nleft\tO\nRome\tB-LOC\n\nBen\tB-PER\nstays\tO\n\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("gold.conll").write_text(GOLD, encoding="utf-8")
    Path("a.conll").write_text(GOLD.replace("B-LOC", "B-PER"), encoding="utf-8")
    Path("b.conll").write_text(GOLD.replace("Ben\tB-PER", "Ben\tO"), encoding="utf-8")
    return tmp_path


def page(path: str) -> Element:
    return parsed(Path(path).read_text("utf-8").removeprefix("<!DOCTYPE html>\n"))


def titles(path: str) -> list[str]:
    return [each.text for each in page(path).all("h2")]


def test_a_page_has_all_analyses_and_the_output_is_what_it_was(
    tagkit: Program, files: Path
) -> None:
    compared = ("--gold", "gold.conll", "--pred", "a.conll")
    plain = tagkit("eval", *compared)
    ended = tagkit("eval", *compared, "--train", "gold.conll", "--html", "r.html")
    assert (ended.code, ended.out) == (0, plain.out)
    assert ended.err.endswith("page: r.html\n")
    assert [each.text for each in page("r.html").all("h1")] == ["Evaluation of a.conll"]
    assert titles("r.html") == [
        "Scores", "What goes wrong", "Other measures", "For which spans it works",
    ]  # fmt: skip
    assert "By the words in training" in page("r.html").text
    again = tagkit("eval", *compared, "--html", "r.html", "--json")  # a page is replaced
    assert json.loads(again.out)["kind"] == "spans"
    assert "By the words in training" not in page("r.html").text


def test_several_systems_have_a_page_too(tagkit: Program, files: Path) -> None:
    several = ("--gold", "gold.conll", "--pred", "a.conll", "--pred", "b.conll")
    ended = tagkit("eval", *several, "--html", "r.html")
    assert (ended.code, ended.out) == (0, tagkit("eval", *several).out)
    assert titles("r.html") == ["Systems side by side"]
    assert [each.text for each in page("r.html").all("h1")] == ["Comparison of 2 systems"]


def test_a_curve_and_an_audit_are_added(tagkit: Program, files: Path) -> None:
    for kind, name in ((LearningCurve, "curve.json"), (Audit, "audit.json")):
        (record,) = [each.record for each in all_parts() if isinstance(each.record, kind)]
        Path(name).write_text(json.dumps(record.to_dict()), encoding="utf-8")
    added = ("--curve", "curve.json", "--audit", "audit.json")
    tagkit("eval", "--gold", "gold.conll", "--pred", "a.conll", "--html", "r.html", *added)
    assert titles("r.html")[-2:] == ["Would more data help?", "Labels in doubt"]
    ended = tagkit("eval", "--gold", "gold.conll", "--pred", "a.conll", *added)
    assert (ended.code, ended.err) == (2, Says("--curve", "--html"))


@pytest.mark.parametrize("target", ["gold.conll", "a.conll", "b.conll", "b.conll.gz", "no/r.html"])
def test_no_other_file_is_replaced(tagkit: Program, files: Path, target: str) -> None:
    Path("b.conll.gz").write_bytes(gzip.compress(GOLD.encode()))
    before = {each: each.read_bytes() for each in files.iterdir()}
    ended = tagkit("eval", "--gold", "gold.conll", "--pred", "a.conll", "--html", target)
    assert (ended.code, ended.out) == (1, "")
    assert f"error: {target}: " in ended.err
    assert {each: each.read_bytes() for each in files.iterdir()} == before


def test_a_packed_page_is_written_and_replaced(tagkit: Program, files: Path) -> None:
    for _ in range(2):
        ended = tagkit("eval", "--gold", "gold.conll", "--pred", "a.conll", "--html", "r.html.gz")
        assert ended.code == 0
        assert gzip.decompress(Path("r.html.gz").read_bytes()).startswith(b"<!DOCTYPE html>")
