"""`tagkit info`: what a model is."""

import json
import re
import shutil
from pathlib import Path

from program import Program
from small_runs import of_task

from tagkit import __version__
from tagkit.training.trainer import train


def test_info_tells_what_the_model_is(tagkit: Program, model: Path) -> None:
    ended = tagkit("info", model)
    assert ended.code == 0
    for text in (
        "BiLSTM with CRF",
        f"tagkit {__version__}, torch ",
        "train.conll: 80 sentences",
        "labels      LOC, PER",
        "tags        of the same label or with the same prefix share a part of their scores",
        "features    a CRF of word features, which counts ",
        "test F1     ",
    ):
        assert text in ended.out
    facts = json.loads(tagkit("info", model, "--json").out)
    assert facts["config"]["encoder"]["hidden"] == 16
    assert facts["format_version"] == 2
    assert "columns" not in facts


def test_info_says_how_much_word_features_count(tagkit: Program, model: Path) -> None:
    # The share is chosen at the end of a run, and the last epoch's model has none.
    best, last = (tagkit("info", model / name).out for name in ("best", "last"))
    assert re.search(r"features, which counts (nothing|[0-9]+ % beside the network)$", best, re.M)
    assert "features    a CRF of word features, which counts nothing\n" in last


def test_info_says_that_it_shows_the_last_model_of_a_run_without_a_score(
    tagkit: Program, model: Path, tmp_path: Path
) -> None:
    shutil.copytree(model / "last", tmp_path / "run" / "last")
    said = f"model       {tmp_path}/run (last/, as no epoch of the run has been scored): BiLSTM"
    assert tagkit("info", tmp_path / "run").out.startswith(said)
    assert tagkit("info", model / "last").out.startswith("model       model/last: BiLSTM")


def test_info_tells_the_classes(tagkit: Program, intents: Path) -> None:
    out = tagkit("info", intents / "model").out
    assert re.search(r"^classes +greet, leave, order$", out, re.M)
    assert re.search(r"^test accuracy [01\d]+\.\d\d \(classes\)$", out, re.M)
    assert re.search(r"^train +\S+train.tsv: 90 texts, ", out, re.M)
    assert "reads" not in out


def test_as_json_each_column_of_a_model_has_its_labels(tagkit: Program, tmp_path: Path) -> None:
    trained = train(of_task(tmp_path, "columns", "train.max_epochs=1"))
    facts = json.loads(tagkit("info", trained.folder, "--json").out)
    found = {column["name"]: column["parts"] for column in facts["columns"]}
    expected = {each.name: each.parts for each in trained.predictor.vocabulary.columns}
    assert found == {name: {k: [*v] for k, v in parts.items()} for name, parts in expected.items()}
    assert [*found] == ["UPOS", "FEATS", "LEMMA", "MISC.NER"]


def test_info_says_what_chose_the_epoch_where_it_is_not_the_headline(
    tagkit: Program, tmp_path: Path
) -> None:
    trained = train(of_task(tmp_path / "data", "tag", "train.metric=loss", "train.max_epochs=1"))
    out = tagkit("info", trained.folder).out
    assert "epoch       1 of 1, chosen by loss on dev, seed 1\n" in out
