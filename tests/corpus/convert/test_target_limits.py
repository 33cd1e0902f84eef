"""What the target of a conversion cannot hold is said, or refused."""

from pathlib import Path

import pytest

from tagkit.corpus.files import convert
from tagkit.errors import FormatError

LEFT_OUT = "{} has no place for the values of {}: they are left out"


def converted(folder: Path, content: str, to: str, name: str = "a.jsonl") -> list[str]:
    """What is said of a conversion, beside how the input is read."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    notes: list[str] = []
    # A pair of files for brat, and not a folder with a file for each id.
    output = folder / ("out.ann" if to == "brat" else "out")
    convert(path, output, to=to, force=True, note=notes.append)
    return [note for note in notes if ": read as " not in note]


@pytest.mark.parametrize(
    ("target", "lost"),
    [
        ("columns", "id, meta"), ("slash", "id, meta"), ("parallel", "id, meta"),
        ("brat", "id, meta"), ("text", "id, meta"), ("html", "id, meta"), ("conllu", "meta"),
        ("jsonl-tokens", ""), ("jsonl-spans", ""),
    ],
)  # fmt: skip
def test_ids_and_metadata_that_are_left_out_are_named_once(
    tmp_path: Path, target: str, lost: str
) -> None:
    line = '{"id": "q", "meta": {"p": 1}, "tokens": ["a"], "tags": ["B-X"]}\n'
    notes = converted(tmp_path, line + line.replace("q", "r"), target)
    said = [note for note in notes if " the values of " in note]
    assert said == ([LEFT_OUT.format(target, lost)] if lost else [])


@pytest.mark.parametrize(
    ("target", "lost"), [("fasttext", "id, source"), ("folder", "id, source"), ("tsv", "")]
)
def test_columns_that_are_left_out_are_named(tmp_path: Path, target: str, lost: str) -> None:
    notes = converted(tmp_path, "label,id,source,text\nx,1,s,a b\n", target, "a.csv")
    assert notes == ([LEFT_OUT.format(target, lost)] if lost else [])


@pytest.mark.parametrize(
    ("target", "kept", "lost"),
    [
        ("columns", " (except newdoc)", True), ("slash", "", True), ("parallel", "", True),
        ("jsonl-tokens", " (except sent_id)", False),
        ("jsonl-spans", " (except text, sent_id)", False), ("brat", " (except text)", True),
        ("html", " (except text)", True), ("text", None, True), ("conllu", None, False),
    ],
)  # fmt: skip
def test_of_conllu_the_comments_that_are_kept_and_the_ids_that_are_not_are_named(
    tmp_path: Path, target: str, kept: str | None, lost: bool
) -> None:
    word = "1\tOslo\t_\tB-LOC" + "\t_" * 6
    content = "".join(
        f"# newdoc\n# sent_id = s{number}\n# text = Oslo\n{word}\n\n" for number in range(2)
    )
    notes = converted(tmp_path, content, target, "a.conllu")
    said = [note for note in notes if note.startswith("of CoNLL-U")]
    assert said == [
        f"of CoNLL-U, words and tags are taken: other columns and comments{kept} are left out, "
        "multiword tokens and empty nodes too"
    ] * (kept is not None)
    assert (LEFT_OUT.format(target, "id") in notes) == lost


def test_without_ids_none_is_said_to_be_kept_or_left_out(tmp_path: Path) -> None:
    line = "1\tOslo\t_\tPROPN" + "\t_" * 6
    for target in ("columns", "jsonl-tokens"):
        assert converted(tmp_path, f"{line}\n\n", target, "a.conllu")[0] == (
            "of CoNLL-U, words and tags are taken: other columns and comments are left out, "
            "multiword tokens and empty nodes too"
        )


@pytest.mark.parametrize("target", ["folder", "brat"])
def test_ids_of_texts_are_the_names_of_files(tmp_path: Path, target: str) -> None:
    path = tmp_path / "a.jsonl"
    line = '{"id": "q", "n": 1, "text": "a b", "label": "x", "spans": []}\n'
    for number, (lines, changed) in enumerate(
        ((line, False), (line + line, True), (line.replace("q", "q/r"), True))
    ):
        path.write_text(lines, encoding="utf-8")
        notes: list[str] = []
        convert(path, tmp_path / f"out-{number}", to=target, note=notes.append)
        assert LEFT_OUT.format(target, "n") in notes
        said = f"{target} names files after the ids of their texts: ids that are no names of files"
        assert any(note.startswith(said) for note in notes) == changed


@pytest.mark.parametrize("target", ["jsonl-tokens", "parallel"])
@pytest.mark.parametrize("first", ["", '{"text": "a", "label": "x"}\n'])
def test_a_text_with_neither_class_nor_tags_is_refused_where_readers_need_one(
    tmp_path: Path, target: str, first: str
) -> None:
    with pytest.raises(FormatError) as caught:
        converted(tmp_path, first + '{"text": "b", "labels": []}\n', target)
    assert str(caught.value) == (
        f"{tmp_path}/a.jsonl:{2 if first else 1}: {target} needs tags or a class for each text, "
        "and jsonl-texts has none here"
    )
    # Raw text has no labels, and words without them are to be predicted.
    assert converted(tmp_path, "a b\n", target, "a.txt")
