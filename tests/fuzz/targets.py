"""The table of all targets: a row each."""

from functools import partial

from . import commands, configs, linting, models, readers, texts, vectors, writers
from .case import Target
from .samples import SAMPLES

# What reads a model: the process trains one first.
_with_model = partial(Target, warm=models.warm, shrinks=False)

# Shares are of 10,000 inputs. What imports torch, or is slow, has few.
_READERS = tuple(
    Target(name, partial(readers.reader_case, format=name), readers.run_reader, share=250)
    for name in SAMPLES
)
_WRITERS = tuple(
    Target(f"write-{name}", *writers.writer_of(name), share=100, outputs=writers.OUTPUTS)
    for name in SAMPLES
)
_ALL = (
    *_READERS,
    *_WRITERS,
    Target("convert", writers.conversion_case, writers.run_conversion, 1000, writers.OUTPUTS),
    Target("recognition", readers.recognition_case, readers.run_recognition, 700),
    Target("tokenizer", texts.tokenizer_case, texts.run_tokenizer, 800),
    Target("schemes", texts.scheme_case, texts.run_schemes, 500),
    Target("windows", texts.window_case, texts.run_windows, 400),
    Target("config", configs.config_case, configs.run_config, 300, ("out",)),
    Target("vectors", vectors.vectors_case, vectors.run_vectors, 500),
    Target("lint", linting.lint_case, linting.run_lint, 450, ("out", "again")),
    _with_model("checkpoint", models.checkpoint_case, models.run_checkpoint, share=40),
    _with_model("predict", models.predict_case, models.run_predict, share=30, seconds=20.0),
    _with_model("bundle", models.bundle_case, models.run_bundle, share=14),
    _with_model("commands", commands.command_case, commands.run_command, share=40, seconds=30.0,
                outputs=commands.OUTPUTS, shrinks=True),
    _with_model("resume", models.resume_case, models.run_resume, share=1, seconds=60.0,
                outputs=("model",)),
)  # fmt: skip
TARGETS = {target.name: target for target in _ALL}
