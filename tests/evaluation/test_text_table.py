"""Tables of names and numbers."""

from tagkit.evaluation.text_table import table


def test_long_names_are_shortened_and_never_to_the_same() -> None:
    names = [f"{kind}_date.{what}_relative" for kind in ("depart", "arrive") for what in ("a", "b")]
    rows = [(name, "0.5000") for name in names]
    lines = [*table("label", ["f1"], rows, 26)]
    assert len({line.split()[0] for line in lines}) == 6  # at 18 characters they would be three
    assert lines == [
        "label                   f1",
        "depart_date.a_relative", "                    0.5000",
        "depart_date.b_relative", "                    0.5000",
        "arrive_date.a_relative", "                    0.5000",
        "arrive_date.b_relative", "                    0.5000",
    ]  # fmt: skip
    # Where nothing is the same, the room is kept.
    assert [*table("label", ["f1"], rows[::2], 26)][1] == "depart_dat...ative  0.5000"
    assert [*table("label", ["f1"], [("short", "1.0000")], 26)][1] == "short  1.0000"


def test_names_that_differ_in_the_middle_keep_a_table_at_its_width() -> None:
    cells = ("0.3443", "0.0935", "-0.2508", "-0.3540 to -0.1496", "<0.001", "0.007")
    heads = ("(1)", "(2)", "change", "95 % interval", "p", "Holm p")
    features = "Definite=Def|Degree=Pos|{}|Number=Sing|PronType=Art"
    names = ["LOC", *(features.format(f"Gender={gender}") for gender in ("Fem", "Neut"))]
    assert [*table("F1 by type", heads, [(name, *cells) for name in names], 80)] == [
        "F1 by type              (1)     (2)   change       95 % interval       p  Holm p",
        "LOC                  0.3443  0.0935  -0.2508  -0.3540 to -0.1496  <0.001   0.007",
        names[1],
        "                     0.3443  0.0935  -0.2508  -0.3540 to -0.1496  <0.001   0.007",
        names[2],
        "                     0.3443  0.0935  -0.2508  -0.3540 to -0.1496  <0.001   0.007",
    ]
    # Longer than a line, they are shortened as far as they differ.
    long = [f"{'a' * 50}{middle}{'b' * 20}" for middle in ("x", "y")]
    lines = [*table("label", ["f1"], [(name, "1.0000") for name in long], 40)]
    assert lines[1::2] == [f"{'a' * 42}...{middle}{'b' * 20}" for middle in ("x", "y")]
    assert lines[2::2] == [f"{'1.0000':>40}"] * 2
