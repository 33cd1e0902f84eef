"""A configuration file for a task and corpus: what it says of the corpus, and what it trains."""

from pathlib import Path

import pytest
import tiny
from says import Says, refuses

from tagkit.config import Config, load_config, parse_config, parse_toml
from tagkit.errors import DataError
from tagkit.training.setup.setup import resolve
from tagkit.training.setup.starting_config import detected_task, starting_config
from tagkit.training.trainer import train


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.corpus(tmp_path)
    tiny.classified(tmp_path)
    return tmp_path


def given(folder: Path, *overrides: str, ending: str = "conll") -> Config:
    flags = {"data.train_file": str(folder / f"train.{ending}")}
    return load_config(None, overrides, flags)


def said(text: str, key: str) -> str:
    """The line above an option."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.removeprefix("# ").startswith(f"{key} ="))
    return lines[at - 1]


def test_the_task_is_classify_only_where_there_are_only_classes(folder: Path) -> None:
    tiny.joint(folder)
    assert detected_task(given(folder)) == "tag"
    assert detected_task(given(folder, ending="tsv")) == "classify"
    both = load_config(None, [], {"data.train_file": str(folder / "train")})
    assert detected_task(both) == "tag"  # as `train` does by default
    text = starting_config(both, is_detected=True)
    expected = (
        '# Found in train_file: tags. Its texts have classes too: "both" learns them\n# beside'
    )
    assert expected in text
    assert '# Found in train_file: tags.\ntask = "tag"' in starting_config(
        given(folder), is_detected=True
    )
    assert "Found" not in starting_config(given(folder))  # it was named


def test_comments_say_what_a_tagger_reads_and_chooses(folder: Path) -> None:
    text = starting_config(given(folder), ["For training."])
    assert text.startswith("# For training.\n\n# train:")
    said_of_train = f"train: {folder}/train.conll: 72 sentences, "
    assert said_of_train in text.replace("\n# ", " ")
    # The comments are those of the run itself.
    resolved = resolve(given(folder)).config
    assert said(text, "lr") == f"# For this corpus: {resolved.train.lr}."
    assert said(text, "batch_size") == "# For this corpus: 4."
    assert said(text, "scheme") == '# For this corpus: "iob2".'
    assert said(text, "format") == '# For this corpus: "columns".'
    assert said(text, "constrain") == '# For this corpus: "decode".'
    assert said(text, "metric") == '# For this corpus: "f1".'
    assert said(text, "dev_fraction") == "# For this corpus: 8 sentences of 80."
    assert "\n# token_column = 0\n" in text
    assert "\n# tag_column = 1\n" in text
    assert Says("2", "separated").within(text.replace("\n# ", " "))
    assert "(data.format chooses another format)" in text.replace("\n# ", " ")


def test_comments_say_what_a_classifier_reads_and_chooses(folder: Path) -> None:
    text = starting_config(given(folder, "task=classify", ending="tsv"))
    assert "90 texts" not in text  # some are held out
    assert ", 3 classes" in text.replace("\n# ", " ")
    assert said(text, "header") == '# For this corpus: "yes".'
    assert said(text, "multi_label") == '# For this corpus: "no".'
    assert said(text, "metric") == '# For this corpus: "accuracy".'
    assert "constrain" not in text
    bare = folder / "bare.tsv"
    rows = (folder / "train.tsv").read_text("utf-8").split("\n", 1)[1]
    bare.write_text(rows, "utf-8")
    without = load_config(None, ["task=classify"], {"data.train_file": str(bare)})
    assert said(starting_config(without), "header") == '# For this corpus: "no".'


def test_columns_of_conllu_have_their_names(folder: Path) -> None:
    rows = [f"{i}\t{w}\t_\t{t}\t_\t_\t0\t_\t_\t_" for i, (w, t) in
            enumerate([("Ada", "PROPN"), ("runs", "VERB")], 1)]  # fmt: skip
    path = folder / "train.conllu"
    path.write_text("".join(f"{rows[0]}\n{rows[1]}\n\n" for _ in range(5)), "utf-8")
    text = starting_config(load_config(None, [f"data.train_file={path}"]))
    assert '# tag_column = "UPOS"\n' in text
    assert '# token_column = "FORM"\n' in text
    assert said(text, "metric") == '# For this corpus: "accuracy".'
    assert said(text, "constrain") == '# For this corpus: "none".'  # plain labels


def test_each_of_several_columns_is_counted(folder: Path) -> None:
    tiny.treebank(folder)
    listed = 'data.tag_column=["UPOS", "MISC.NER"]'
    text = starting_config(
        load_config(None, [f"data.train_file={folder / 'train.conllu'}", listed])
    )
    assert "tokens, UPOS 3 labels, MISC.NER 2 types (IOB2)" in text.replace("\n# ", " ")


def test_of_the_vectors_one_tells_their_dimension(folder: Path) -> None:
    vectors = folder / "vectors.txt"
    vectors.write_text("ada 1 2 3\nrome 3 4 5\noslo 1 x 2\n", "utf-8")  # the last one is not read
    text = starting_config(given(folder, f"embeddings.vectors={vectors}"))
    assert said(text, "word_dim") == "# For this corpus: 3."
    assert said(text, "affix_dim") == "# For this corpus: 50."


@pytest.mark.parametrize(("task", "ending"), [("tag", "conll"), ("classify", "tsv")])
@pytest.mark.slow
def test_it_trains_the_model_that_the_corpus_trains_without_it(
    folder: Path, task: str, ending: str
) -> None:
    small = ["encoder.hidden=8", "embeddings.word_dim=8", "train.max_epochs=2", f"task={task}",
             "embeddings.char_hidden=4", "train.device=cpu"]  # fmt: skip
    plain = given(folder, *small, f"output.dir={folder / 'plain'}", ending=ending)
    text = starting_config(given(folder, f"task={task}", ending=ending))
    table = parse_toml(text.encode())
    assert parse_config(table, "text") == given(folder, f"task={task}", ending=ending)
    path = folder / "written.toml"
    path.write_text(text, "utf-8")
    written = load_config(path, [*small, f"output.dir={folder / 'written'}"])
    for config in (plain, written):
        train(config)
    ours, theirs = (
        (folder / name / "best" / "model.safetensors").read_bytes() for name in ("plain", "written")
    )
    assert ours == theirs


def test_what_training_would_refuse_is_refused(folder: Path) -> None:
    with refuses(DataError):
        starting_config(load_config(None, ["data.train_file=none.conll"]))
    with refuses(DataError, "standard"):
        detected_task(load_config(None, ["data.train_file='-'"]))
    with refuses(DataError, "metric"):
        starting_config(given(folder, "train.metric=bleu"))
