"""Callbacks that draw random numbers."""

import pytest
import torch

from tagkit.models.base.device import set_threads
from tagkit.nn.threads import chosen_threads, given_threads
from tagkit.training.events.callbacks import Listener, Step
from tagkit.training.events.undisturbed import undisturbed


class Drawing(Listener):
    def __init__(self) -> None:
        self.told: list[object] = []

    def on_note(self, text: str) -> None:
        torch.rand(3)
        self.told.append(text)

    def on_step(self, step: Step) -> None:
        torch.rand(3)
        raise KeyError(step)


def test_the_next_number_is_the_one_that_was_due_even_after_an_error() -> None:
    torch.manual_seed(1)
    expected = torch.rand(4).tolist()
    drawing = Drawing()
    listener = undisturbed(drawing, torch.device("cpu"))
    torch.manual_seed(1)
    found = [torch.rand(1).item()]
    listener.on_note("a")
    found.append(torch.rand(1).item())
    with pytest.raises(KeyError):
        listener.on_step("step")  # type: ignore[arg-type]
    found.append(torch.rand(1).item())
    listener.on_epoch("epoch")  # type: ignore[arg-type]  # one that it does not have
    found.append(torch.rand(1).item())
    assert found == expected
    assert drawing.told == ["a"]


def test_the_number_of_threads_is_what_it_was_even_after_an_error() -> None:
    class Setting(Listener):
        def on_note(self, text: str) -> None:
            set_threads(3)
            raise KeyError(text)

    before = torch.get_num_threads()
    with given_threads(2):
        with pytest.raises(KeyError):
            undisturbed(Setting(), torch.device("cpu")).on_note("a")
        assert torch.get_num_threads() == 2
        with chosen_threads():
            assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == before


@pytest.mark.cuda
def test_numbers_of_the_gpu_are_those_that_were_due_too() -> None:
    class DrawingThere(Listener):
        def on_note(self, text: str) -> None:
            torch.rand(3, device="cuda")

    torch.manual_seed(1)
    expected = torch.rand(2, device="cuda").tolist()
    listener = undisturbed(DrawingThere(), torch.device("cuda"))
    torch.manual_seed(1)
    found = [torch.rand(1, device="cuda").item()]
    listener.on_note(text="a")
    assert [*found, torch.rand(1, device="cuda").item()] == expected
