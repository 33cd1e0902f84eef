"""The scheme of a corpus: one decision for all commands."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kinds import TAGS
from marks import mostly_slow
from says import Says
from span_sentences import sentences

from tagkit.config import DataConfig
from tagkit.corpus.convert.convert import convert_corpus
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.lint.check import check_files
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import DataError, FormatError
from tagkit.evaluation.compare.compare import compare_files
from tagkit.text.records import Sentence, Span
from tagkit.text.scheme_detection import (
    Detection,
    count_steps,
    illegal_count,
    judge,
    scheme_of,
    scheme_of_steps,
)
from tagkit.text.schemes import (
    DISPLAY,
    PLAIN,
    SCHEMES,
    SPAN_SCHEMES,
    convert,
    from_spans,
    has_spans,
    to_spans,
)


def detected(sequences: Sequence[Sequence[str]]) -> Detection:
    return judge(count_steps(sequences)).detection


def tagged(sequences: Sequence[Sequence[str]]) -> list[Sentence]:
    """The sequences as sentences of a file, one line a tag."""
    line = 0
    found = []
    for tags in sequences:
        found.append(Sentence(("w",) * len(tags), tuple(tags), lines=range(line + 1, line + 9)))
        line += len(tags)
    return found


def test_every_scheme_but_plain_labels_has_spans() -> None:
    assert [scheme for scheme in SCHEMES if not has_spans(scheme)] == [PLAIN]
    assert not has_spans(None)


@pytest.mark.parametrize("scheme", SPAN_SCHEMES)
def test_a_scheme_is_recognised_where_only_it_fits(scheme: str) -> None:
    spans = [Span(0, 1, "X"), Span(1, 4, "X"), Span(5, 6, "Y"), Span(6, 8, "X")]
    found = detected([from_spans(spans, 9, scheme)])
    assert found == Detection(scheme, 10, 0)


@given(st.lists(sentences(), min_size=1, max_size=4), st.sampled_from(SPAN_SCHEMES))
def test_the_recognised_scheme_forbids_nothing_in_a_well_formed_corpus(
    corpus: list[tuple[list[Span], int]], scheme: str
) -> None:
    tags = [from_spans([s for s in spans if s.label], length, scheme) for spans, length in corpus]
    found = detected(tags) if any(tags) else Detection("iob2", 0, 0)
    assert found.illegal == 0


@pytest.mark.parametrize("last", ["S-X", "I-X"])
def test_the_scheme_is_judged_over_the_whole_file(last: str) -> None:
    start = [["B-X", "O"]] * 1000  # fits IOB2; so far
    found = detected([*start, [last, "O"], ["B-X", "E-X"], ["I-X", "O"]])
    by_hand = {
        scheme: illegal_count([*start, [last, "O"], ["B-X", "E-X"], ["I-X", "O"]], scheme)
        for scheme in SPAN_SCHEMES
    }
    assert found.illegal == min(by_hand.values())
    ending = [["B-X", "O"]] * 3 + [["B-X", "E-X"]] * 1000
    assert detected(ending) == Detection("iobes", 3 * 1003, 3)


def test_where_several_schemes_fit_iob2_is_taken() -> None:
    assert detected([["B-X", "I-X", "O", "B-Y"]]).scheme == "iob2"
    assert detected([["O", "O"]]) == Detection("iob2", 3, 0)


def test_iob1_differs_from_iob2_by_an_i_that_begins_a_span() -> None:
    tags = [["I-X", "O"], ["I-X", "B-X", "O"]]
    assert detected(tags) == Detection("iob1", 7, 0)


def test_a_few_wrong_tags_are_counted_not_fatal() -> None:
    tags = [["B-X", "I-X", "O"]] * 9 + [["O", "I-X", "O"]]
    found = detected(tags)
    assert found == Detection("iob2", 40, 1)
    assert str(found) == "IOB2 (1 of 40 transitions are illegal)"
    assert str(Detection("iob2", 4000, 1200)) == "IOB2 (1,200 of 4,000 transitions are illegal)"
    assert str(Detection("bilou", 40, 0)) == "BILOU"


@given(
    st.lists(st.lists(st.sampled_from(["O", "B-A", "I-A", "I-B", "E-A", "NN", "B", "X-"]))),
    st.sampled_from(["auto", *SCHEMES]),
    st.sampled_from([None, *SCHEMES]),
)
@example([["B-A"] * 9 + ["NN"]], "auto", None)  # a mistake, by numbers; by kinds plain labels
def test_steps_of_each_kind_decide_as_all_steps_do(
    sequences: list[list[str]], named: str, expected: str | None
) -> None:
    found: list[object] = []
    corpus = [
        Sentence(("w",) * len(tags), tuple(tags), lines=range(len(tags))) for tags in sequences
    ]
    for decide in (
        lambda: scheme_of(corpus, "f", named, expected),
        lambda: scheme_of_steps(count_steps(sequences), "f", named, expected, lambda _: 1, ""),
    ):
        try:
            found.append(decide())
        except FormatError as error:
            found.append(error.problem)
        except DataError as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_bare_prefixes_are_a_scheme_of_one_label() -> None:
    assert detected([["B", "M", "E", "S"], ["S", "B", "E"]]).scheme == "bmes"
    assert detected([["B", "I", "O"]]).scheme == "iob2"


@pytest.mark.parametrize(
    "tags", [["DT", "NN", "VBZ"], ["NN", "B-X", "NN"], ["NN", "O"], ["S", "E"], ["U"]]
)
def test_tags_without_prefixes_are_plain_labels(tags: list[str]) -> None:
    assert detected([tags]) == Detection("labels", len(tags) + 1, 0)


def test_stray_tags_among_those_of_spans_are_named_with_the_line_of_the_first() -> None:
    tags = [["B-PER", "I-PER", "O"]] * 1000 + [["B_PER", "B-", "O"]]
    assert judge(count_steps(tags)).odd == {"B_PER", "B-"}
    with pytest.raises(FormatError) as caught:
        scheme_of(tagged(tags), "a.conll")
    assert str(caught.value) == (
        Says("a.conll:3002", "LABEL", "2,000", "'B-'", "'B_PER'", "2", "data.scheme", "'labels'")
    )


def test_no_sequences_at_all_are_plain_labels_with_nothing_to_count() -> None:
    assert detected([]) == Detection("labels", 0, 0)


# Files for which it is not obvious what scheme they are in: their tags, a sentence a string; the
# scheme, or what is wrong with them; and options.
TRICKY: dict[str, tuple[list[str], str, dict[str, str]]] = {
    "nothing but O": (["O O", "O"], "iob2", {}),
    "fits all but IOB1": (["B-X O", "O B-Y"], "iob2", {}),
    "IOB1 with two spans side by side": (["I-X B-X O", "I-Y"], "iob1", {}),
    "BMES": (["B-X M-X E-X S-X"], "bmes", {}),
    "BMES that is named": (["B-X E-X S-X"], "bmes", {"scheme": "BMES"}),
    "BMES that is named IOBES": (["B-X M-X E-X S-X"], "bmes", {"scheme": "iobes"}),
    "IOBES with one M": (["B-X I-X E-X"] * 9 + ["B-X M-X E-X"], "iobes", {}),
    "IOBES that is named, with one M": (
        ["B-X I-X E-X"] * 9 + ["B-X M-X E-X"], "iobes", {"scheme": "iobes"},
    ),
    "IOBES": (["B-X I-X E-X S-X"], "iobes", {}),
    "IOBES or BMES": (["B-X E-X S-X"], "iobes", {}),
    "BILOU": (["B-X I-X L-X U-X", "O"], "bilou", {}),
    "IOB2 with one mistake": (["B-X I-X O"] * 5 + ["I-X O"], "iob2", {}),
    "bare prefixes": (["B I O", "O B"], "iob2", {}),
    "bare prefixes without B and I": (["S E S", "E"], "labels", {}),
    "parts of speech": (["DT NN VBZ", "NN"], "labels", {}),
    "parts of speech with one B-X": (["DT NN VBZ", "NN B-X", "O"], "labels", {}),
    "spans that are named plain": (["B-X I-X O"], "labels", {"scheme": "labels"}),
    "IOB2 that is named IOB1": (["B-X I-X O"], "iob1", {"scheme": "iob1"}),
    "IOB1 that is named by its synonym": (["I-X B-X"], "iob1", {"scheme": "IOB"}),
    "labels with hyphens": (["B-LOC-GPE I-LOC-GPE", "O"], "iob2", {}),
    "spans with one odd tag": (["B-X I-X O"] * 5 + ["B_X O"], "", {}),
    "plain labels that are named IOB2": (["DT NN VBZ"], "", {"scheme": "iob2"}),
}  # fmt: skip


@pytest.mark.parametrize("name", TRICKY)
def test_check_train_convert_and_eval_name_the_same_scheme(tmp_path: Path, name: str) -> None:
    sequences, expected, options = TRICKY[name]
    path = tmp_path / "corpus.conll"
    blocks = ("".join(f"w {tag} {tag}\n" for tag in tags.split()) for tags in sequences)
    path.write_text("\n".join(blocks), encoding="utf-8")
    data = DataConfig(format="columns", **options)
    found = [*schemes_named(str(path), data)]
    assert found == [expected] * len(found), found


def schemes_named(path: str, data: DataConfig) -> Iterator[str]:
    """What each command takes the tags for; empty where it calls them wrong."""
    by_display = {shown: scheme for scheme, shown in DISPLAY.items()}
    try:  # train
        yield str(read_split(path, data, TAGS, None).scheme)
    except DataError as error:
        yield "" if "expected" in str(error) else str(error)
    report = check_files([path], data)  # check
    (facts,) = report.files
    is_wrong = any(finding.kind == "tag-of-no-scheme" for finding in report.findings)
    yield "" if is_wrong else str(facts.scheme)
    try:  # eval, of a file with gold and predicted tags
        yield by_display[compare_files(path, None, data, -1, False).scheme]
    except DataError as error:
        yield "" if "expected" in str(error) else str(error)
    notes: list[str] = []
    converted = convert_corpus(
        path, data, lambda _: FORMATS["columns"], "bilou", single=True, note=notes.append
    )
    try:  # convert
        list(converted.pieces)
    except DataError as error:
        yield "labels" if "are plain labels" in str(error) else ""
    else:
        (note,) = (note for note in notes if note.startswith("tags: "))
        yield by_display[note.split()[1]]


def test_check_judges_dev_by_the_scheme_of_train_as_training_does(tmp_path: Path) -> None:
    train, dev = tmp_path / "train", tmp_path / "dev"
    train.write_text("a B-X\nb E-X\nc S-X\n", encoding="utf-8")
    dev.write_text("a O\nb O\n", encoding="utf-8")
    data = DataConfig(format="columns")
    schemes = [facts.scheme for facts in check_files([str(train), str(dev)], data).files]
    assert schemes == ["iobes", "iobes"]
    assert read_split(str(dev), data, TAGS, "iobes").scheme == "iobes"
    assert check_files([str(dev)], data).files[0].scheme == "iob2"  # alone


@pytest.mark.parametrize(
    ("file", "scheme", "illegal", "spans"),
    mostly_slow(  # one of each corpus
        [
            ("conll2000/dev.txt", "iob2", 0, 22_207),
            ("conll2002/ned.testa", "iob2", 0, 2_616),
            ("conll2003/eng.testb", "iob1", 0, 5_648),
            ("conll2000/train.txt", "iob2", 0, 106_978),
            ("conll2000/test.txt", "iob2", 0, 23_852),
            ("conll2002/ned.train", "iob2", 0, 13_344),
            ("conll2002/ned.testb", "iob2", 0, 3_941),
            ("conll2003/eng.train", "iob1", 0, 23_499),
            ("conll2003/eng.testa", "iob1", 0, 5_942),
        ],
        always=3,
    ),
)
def test_real_tags_are_recognised_and_their_spans_counted(
    corpora, file: str, scheme: str, illegal: int, spans: int
) -> None:
    text = (corpora / file).read_bytes().decode("latin-1")
    tags = [
        [line.split(" ")[-1] for line in block.split("\n") if not line.startswith("-DOCSTART-")]
        for block in text.split("\n\n")
        if block.strip()
    ]
    tags = [[tag for tag in sequence if tag] for sequence in tags]
    found = detected(tags)
    assert (found.scheme, found.illegal) == (scheme, illegal)
    assert sum(len(to_spans(sequence)) for sequence in tags) == spans
    for target in SPAN_SCHEMES:
        assert all(to_spans(convert(t, target)) == to_spans(t) for t in tags[:2000])
