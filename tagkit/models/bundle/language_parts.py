"""Language models inside a saved model: checked and built with it, weights without a pickle.

Their configurations and vocabularies are in `vocabulary.json`, their weights among the others, so
that a model's folder has the same four files as any other, and their digests cover all of it.
"""

from pathlib import Path

from tagkit.config import Config
from tagkit.errors import BundleError, TagkitError
from tagkit.features.language_part import LanguagePart
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.agreement import check_units
from tagkit.models.bundle.language_reader import ContextualReader, LanguageReader, config_of
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.task_table import task_of
from tagkit.wording import quoted


def check_contextual(
    config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
) -> None:
    """Raise unless there is a language model for each that the configuration names.

    Raises:
        BundleError: one is missing or damaged.
    """
    named, parts = len(config.embeddings.contextual), vocabulary.contextual
    if named != len(parts):
        raise BundleError(
            f"{vocabulary_file}: expected {named} language models, as embeddings.contextual has, "
            f"found {len(parts)}"
        )
    for part in parts:
        try:
            inner, units = config_of(part), Vocabulary.from_dict(part.vocabulary)
            task = task_of(inner)
            if task.annotates:
                raise BundleError(f"expected task = 'language-model', found '{inner.task}'")
            task.check(inner, units, config_file, vocabulary_file)
            check_units(inner, units, vocabulary_file)
        except KeyError as error:
            raise BundleError(f"{vocabulary_file}: {_shown(part)}: lacks {error}") from None
        except (TagkitError, ValueError, TypeError) as error:
            raise BundleError(f"{vocabulary_file}: {_shown(part)}: {error}") from None


def build_contextual(vocabulary: Vocabulary) -> ContextualReader | None:
    """The language models of a vocabulary, with fresh weights; None where there are none.

    Raises:
        BundleError: the states of one have another size than the vocabulary says.
    """
    readers = []
    for part in vocabulary.contextual:
        config, units = config_of(part), Vocabulary.from_dict(part.vocabulary)
        model = task_of(config).build(config, units, None)
        assert isinstance(model, LanguageModel)  # the only task that annotates nothing
        if model.encoder.outputs != part.states:
            raise BundleError(
                f"vocabulary: {_shown(part)}: expected states of {model.encoder.outputs} values, "
                f"found {part.states}"
            )
        readers.append(LanguageReader(part, model))
    return ContextualReader(vocabulary.contextual, readers) if readers else None


def _shown(part: LanguagePart) -> str:
    return f"the language model of {quoted(part.path)}"
