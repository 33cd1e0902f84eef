"""Tables of names and numbers."""

from tagkit.evaluation.text_table import table


def test_long_names_are_shortened_and_never_to_the_same() -> None:
    names = [f"{kind}_date.{what}_relative" for kind in ("depart", "arrive") for what in ("a", "b")]
    rows = [(name, "0.5000") for name in names]
    lines = [*table("label", ["f1"], rows, 26)]
    assert len({line.split()[0] for line in lines}) == 5  # at 18 characters they would be three
    # Where nothing is the same, the room is kept.
    assert [*table("label", ["f1"], rows[::2], 26)][1] == "depart_dat...ative  0.5000"
    assert [*table("label", ["f1"], [("short", "1.0000")], 26)][1] == "short  1.0000"
