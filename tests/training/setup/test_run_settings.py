"""The settings of runs whose read-out is solved."""

from tagkit.config import Config, load_config
from tagkit.training.setup.run_settings import is_closed_form, run_settings


def test_a_run_by_gradient_has_its_settings_as_they_are() -> None:
    config = Config()
    assert not is_closed_form(config)
    assert run_settings(config.train) is config.train


def test_a_run_in_closed_form_has_one_epoch_and_no_mean_of_weights() -> None:
    config = load_config(overrides=["train.readout=ridge", "encoder.cell=echo-state"])
    settings = run_settings(config.train)
    assert is_closed_form(config)
    assert (settings.max_epochs, settings.patience, settings.lr, settings.average_decay) == (
        1, 0, 0.0, 0.0,
    )  # fmt: skip
    assert config.train.max_epochs == "auto"
