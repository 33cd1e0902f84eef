"""Systems side by side on a page."""

from html_sections import record, rows, section


def test_systems_have_their_interval_their_difference_and_p() -> None:
    root = section("systems", record("systems"))
    table = rows(root, "Systems")
    assert table[1][0].startswith("(1) <script>")
    assert table[1][3:] == ["–"] * 4
    assert table[2][:3] == ["(2) better", "100.00", "100.00 to 100.00"]
    assert table[2][3].startswith("+")
    assert len(list(root.all("circle"))) == 2
    assert rows(root, "Runs with several seeds")[1][:5] == ["(1)", "2", "0.00", "0.00", "0.00"]
    assert rows(root, "Runs with several seeds")[2][1:5] == ["1", "100.00", "100.00", "–"]
    assert rows(root, "F1 by label, %")[0] == ["label", "gold", "(1)", "(2)", "change", "Holm p"]
