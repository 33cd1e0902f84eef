"""The script of a form and its lemma makes the lemma of the form."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from says import refuses

from tagkit.text.morphology import (
    apply_script,
    attributes_of,
    edit_script,
    features_of,
    is_script,
    order_of,
)

ANY = st.text(min_size=1)
# Few characters, so that words share some; with cases that change the length of a word.
FEW = st.text("abAB-ßİıſςΣσǅ1", min_size=1, max_size=8)


@given(form=ANY, lemma=ANY)
@example(form="İ", lemma="i")
@example(form="STRASSE", lemma="straße")
@example(form="a\tb;1;2", lemma="x;0;0;=")
def test_a_script_applied_to_its_form_gives_the_lemma(form: str, lemma: str) -> None:
    script = edit_script(form, lemma)
    assert is_script(script)
    assert apply_script(script, form) == lemma


@given(form=FEW, lemma=FEW)
def test_a_script_gives_the_lemma_whatever_the_case_does(form: str, lemma: str) -> None:
    assert apply_script(edit_script(form, lemma), form) == lemma


@given(form=FEW, lemma=FEW, other=ANY)
def test_a_script_makes_one_lemma_of_another_form_or_none(
    form: str, lemma: str, other: str
) -> None:
    script = edit_script(form, lemma)
    found = apply_script(script, other)
    if script.startswith("="):
        assert found == lemma
    else:
        front, end = (int(part) for part in script.split(";")[1:3])
        assert (found is None) == (front + end >= len(other.lower()))


@pytest.mark.parametrize(
    ("form", "lemma", "script"),
    [
        ("went", "go", "=go"),
        ("dogs", "dog", "L0;0;1;0;"),
        ("Dogs", "dog", "L0;0;1;0;"),
        ("tried", "try", "L0;0;3;0;y"),
        ("Oslo's", "Oslo", "U0L1;0;2;0;"),
        ("NATO", "NATO", "U0;0;0;0;"),
        ("gegangen", "gehen", "L0;0;6;0;hen"),
        ("unhappier", "happy", "L0;2;3;0;y"),
        ("stand", "understand", "L0;0;0;5;under"),
        ("McDonald", "McDonald", "U0L1U2L3;0;0;0;"),
        ("iPhones", "iPhone", "L0U1L2;0;1;0;"),
        ("ΓΙΟΥΝΑΪΤΕΝΤ", "Γιουνάιτεντ", "U0L1;0;6;0;άιτεντ"),
        (".", ".", "L0;0;0;0;"),
    ],
)
def test_the_scripts_of_these_words_are(form: str, lemma: str, script: str) -> None:
    assert edit_script(form, lemma) == script
    assert apply_script(script, form) == lemma


def test_words_of_one_paradigm_share_a_script() -> None:
    scripts = {
        edit_script(form, lemma)
        for form, lemma in [("tried", "try"), ("cried", "cry"), ("Carried", "carry")]
    }
    assert len(scripts) == 1
    assert apply_script(scripts.pop(), "replied") == "reply"


def test_a_word_that_is_too_short_for_a_script_has_no_lemma_by_it() -> None:
    assert apply_script("L0;0;3;0;y", "die") is None
    assert apply_script("L0;0;3;0;y", "died") == "dy"


@pytest.mark.parametrize("text", ["", "go", "L0;0;0", "X0;0;0;0;", "L0;-1;0;0;", "L0;99999;0;0;"])
def test_other_texts_are_no_scripts(text: str) -> None:
    assert not is_script(text)
    with refuses(ValueError, "script"):
        apply_script(text, "form")


@given(form=st.text("abc", min_size=1, max_size=5), lemma=st.text("abABC", min_size=6, max_size=9))
def test_the_casing_of_a_longer_lemma_loses_no_character_of_a_shorter_one(
    form: str, lemma: str
) -> None:
    casing = edit_script(lemma, lemma).partition(";")[0]
    found = apply_script(f"{casing};0;0;0;", form)
    assert found is not None
    assert found.lower() == form


NAMES = st.text(st.characters(exclude_characters="|=", exclude_categories=["Cs"]), min_size=1)
VALUES = st.text(st.characters(exclude_characters="|", exclude_categories=["Cs"]))
PAIRS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_", {}),
        ("Case=Nom|Number=Sing", {"Case": "=Nom", "Number": "=Sing"}),
        ("Number[psor]=Plur|PronType=Int,Rel", {"Number[psor]": "=Plur", "PronType": "=Int,Rel"}),
        ("nom|sg", {"nom": "", "sg": ""}),
        ("A=|A", {"A": "=|A"}),
    ],
)
def test_a_value_is_its_attributes(text: str, expected: dict[str, str]) -> None:
    assert attributes_of(text) == expected
    assert features_of(expected, order_of([text])) == text


@given(PAIRS)
def test_the_attributes_of_a_value_give_it_back(pairs: dict[str, str]) -> None:
    text = "|".join(f"{name}={value}" for name, value in pairs.items())
    found = attributes_of(text)
    if text != "_":
        assert found == {name: f"={value}" for name, value in pairs.items()}
        assert features_of(found, order_of([text])) == text


@given(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1), st.data())
def test_the_order_is_that_of_the_treebank(names: list[str], data: st.DataObject) -> None:
    # Any values whose attributes stand in one order, which need not be that of the alphabet.
    texts = []
    for _ in range(4):
        chosen = data.draw(st.sets(st.sampled_from(names)))
        texts.append("|".join(f"{name}=1" for name in names if name in chosen) or "_")
    order = order_of(texts)
    for text in texts:
        assert features_of(attributes_of(text), order) == text


def test_attributes_that_are_never_together_are_sorted_by_name_without_regard_to_case() -> None:
    assert order_of(["b=1", "C=1", "a=1|D=1"]) == ("a", "b", "C", "D")


def test_an_order_that_varies_is_that_of_the_names() -> None:
    assert order_of(["B=1|a=1", "a=1|B=1|c=1"]) == ("a", "B", "c")
