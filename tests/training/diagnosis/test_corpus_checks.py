"""What is wrong with corpora and vectors is said; sound ones are not remarked on."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import tiny
import torch
from says import Says

from tagkit.config import load_config
from tagkit.training.diagnosis.corpus_checks import CORPUS_CHECKS, diagnose_corpus
from tagkit.training.events.callbacks import Finding
from tagkit.training.setup.setup import prepare

TRAVEL = Path(__file__).parents[3] / "data" / "travel"
ADA = ["Ada\tB-PER", "saw\tO", "the\tO", "old\tO", "town\tO", "of\tO", "Rome\tB-LOC"]


def numbered(count: int, first: int = 0) -> list[list[str]]:
    """Sentences that differ in a word, each with a person and a place."""
    return [[f"x{number}\tO", *ADA] for number in range(first, first + count)]


def found(folder: Path, *overrides: str, **files: list[list[str]]) -> list[Finding]:
    flags = {
        f"data.{name}_file": str(tiny.write(folder / f"{name}.conll", sentences))
        for name, sentences in files.items()
    }
    return of_files(*overrides, **flags)


def of_files(*overrides: str, **flags: object) -> list[Finding]:
    # Without what is fitted before the first step: the corpus alone is looked at.
    small = ["encoder.hidden=4", "embeddings.word_dim=4", *overrides]
    small += ["head.feature_crf=0"] if flags.get("task", "tag") == "tag" else []
    return list(diagnose_corpus(prepare(load_config(None, small, flags), torch.device("cpu"))))


def said(findings: list[Finding]) -> list[str]:
    return [f"{finding.name}: {finding.text}" for finding in findings]


def vectors(folder: Path, *words: str) -> str:
    rows = "".join(f"{word} 0.1 0.2 0.3 0.4\n" for word in words)
    path = folder / "vectors.txt"
    path.write_text(rows, encoding="utf-8")
    return f"embeddings.vectors={path}"


@pytest.mark.parametrize(("ending", "task"), [("conll", "tag"), ("tsv", "classify")])
def test_the_sample_corpora_have_no_finding(ending: str, task: str) -> None:
    files = {f"data.{name}_file": str(TRAVEL / f"{name}.{ending}")
             for name in ("train", "dev", "test")}  # fmt: skip
    assert of_files(task=task, **files) == []


Sentences = list[list[str]]
WORDS = numbered(40)
GENES = [["the\tO", "p53\tB-GENE", "gene\tI-GENE", "and\tO", "aspirin\tB-DRUG"],
         ["the\tO", "BRCA1\tB-GENE"]]  # fmt: skip
LETTERS = [["a\tO", f"w{number}\tB-L{number}"] for number in range(20)]
RARE = [["a\tO", f"w\tB-R{number}"] for number in range(7) for _ in range(number + 1)]
TEN = [["a\tO", f"w{number}\tB-RARE"] for number in range(10)]
THANKS = [["Thank\tO", "you\tO", "Ada\tB-PER"]] * 9
IOBES = [[line.replace("B-", "S-") for line in sentence] for sentence in numbered(10, 20)]
NOUNS = [[f"w{number}\tNN\tO"] for number in range(20)]
PLAIN = [[f"x{number}\tNN", "go\tVB"] for number in range(20)]
OF_COLUMNS = "labels of column 1 into others: so few are hardly learnt"
TOO_GOOD = "so that its scores are too good. "

# Corpora, with the options that they are read with, and how what is said of them begins.
CORPORA: list[tuple[dict[str, Sentences], list[str], list[str]]] = [
    ({"train": numbered(20), "dev": numbered(10, 20), "test": numbered(10, 30)}, [], []),
    # Labels that train lacks.
    ({"train": numbered(20), "dev": numbered(9, 20) + GENES, "test": numbered(9, 30) + GENES[1:]},
     [],
     ["unknown-labels: dev has 2 labels that train lacks, so that the model cannot predict them: "
      "GENE (2), DRUG (1). Move some examples of them to train, or correct the spelling",
      "unknown-labels: test has 1 label that train lacks, so that the model cannot predict it: "
      "GENE (1). Move some examples of it to train, or correct the spelling"]),
    # Labels with few examples, the rarest first; ten are enough.
    ({"train": numbered(20) + RARE, "dev": numbered(10, 20)}, [],
     ["few-examples: train has 7 labels with fewer than 10 examples: R0 (1), R1 (2), R2 (3), R3 "
      "(4), R4 (5) and 2 more. Label more examples, or merge rare labels into others: so few are "
      "hardly learnt, and their scores are mostly chance."]),
    ({"train": numbered(20) + TEN, "dev": numbered(10, 20)}, [], []),
    ({"train": numbered(20) + TEN[1:], "dev": numbered(10, 20)}, [],
     ["few-examples: train has 1 label with fewer than 10 examples: RARE (9). "]),
    # A dev corpus larger than train.
    ({"train": numbered(20), "dev": numbered(21, 20)}, [],
     ["large-dev: dev has 21 sentences, and train only 20. Move most of dev to train, from which "
      "the model learns; if the two were mixed up, exchange data.train_file and data.dev_file."]),
    ({"train": numbered(20), "dev": numbered(20, 20)}, [], []),
    # Sentences of train in dev, from five percent on.
    ({"train": WORDS, "dev": WORDS[:3] + numbered(20, 40)}, [],
     ["duplicates: 3 of 23 sentences of dev with at least 5 words (13 %) occur in train too, "
      f"{TOO_GOOD}Remove them from train or from dev; tagkit check lists them."]),
    ({"train": WORDS, "dev": WORDS[:1] + numbered(19, 40)}, [], []),
    # Short sentences occur twice by chance, and prove no leak; nor are they counted.
    ({"train": WORDS + THANKS, "dev": numbered(19, 40) + THANKS}, [], []),
    ({"train": WORDS + THANKS, "dev": WORDS + THANKS}, [],
     ["duplicates: 40 of 40 sentences of dev with at least 5 words (100 %)"]),
    # Sentences of dev in test, as dev chooses the epoch.
    ({"train": WORDS, "dev": numbered(20, 40), "test": numbered(2, 40) + numbered(18, 60)}, [],
     ["duplicates: 2 of 20 sentences of test with at least 5 words (10 %) occur in dev too, which "
      f"chooses the best epoch, {TOO_GOOD}Remove them from dev or from test; tagkit check lists"]),
    ({"train": WORDS, "dev": numbered(20, 40), "test": numbered(1, 40) + numbered(19, 60)}, [], []),
    # Of what the run has drawn from train, train is named alone; it is no file to change.
    ({"train": WORDS, "test": WORDS}, [],
     ["duplicates: 36 of 40 sentences of test with at least 5 words (90 %) occur in train too, "
      f"{TOO_GOOD}"]),
    ({"train": numbered(20), "dev": IOBES}, [],
     ["other-scheme: train is in IOB2, and dev looks like IOBES: 40 transitions of dev are illegal "
      "in IOB2. If dev is in IOBES all is well, as predictions are converted for the scores; "
      "otherwise correct the tags that tagkit check lists."]),
    ({"train": numbered(20), "dev": numbered(9, 20), "test": [["x\tO", "y\tO"]] * 5}, [],
     ["no-labels: every tag of test is O, so that scores on it mean nothing. Check that it is the "
      "right file, and the right column of it (data.tag_column)."]),
    ({"train": PLAIN, "dev": [["x\tNN", "y\tNN"]]}, [],
     ["one-label: every token of dev has the label 'NN': a model that always predicts it scores "
      "100. Move some sentences with other labels to dev."]),
    # Not to find a span is an answer too.
    ({"train": numbered(20), "dev": [["Ada\tB-PER"], ["Bob\tB-PER", "Eve\tO"]]}, [], []),
]  # fmt: skip


@pytest.mark.parametrize(("files", "options", "expected"), CORPORA)
def test_corpora_have_these_findings_and_no_others(
    tmp_path: Path, files: dict[str, Sentences], options: list[str], expected: list[str]
) -> None:
    texts = said(found(tmp_path, *options, **files))
    assert len(texts) == len(expected), texts
    assert all(map(str.startswith, texts, expected)), texts


def test_what_the_run_has_held_out_is_not_moved_or_removed(tmp_path: Path) -> None:
    finding, *_ = found(tmp_path, train=LETTERS)
    assert (finding.name, finding.remedy) == (
        "unknown-labels",
        "Label more examples of them, of which the run has held out all, or correct the spelling "
        "where train has them under another name",
    )
    (finding,) = found(tmp_path, train=WORDS + WORDS)
    assert finding.remedy == (
        "Name a dev corpus with data.dev_file, or leave in train each text once; tagkit check "
        "lists the others"
    )


def test_labels_of_a_numbered_column_are_said_to_be_of_it(tmp_path: Path) -> None:
    train, dev = [*NOUNS, ["a\tA\tO", "b\tB\tB-X"]], [*NOUNS[:9], ["c\tNN\tB-X"]]
    findings = found(tmp_path, "data.tag_column=[1,-1]", train=train, dev=dev)
    few, few_last = (each.text for each in findings if each.name == "few-examples")
    assert few.startswith(
        "train has 2 labels of column 1 with fewer than 10 examples: A (1), B (1). Label more "
        f"examples, or merge rare {OF_COLUMNS}"
    )
    assert few_last.startswith("train has 1 label of column -1 with fewer than 10 examples: X (1)")


def test_vectors_for_less_than_half_of_the_words_are_named_with_what_they_show(
    tmp_path: Path,
) -> None:
    files = {"train": [ADA] * 20, "dev": numbered(5)}
    few = vectors(tmp_path, "ada", "saw", "haus")
    assert said(found(tmp_path, few, **files)) == [
        "few-vectors: only 2 of 7 training words (29 %) have a vector in vectors.txt. Check that "
        "they are of the corpus's language, or use other vectors or none (embeddings.vectors)."
    ]
    enough = vectors(tmp_path, "ada", "saw", "the", "old", "haus")
    assert found(tmp_path, enough, **files) == []
    dev = [["Ada\tB-PER", "Oslo\tB-LOC"]] * 5
    for words, option, sentence, remedy in (
        # They look the same as those of the vectors.
        (("Åse", "Öst", "Göran"), [], ["A\u030ase\tB-PER", "O\u0308st\tO", "Go\u0308ran\tO"],
         "Bring the corpus into Unicode's composed form (NFC)"),
    ):  # fmt: skip
        options = [vectors(tmp_path, *words), *option]
        findings = found(tmp_path, *options, train=[sentence] * 20, dev=dev)
        (finding,) = (each for each in findings if each.name == "few-vectors")
        assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize("lowercase", ["true", "false"])
def test_words_are_counted_as_they_are_looked_up(tmp_path: Path, lowercase: str) -> None:
    train = [["Ada\tB-PER", "Rome\tB-LOC", "in\tO", "1912\tO", "1913\tO"]] * 20
    files = {"train": train, "dev": [["Ada\tB-PER", "Rome\tB-LOC"]] * 5}
    option = f"embeddings.lowercase={lowercase}"
    # As they are written, in lower case, and with their digits as 0.
    for words in (("Ada", "1912", "1913"), ("ada", "rome", "in"), ("Ada", "0000")):
        assert found(tmp_path, vectors(tmp_path, *words), option, **files) == []
    (finding,) = found(tmp_path, vectors(tmp_path, "Ada", "ROME", "1912"), option, **files)
    assert finding.sentence.startswith("only 2 of 5 training words (40 %) have")


def files_of_classes(folder: Path, **classes: Sequence[str]) -> dict[str, str]:
    """Files of texts with these classes, by the options that name them."""
    files = {}
    for name, labels in classes.items():
        path = folder / f"{name}.tsv"
        lines = [f"{label}\ta text of {n} {name}\n" for n, label in enumerate(labels)]
        path.write_text("label\ttext\n" + "".join(lines), encoding="utf-8")
        files[f"data.{name}_file"] = str(path)
    return files


def test_classes_are_diagnosed_as_labels_are(tmp_path: Path) -> None:
    rows = {"train": ["tea"] * 12 + ["sport"] * 9, "dev": ["tea"] * 5 + ["cake"] * 2}
    files = files_of_classes(tmp_path, **rows)
    assert [finding.sentence for finding in of_files(task="classify", **files)] == [
        Says("1", "2", "predict"),
        "train has 1 class with fewer than 10 examples: sport (9)",
    ]


def of_classes(folder: Path, *overrides: str, **classes: str) -> list[str]:
    """What is said of files of texts whose classes are the letters."""
    return said(of_files(*overrides, task="classify", **files_of_classes(folder, **classes)))


def test_a_class_that_may_be_the_name_of_its_column_is_not_called_rare(tmp_path: Path) -> None:
    rows = "".join(f"a text {n},{('good', 'bad')[n % 2]}\n" for n in range(40))
    train, dev = tmp_path / "train.csv", tmp_path / "dev.csv"
    dev.write_text(rows.replace("text", "page"), encoding="utf-8")
    files = {"task": "classify", "data.train_file": str(train), "data.dev_file": str(dev)}
    for content, expected in (
        (f"Satz,Klasse\n{rows}", []),  # of which a note asks whether it is
        (f"{rows}Satz,Klasse\n", ["train has 1 class with fewer than 10 examples: Klasse (1)"]),
    ):
        train.write_text(content, encoding="utf-8")
        assert [finding.sentence for finding in of_files(**files)] == expected


def test_a_dev_corpus_of_one_class_is_named(tmp_path: Path) -> None:
    always = "a model that always predicts it scores 100"
    both = "a" * 20 + "b" * 20
    assert of_classes(tmp_path, train=both, dev="aaaa", test="bb") == [
        f"one-label: every text of {name} has the class '{label}': {always}. Move some texts with "
        f"other classes to {name}."
        for name, label in (("dev", "a"), ("test", "b"))
    ]
    for dev in ("aaab", "a"):  # of one text it cannot be otherwise
        assert of_classes(tmp_path, train=both, dev=dev) == []
    # The only text of the other class is for learning.
    dev = (
        f"one-label: every text of dev has the class 'a': {always}. Name a dev corpus with "
        "data.dev_file, hold out more of train with data.dev_fraction, or label more texts with "
        "other classes."
    )
    assert of_classes(tmp_path, "train.seed=1", train="a" * 30 + "b")[0] == dev


def test_classes_that_a_tagger_does_not_learn_are_not_remarked_on(tmp_path: Path) -> None:
    files = tiny.joint(tmp_path)
    for name in ("dev", "test"):
        label = tmp_path / name / "label"
        label.write_text(label.read_text().replace("long", "other"))
    names = [finding.name for finding in of_files(task="both", **files)]
    assert "unknown-labels" in names
    assert "unknown-labels" not in [finding.name for finding in of_files(task="tag", **files)]


def test_each_check_has_a_name_of_its_own() -> None:
    assert len({check.name for check in CORPUS_CHECKS}) == len(CORPUS_CHECKS)


OF_REAL_CORPORA = {
    "conll2000": (["train.txt", "dev.txt", "test.txt"], {}, [
        "train has 1 label with fewer than 10 examples: UCP (2)"]),
    "conll2003": (["eng.train", "eng.testa", "eng.testb"], {}, []),
    "trec": (["train.txt", "", "test.txt"],
             {"task": "classify", "data.encoding": "latin-1"}, []),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_REAL_CORPORA)
def test_findings_on_real_corpora_are_true_and_take_little_time(name: str, corpora: Path) -> None:
    files, more, expected = OF_REAL_CORPORA[name]
    named = zip(("train", "dev", "test"), files, strict=True)
    flags = {f"data.{split}_file": str(corpora / name / file) for split, file in named if file}
    prepared = prepare(load_config(flags={**flags, **more}), torch.device("cpu"))
    began = time.process_time()
    assert [finding.sentence for finding in diagnose_corpus(prepared)] == expected
    assert time.process_time() - began < 5


def test_classes_in_one_cell_are_learnt_as_classes_of_their_own(tmp_path: Path) -> None:
    classes = ["sport", "money", "money,sport"]
    rows = [f"{classes[number % 3]}\ta text of number {number}\n" for number in range(60)]
    files = {"data.train_file": "train", "data.dev_file": "dev"}
    for place, (option, name) in enumerate(files.items()):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(rows[30 * place :][:30]), encoding="utf-8")
        files[option] = str(path)
    columns = ["data.label_column=0", "data.text_column=1"]
    (text,) = said(of_files(*columns, task="classify", **files))
    assert text.startswith("joined-classes: ")
    assert Says("1", "'money,sport'", "consists") == text


def said_of_raw_text(folder: Path, words: str, *options: str) -> list[str]:
    """What is said_of_raw_text of ten sentences of these words, each a place."""
    sentence = [
        f"{word}\t{'B-X' if place % 2 else 'O'}" for place, word in enumerate(words.split())
    ]
    flags = {
        f"data.{name}_file": str(tiny.write(folder / f"{name}.conll", [sentence] * 10))
        for name in ("train", "dev")
    }
    small = ["encoder.hidden=4", "embeddings.word_dim=4", "head.feature_crf=0", *options]
    prepared = prepare(load_config(None, small, flags), torch.device("cpu"))
    found = [each for each in diagnose_corpus(prepared) if each.name == "other-words"]
    return [each.text for each in found]


@pytest.mark.parametrize(
    "words",
    [
        "Ada saw old Rome .",
        "Ada 's well-known dog barked at nine .",  # one in eight is no token
        "李 雷 在 北 京 iPhone 2024 。",
        "ส วั ส ดี",
    ],
)
def test_nothing_is_said_of_words_that_are_tokens(tmp_path: Path, words: str) -> None:
    assert said_of_raw_text(tmp_path, words) == []


@pytest.mark.parametrize(
    ("words", "share", "example"),
    [
        ("李雷 在 北京 Rome", 50, "李雷"),
        ("ส ว ั ส ด ี", 67, "ี"),  # marks by themselves
        ("@ben @ada saw Rome", 50, "@ben"),
    ],
)
def test_words_that_are_no_tokens_are_named(
    tmp_path: Path, words: str, share: int, example: str
) -> None:
    (text,) = said_of_raw_text(tmp_path, words)
    assert text.startswith(
        f"raw text is cut into other words than train: {share} % of those of train, such as "
    )
    assert " are no tokens of it. To predict for raw text, train with data.tokenizer=blanks" in text
    assert said_of_raw_text(tmp_path, words, "data.tokenizer=blanks") == []
