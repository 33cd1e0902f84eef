"""What is chosen from the size of the corpus."""

from tagkit.config import load_config
from tagkit.training.defaults import choose_by_size

NAMES = ("batch_size", "max_epochs", "patience", "lr")


def chosen(sentences: int, *options: str) -> dict[str, object]:
    config = choose_by_size(load_config(None, options), sentences, 14 * sentences).config
    return {name: getattr(config.train, name) for name in NAMES}


def test_nothing_is_chosen_where_all_is_given() -> None:
    options = ("train.batch_size=7", "train.max_epochs=2", "train.patience=3", "train.lr=0.5")
    found = choose_by_size(load_config(None, options), 100, 1400)
    assert found.config == load_config(None, options)
    assert found.reason == ""
