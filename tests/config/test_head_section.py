"""Options of the model."""

from tagkit.config import (
    HeadConfig,
)


def test_a_text_may_have_several_classes_where_a_configuration_says_yes() -> None:
    found = {name: HeadConfig(multi_label=name).several_classes for name in ("yes", "no")}
    assert found == {"yes": True, "no": False}
