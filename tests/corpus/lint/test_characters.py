"""Odd characters, and sentences that are too long."""

from pathlib import Path

from lint_reports import check, told
from says import Says

GOOD = "Ada B-PER\nMiller I-PER\nleft O\n\nBen B-PER\nsaw O\nRome B-LOC\n\n"


def test_over_512_tokens_a_sentence_is_long_among_long_ones(tmp_path: Path) -> None:
    report = check(tmp_path, ("w O\n" * 99 + "x B-X\n\n") * 20 + "w O\n" * 513 + "\n")
    ((_, message, _),) = told(report, "long-sentence", tmp_path)
    assert message.startswith("1 sentence over 512 tokens, the longest of 513 (")


def test_a_sentence_that_runs_on_is_told(tmp_path: Path) -> None:
    report = check(tmp_path, GOOD * 30 + "w O\n" * 300 + "\n")
    assert told(report, "long-sentence", tmp_path) == [
        ("warning", "1 sentence over 200 tokens, the longest of 300 (are blank lines missing?)",
         (241,)),
    ]  # fmt: skip


def test_odd_characters_are_named(tmp_path: Path) -> None:
    report = check(tmp_path, "a\u200b B-X\nb\ufffd O\nc\x96 O\nd\xad O\ne\x07 O\nfine\u0301 O\n")
    found = {
        f.message.split(" in ")[0]: f.lines for f in report.findings if f.severity == "warning"
    }
    assert found == {
        "U+200B (ZERO WIDTH SPACE)": (1,),
        "U+FFFD (REPLACEMENT CHARACTER)": (2,),
        "U+0096 (a control character, where Windows-1252 has quotes and dashes: a wrong "
        "encoding?)": (3,),
        "U+00AD (SOFT HYPHEN)": (4,),
        "U+0007 (a control character)": (5,),
    }
    assert told(report, "not-NFC", tmp_path)[0][2] == (6,)


def test_words_that_were_decoded_wrongly_are_told_with_what_they_are(tmp_path: Path) -> None:
    whole = "België é Ñu “ Łódź 日 ß"
    for encoding in ("cp1252", "latin-1"):
        words = whole.split() if encoding == "cp1252" else ["België", "é"]
        wrong = [word.encode().decode("latin-1") for word in words]
        if encoding == "cp1252":
            wrong = [word.encode("latin-1").decode("cp1252", "replace") for word in wrong]
            wrong = [word for word in wrong if "\ufffd" not in word]
        report = check(tmp_path, "".join(f"{word} O\n" for word in (*wrong, *words, "Ãr", "x")))
        ((severity, message, lines),) = told(report, "twice-encoded", tmp_path)
        assert (severity, lines) == ("warning", (*range(1, len(wrong) + 1),))
        assert Says("'BelgiÃ«'", "'België'", "UTF", "8").within(message)
    report = check(tmp_path, "".join(f"{word} O\n" for word in whole.split()))
    assert not told(report, "twice-encoded", tmp_path)


def test_odd_characters_in_labels_and_non_joiners_out_of_place_are_told(tmp_path: Path) -> None:
    report = check(tmp_path, "a B-X\u200b\n\u200cb O\nAuf\u200clage O\n")
    assert told(report, "odd-character", tmp_path) == [
        ("warning", "U+200C (ZERO WIDTH NON-JOINER) in 2 words such as '\\u200cb'", (2, 3)),
        ("warning", "U+200B (ZERO WIDTH SPACE) in 1 label such as 'B-X\\u200b'", (1,)),
    ]


def test_ordinary_characters_of_all_scripts_are_not_odd(tmp_path: Path) -> None:
    words = [
        "Åse",
        "می\u200cخواهم",
        "日本",
        "हिन्दी",
        "🧑🏽",
        "👩\u200d💻",
        "“x”",
        "a\xa0b",
        "naïve",
        "Ω",
        "مرحبا",
    ]
    report = check(tmp_path, "".join(f"{word} B-X\n" for word in words))
    assert not [f for f in report.findings if f.kind == "odd-character"]
