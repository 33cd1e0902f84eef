"""Texts and sentences -> tags, spans, classes, probabilities, offsets.

inputs      `inputs.as_text`: texts -> sentences with offsets
sentences   `sentence_predictor`: sentences -> predictions, in batches
outputs     `inputs.as_tagged`: predictions -> tokens and spans with offsets

Inputs without an end are cut into chunks (`chunks_of`), each of which is predicted as a whole.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, overload

import torch

from tagkit.corpus.records.objects import read_column
from tagkit.corpus.source.rows import column_names
from tagkit.errors import DataError
from tagkit.evaluation.reports.report import Report, stored_headlines
from tagkit.inference.predict.prediction_sets import refuse_removal, require_sets, with_sets
from tagkit.inference.predict.sentence_predictor import SentencePredictor, options_of
from tagkit.limits import BATCH_SIZE, WINDOW_WORDS, check_count
from tagkit.models.answers.kind import PredictionOptions
from tagkit.models.answers.texts import (
    Input,
    OneInput,
    Text,
    as_tagged,
    inputs_of,
    is_one,
    materialized,
    words_of,
)
from tagkit.models.base.device import choose_device
from tagkit.models.base.memory import without_collection
from tagkit.models.bundle.bundle import load_bundle
from tagkit.text.documents import DocumentParts
from tagkit.text.records import (
    Alternative,
    Document,
    Prediction,
    Sentence,
    Span,
    TaggedText,
    TextSets,
)
from tagkit.wording import listed, plural, shown_name


def load(
    path: str | Path, device: str | torch.device = "auto", precision: str = "fp32"
) -> "Predictor":
    """Load a model, ready to predict.

    Args:
        path: folder of the model, or of the training run that wrote it.
        device: "auto", "cpu", "cuda" or "cuda:N", or torch's own name of one of these; it need not
            be the one of training.
        precision: of the encoder's recurrent products: "fp32", or, on a CPU, "bf16" or "int8", for
            which "auto" is the CPU.

    Raises:
        BundleError: the folder holds no complete model, or one of a newer format.
        DeviceError: the device does not exist, or does not support the precision.
    """
    lower = device == "auto" and precision != "fp32"
    # Before the model is read, as it also looks at torch's default type of numbers.
    chosen = choose_device("cpu" if lower else device)
    bundle = load_bundle(Path(path))
    return Predictor(
        bundle.model,
        bundle.vocabulary,
        bundle.config,
        chosen,
        keep_words=True,  # the weights of a loaded model do not change
        precision=precision,
        calibration=bundle.calibration,
        facts=bundle.metadata,
    )


class Predictor(SentencePredictor):
    """A trained model with its vocabulary and configuration, ready to predict.

    It can be pickled, and is then sent to another process without what it has cached: about as
    many bytes as the model has on the disk. It is on the same device there. Files of models never
    hold a pickle.

    Several threads of a program may use it at once. Each call has what is cached of words to
    itself, so that as many caches are kept as calls have run at the same time.

    Attributes:
        answers: what the model predicts of a text: how it is asked for, written and shown.
        config: the resolved configuration of the model.
        device: that it predicts on.
        precision: of the encoder's recurrent products.
        calibration: that was stored with the model, whose heads have its temperatures; None where
            the model was not calibrated.
        keeps_words: whether it caches words from call to call, as one that `load` returns does.
        model: the network; with the next two, the inside of the library.
        vocabulary: of the model.
        task: what depends on what is predicted.
    """

    def __repr__(self) -> str:
        """What the model is: its task and size, its labels, its corpus and its scores."""
        return "\n".join(_described(self, self._facts))

    # A str is an iterable of str too; one str is one text.
    @overload
    def predict(
        self,
        inputs: OneInput,
        options: PredictionOptions | None = ...,
        **named: Any,
    ) -> TaggedText: ...

    @overload
    def predict(
        self, inputs: Iterable[Input], options: PredictionOptions | None = ..., **named: Any
    ) -> list[TaggedText]: ...

    @without_collection()
    def predict(
        self,
        inputs: OneInput | Iterable[Input],
        options: PredictionOptions | None = None,
        **named: Any,
    ) -> Any:
        """Predict tags and spans, with their offsets in the text, and classes of the text.

        Args:
            inputs: one raw text, `Sentence`, `Document` or record (a dictionary with the keys of
                JSON Lines), or several inputs, each of these or a sequence of words; or a table as
                `train` takes it. A raw text is split into sentences and tokens. A line end ends a
                sentence; if texts have classes, each text is read as one sequence.
            options: what is asked of the model; None for the defaults.
            named: fields of `PredictionOptions`, such as confidence, threshold or batch_size, in
                place of those of `options`.

        Returns:
            The prediction for one text, or a list of predictions for several inputs. That of a
            model that writes strings is a `StringAnswer`.

        Raises:
            DataError: a sequence without words, an empty word, texts or words in a dictionary or a
                set, a `Sentence` without the feature columns that the model was trained with, or an
                option that is unknown, out of its range or without effect on the model.
        """
        asked = options_of(options, named)
        texts = self._texts(inputs)
        # All sentences of all texts at once, so that batches are full and of similar length.
        found = iter(self.annotate([each for text in texts for each in text.sentences], asked))
        answers = [
            self.answers.assemble(text, [next(found) for _ in text.sentences]) for text in texts
        ]
        return answers[0] if is_one(inputs) else answers

    def __call__(self, batch: Any, **named: Any) -> dict[str, Any]:
        """The columns of a batch, and what is predicted in further ones, whose names have "pred_".

        So a model is what `Dataset.map(model, batched=True)` of Hugging Face and `map_batches` of
        Ray Data take, and `frame.assign(**model(frame))` of pandas.

        Args:
            batch: columns by name, or a frame, with texts or lists of words.
            named: as for `predict`.

        Raises:
            DataError: as for `predict`, or no column is one of texts or words.
        """
        asked = options_of(None, named)
        texts = read_column(batch, self.config.data, by_token=self.answers.by_token)
        cells = [self.answers.cells_of(each, asked) for each in self.predict(texts, asked)]
        found = {name: [each[name] for each in cells] for name in (cells[0] if cells else ())}
        return {**{name: batch[name] for name in column_names(batch)}, **found}

    def evaluate(self, gold: Any, **named: Any) -> Report:
        """Score the model on a corpus, as `tagkit.evaluate` does.

        Args:
            gold: file or records with gold labels.
            named: parameters of `tagkit.evaluate`, such as strict, note or tag_column.

        Raises:
            DataError: the corpus cannot be read, or its labels are not of the model's kind.
            ConfigError: an option is unknown or has a wrong value.
        """
        import tagkit  # whose public function scores with models

        return tagkit.evaluate(gold, model=self, **named)

    def stream(
        self,
        inputs: Iterable[Input],
        options: PredictionOptions | None = None,
        *,
        window_words: int = WINDOW_WORDS,
        **named: Any,
    ) -> Iterator[TaggedText]:
        """Predict for any number of inputs in constant memory, in their order, as they are read.

        If taking the next input or reading it fails, the predictions for those before it come
        first, and then the error. Several threads need a stream each. Closing a stream does not
        close what the inputs come from.

        Args:
            inputs: any iterable of what `predict` takes: lines of a file, records of `read`, a
                generator that never ends.
            options: as for `predict`; on_removed is called for each chunk.
            window_words: number of words, roughly, that are read before they are predicted
                together. With 1 each input is answered before the next is taken, which is slow. A
                `Sentence` of a document waits for the others of it if the model reads documents, or
                has label consistency.
            named: as for `predict`.

        Raises:
            DataError: as for `predict`; or the inputs are a single text.
        """
        if is_one(inputs):
            kind = type(inputs).__name__
            raise DataError(f"inputs: expected several, found one {kind}: `predict` answers one")
        # Checked here, and not when the first answer is taken, which may be elsewhere.
        several = inputs_of(inputs, self.config.data)
        check_count("window_words", window_words)
        asked = options_of(options, named)
        chunks = chunks_of(
            several,
            window_words,
            self._batches.check_features,
            document_words=self.config.document_words,
            max_length=asked.max_length,
            marked_only=self.config.marked_documents_only,
        )
        return (answer for chunk in chunks for answer in self.predict(chunk, asked))

    # As for `predict`: one str is one text.
    @overload
    def n_best(  # type: ignore[overload-overlap]
        self, inputs: OneInput, count: int = ..., *, batch_size: int = ...
    ) -> list[Alternative]: ...

    @overload
    def n_best(
        self, inputs: Iterable[Input], count: int = ..., *, batch_size: int = ...
    ) -> list[list[Alternative]]: ...

    def n_best(
        self,
        inputs: OneInput | Iterable[Input],
        count: int = 5,
        *,
        batch_size: int = BATCH_SIZE,
    ) -> list[Alternative] | list[list[Alternative]]:
        """The most probable ways to tag each input, in descending order.

        Exact, but for the head "feedback", whose beam search may miss some of them.

        Args:
            inputs: as for `predict`; no sentence is cut, however long it is.
            count: number of ways; a short input may have fewer.
            batch_size: maximum number of sentences in a batch.

        Returns:
            The alternatives for one text, or a list of them for each of several inputs.

        Raises:
            DataError: the model predicts no tags, `count` is below 1, or an input cannot be read,
                as for `predict`.
        """
        texts = self._texts(inputs)
        sentences = [sentence for text in texts for sentence in text.sentences]
        found = iter(self._alternatives(sentences, count, batch_size=batch_size))
        each = [
            alternatives_of_text(text, [next(found) for _ in text.sentences], count)
            for text in texts
        ]
        return each[0] if is_one(inputs) else each

    # As for `predict`: one str is one text.
    @overload
    def predict_sets(
        self,
        inputs: OneInput,
        coverage: float = ...,
        options: PredictionOptions | None = ...,
        **named: Any,
    ) -> TextSets: ...

    @overload
    def predict_sets(
        self,
        inputs: Iterable[Input],
        coverage: float = ...,
        options: PredictionOptions | None = ...,
        **named: Any,
    ) -> list[TextSets]: ...

    @without_collection()
    def predict_sets(
        self,
        inputs: OneInput | Iterable[Input],
        coverage: float = 0.9,
        options: PredictionOptions | None = None,
        **named: Any,
    ) -> TextSets | list[TextSets]:
        """Predict sets of taggings, and of classes, of which one is right as often as asked for.

        Args:
            inputs: as for `predict`; no sentence is cut for its set, however long it is.
            coverage: share of sets that hold the right answer, 0.5 to 0.99, on texts like those
                that the model was calibrated with by `tagkit calibrate`.
            options: as for `predict`, for the answers that the sets stand beside, but for
                `min_confidence`: a set also has answers that are improbable.
            named: as for `predict`.

        Returns:
            The prediction for one text with a set for each of its sentences, or a list of such
            predictions for several inputs.

        Raises:
            DataError: the model has no sets, it is not calibrated, its calibration corpus is too
                small for the coverage, `min_confidence` is given, or an input cannot be read, as
                for `predict`.
        """
        asked = options_of(options, named)
        require_sets(self, coverage)  # before the work
        refuse_removal(asked.min_confidence)
        given = inputs_of(inputs, self.config.data)
        items = [materialized(item) for item in given]  # read twice below
        answers = self.predict(items, asked)
        texts = self._texts(items)
        found = with_sets(self, texts, answers, coverage, batch_size=asked.batch_size)
        return found[0] if is_one(inputs) else found

    def _texts(self, inputs: Any) -> list[Text]:
        """The inputs as the model reads them."""
        data, whole = self.config.data, self.task.is_whole
        given = inputs_of(inputs, data)
        return [self.answers.read(item, data.tokenizer, whole=whole) for item in given]


def _described(predictor: Predictor, facts: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a model; anybody may have edited its metadata, of which plain values count."""
    description = predictor.task.describe(predictor.config)
    size = plural(predictor.model.saved_weights, "parameter")
    yield f"{predictor.config.task}: {description.architecture}, {size}, on {predictor.device}"
    columns = [column.name for column in predictor.vocabulary.columns]
    labels = () if columns else predictor.labels()
    names = {"columns": columns, "labels": labels, "classes": predictor.classes()}
    yield from (f"{what}: {listed(sorted(each))}" for what, each in names.items() if each)
    scores = _tables(facts, "scores")
    for name, corpus in _tables(facts, "data").items():
        if isinstance(count := corpus.get("sentences"), int):
            found = [
                f"; {shown_name(each.measure)} {each.value * (100 if each.is_share else 1):.2f}"
                for each in stored_headlines(scores.get(name, {}))
                if isinstance(each.value, float)
            ]
            corpus_name = shown_name(str(corpus.get("file")))
            yield f"{name}: {corpus_name}, {plural(count, description.unit)}{''.join(found)}"


def _tables(facts: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    found = facts.get(key)
    tables = found.items() if isinstance(found, dict) else ()
    return {shown_name(str(name)): each for name, each in tables if isinstance(each, dict)}


def alternatives_of_text(
    text: Text, found: Sequence[Sequence[Alternative]], count: int
) -> list[Alternative]:
    """The most probable ways to tag a text, in descending order; exact.

    Sentences are tagged independently of each other, so the probability of a tagging of all of
    them is the product of theirs.

    Args:
        text: the text with its sentences.
        found: the best taggings of each sentence, `count` of them unless it has fewer.
        count: of the text's taggings.
    """
    # Of a text's best taggings, each part is among the best of its sentence: so the sentences can
    # be taken one by one, and `count` beginnings are enough. Logarithms, as the products of
    # thousands of sentences would all be 0.
    # (log probability, index of the tagging of each sentence)
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for sentence in found:
        longer = [
            (log + _log(one), (*chosen, index))
            for log, chosen in best
            for index, one in enumerate(sentence)
        ]
        best = sorted(longer, key=lambda each: -each[0])[:count]
    return [
        _joined(text, [found[i][index] for i, index in enumerate(chosen)], log)
        for log, chosen in best
    ]


def _log(one: Alternative) -> float:
    if one.log_probability is not None:
        return one.log_probability
    return math.log(one.probability) if one.probability > 0 else -math.inf


def _joined(text: Text, chosen: Sequence[Alternative], log_probability: float) -> Alternative:
    """One tagging of each sentence as a tagging of the text; spans count words of the text."""
    starts = [0, *accumulate(len(sentence) for sentence in text.sentences)]
    predictions = [
        Prediction(sentence.words, one.tags, one.spans)
        for sentence, one in zip(text.sentences, chosen, strict=True)
    ]
    return Alternative(
        tags=tuple(tag for one in chosen for tag in one.tags),
        spans=tuple(
            Span(start + span.start, start + span.end, span.label)
            for start, one in zip(starts, chosen, strict=False)
            for span in one.spans
        ),
        # Of one sentence to the last digit.
        probability=chosen[0].probability if len(chosen) == 1 else math.exp(log_probability),
        tagged=as_tagged(text, predictions),
        log_probability=log_probability,
    )


def chunks_of(
    inputs: Iterable[Any],
    words: int,
    check: Callable[[Sentence], None],
    *,
    document_words: int = 0,
    max_length: int | None = None,
    marked_only: bool = False,
) -> Iterator[list[Input]]:
    """Cut inputs into chunks of about `words` words, each of at least one input.

    If the next input cannot be taken or read, the chunk before it is complete without it, and the
    error follows.

    Args:
        inputs: anything; what is no input is refused.
        words: number of words that end a chunk.
        check: raises a DataError for a sentence that the model cannot read.
        document_words: maximum number of words of a document that are predicted together, which no
            chunk cuts; 0 if each sentence is by itself.
        max_length: as for `DocumentParts`.
        marked_only: as for `DocumentParts`.
    """
    parts = (
        DocumentParts(document_words, max_length, marked_only=marked_only)
        if document_words
        else None
    )
    chunk: list[Input] = []
    count, failure = 0, None
    iterator = iter(inputs)
    while failure is None:
        try:
            item = materialized(next(iterator))
            size = _word_count(item, check)
        except StopIteration:
            break
        except Exception as error:  # of the caller's iterator too, whatever it is
            failure = error
            break
        if parts is not None and not isinstance(item, Sentence):
            parts.end()
        elif parts is not None and parts.begins(item) and count >= words:
            yield chunk
            chunk, count = [], 0
        chunk.append(item)
        count += size
        if count >= words and (parts is None or not parts.may_continue):
            yield chunk
            chunk, count = [], 0
    if chunk:
        yield chunk
    if failure is not None:
        raise failure


def _word_count(item: Any, check: Callable[[Sentence], None]) -> int:
    """Number of words of an input; of a raw text an estimate, as it is not tokenised yet.

    Raises:
        DataError: it is no input, or the model cannot read it.
    """
    if isinstance(item, Document):
        item = item.text
    if isinstance(item, str):
        return len(item) // 5 + 1  # a word and its blank have about 5 characters or more
    words = words_of(item)
    check(item if isinstance(item, Sentence) else Sentence(words))
    return len(words)
