"""What needs no network runs where torch cannot be imported."""

import subprocess
import sys
from pathlib import Path

from says import Says

MODEL = Path(__file__).parents[1] / "fixtures" / "0.2.0" / "tag-crf"
# Whatever a program imports of torch afterwards, and of what imports it, is an error.
NO_TORCH = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchcrf"):
            raise ImportError(f"{name} must not be imported")
sys.meta_path.insert(0, NoTorch())
"""
WORDS = "Ada B-PER\nsings O\n\nOslo B-LOC\n\n"


def run(program: str, folder: Path) -> str:
    """What a program prints where there is no torch, in a folder with two files of tags."""
    (folder / "gold.conll").write_text(WORDS, encoding="utf-8")
    (folder / "pred.conll").write_text(WORDS.replace("B-LOC", "O"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", NO_TORCH + program], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_torch_cannot_be_imported_there(tmp_path: Path) -> None:
    program = "try:\n    import torch.nn\nexcept ImportError as error:\n    print(error)"
    assert run(program, tmp_path) == Says("imported")


def test_corpora_are_read_converted_scored_and_written(tmp_path: Path) -> None:
    program = """
import tagkit
gold, pred = (list(tagkit.read(f"{name}.conll")) for name in ("gold", "pred"))
print(tagkit.evaluate(gold, pred).headline, tagkit.evaluate("gold.conll", "pred.conll").headline)
print(tagkit.analyse(gold, pred) is not None)
tagkit.convert("gold.conll", "gold.jsonl")
span = tagkit.TextSpan("Oslo", 0, 4, "LOC")
token = tagkit.TaggedToken("Oslo", 0, 4, "B-LOC")
answers = [
    tagkit.Prediction(("Oslo",), ("B-LOC",), (tagkit.Span(0, 1, "LOC"),)),
    tagkit.TaggedText("Oslo", ((token,),), (span,)),
]
for name in ("written.conll", "written.jsonl"):
    tagkit.write(answers, name)
    print([[*each.words] for each in tagkit.read(name)])
"""
    first, second, *words = run(program, tmp_path).splitlines()
    assert first.split() == [str(2 / 3)] * 2
    assert second == "True"
    assert words == ["[['Oslo'], ['Oslo']]"] * 2
    assert (tmp_path / "gold.jsonl").is_file()


def test_two_files_are_scored_by_the_command(tmp_path: Path) -> None:
    program = """
from tagkit.cli.main import main
sys.argv = ["tagkit", "eval", "--gold", "gold.conll", "--pred", "pred.conll", "--json"]
try:
    main()
except SystemExit as done:
    assert not done.code
"""
    assert '"f1"' in run(program, tmp_path)


def test_answers_are_rendered(tmp_path: Path) -> None:
    program = """
import tagkit.models.answers.tags, tagkit.models.answers.strings
import tagkit.inference.score.prediction_files
import tagkit.inference.stream.annotate
"""
    assert not run(program, tmp_path)


def test_the_parts_of_a_model_are_read_beside_its_weights(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from tagkit.models.base.description import encoder_name, tag_heads
from tagkit.models.folder.parts import find_bundle
from tagkit.models.folder.parts import read_parts
parts = read_parts(find_bundle(Path({str(MODEL)!r})))
print(parts.config.task, "B-PER" in parts.vocabulary.tags, parts.metadata["tagkit"])
print(encoder_name(parts.config), *tag_heads(parts.config))
import tagkit.models.base.calibration, tagkit.models.base.task, tagkit.models.folder.parts
import tagkit.models.folder.seed_folders
"""
    assert run(program, tmp_path).splitlines() == ["tag True 0.2.0", "BiLSTM CRF"]


def test_words_become_padded_batches(tmp_path: Path) -> None:
    program = f"""
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
import tagkit.features
for module in walk_packages(tagkit.features.__path__, "tagkit.features."):
    import_module(module.name)
from tagkit.features.batching.encoding import encode
from tagkit.features.batching.targets import tag_target
from tagkit.models.folder.parts import find_bundle
from tagkit.models.folder.parts import read_parts
from tagkit.text.records import Sentence
vocabulary = read_parts(find_bundle(Path({str(MODEL)!r}))).vocabulary
sentences = [Sentence(("Ada", "sings"), ("B-PER", "O")), Sentence(("Oslo",), ("O",))]
targets = {{"tags": tag_target(sentences, vocabulary)}}
batch = encode(sentences, vocabulary, targets, chars=True).batch([0, 1])
print(batch.tokens.mask.tolist(), batch.target("tags").shape, "torch" in sys.modules)
"""
    assert run(program, tmp_path) == "[[True, True], [True, False]] (2, 2) False\n"
