"""Windows of an input that do not cut documents."""

from tagkit.inference.predict.text_windows import windows_of
from tagkit.inference.stream.document_windows import DocumentWindows
from tagkit.text.records import Sentence


def sentence(name: str, document: int | None, words: int = 2) -> Sentence:
    return Sentence((name,) * words, document=document)


def names(windows: object) -> list[str]:
    return ["".join(item.words[0] for item in window) for window in windows]  # type: ignore[attr-defined]


ITEMS = [sentence("a", 1), sentence("b", 1), sentence("c", 2), sentence("d", None),
         sentence("e", 3, 5), sentence("f", 3), sentence("g", 3)]  # fmt: skip


def gathered(window_words: int, document_words: int, max_length: int = 99) -> list[str]:
    """Windows, those that are ready after each item among them; behind | what was left."""
    windows = DocumentWindows[Sentence](window_words, document_words, max_length)
    found = []
    for item in ITEMS:
        found += [*windows.add(item, len(item), item), *windows.ready()]
    return [*names(found), f"|{names([windows.rest()])[0]}"]


def test_an_item_waits_for_the_end_of_its_document() -> None:
    assert gathered(99, 0) == ["a", "b", "c", "d", "e", "f", "g", "|"]
    assert gathered(99, 99) == ["ab", "cd", "|efg"]  # c ends where d begins
    assert gathered(99, 7) == ["ab", "cd", "ef", "|g"]  # parts of up to seven words
    assert gathered(99, 99, max_length=4) == ["ab", "cd", "e", "|fg"]


def test_an_item_of_a_document_that_nothing_marks_need_not_wait() -> None:
    windows = DocumentWindows[Sentence](99, 99, 99, marked_only=True)
    found = []
    for item in (sentence("a", -1), sentence("b", -1), sentence("c", 2), sentence("d", 2)):
        found += [*windows.add(item, len(item), item), *windows.ready()]
    assert names(found) == ["a", "b"]
    assert names([windows.rest()]) == ["cd"]


def test_a_mark_ends_a_document_before_the_next_one_has_a_sentence() -> None:
    windows = DocumentWindows[Sentence](99, 99, 99)
    first, second = sentence("a", 1), sentence("b", 1)
    for item in (first, second):
        assert [*windows.add(item, len(item), item), *windows.ready()] == []
    assert names([*windows.end(), *windows.ready()]) == ["ab"]
    assert windows.rest() == []


def test_windows_end_before_they_are_too_long_and_between_documents() -> None:
    for limit, wanted in ((99, []), (5, ["ab"]), (7, ["abc"])):
        windows = DocumentWindows[Sentence](limit, 99, 99)
        found = [window for item in ITEMS for window in windows.add(item, len(item), item)]
        assert names(found) == wanted
        assert "".join([*names(found), *names([windows.rest()])]) == "abcdefg"


def test_inputs_of_one_document_are_in_one_window() -> None:
    def cut(words: int, document_words: int) -> list[str]:
        return names(
            windows_of(ITEMS, words, lambda _: None, document_words=document_words, max_length=99)
        )

    assert cut(1, 0) == list("abcdefg")
    assert cut(1, 99) == ["ab", "c", "d", "efg"]
    assert cut(5, 99) == ["abc", "defg"]
    assert cut(1, 7) == ["ab", "c", "d", "ef", "g"]
    unmarked = [sentence("a", -1), sentence("b", -1), *ITEMS[2:]]
    apart, together = ["a", "b", "c", "d", "efg"], ["ab", "c", "d", "efg"]
    for marked_only, wanted in ((True, apart), (False, together)):
        windows = windows_of(
            unmarked, 1, lambda _: None, document_words=99, max_length=99, marked_only=marked_only
        )
        assert names(windows) == wanted
