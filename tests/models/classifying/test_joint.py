"""Tags and a class in one model."""

from pathlib import Path

import numpy as np
import torch
from small_runs import of_task

from tagkit.models.base.device import to_tensors
from tagkit.training.setup.setup import prepare

CPU = torch.device("cpu")


def test_the_losses_of_tags_and_of_the_class_add_up(tmp_path: Path) -> None:
    torch.manual_seed(1)
    run = prepare(of_task(tmp_path, "both"), CPU)
    model, batch = run.model.eval(), to_tensors(run.encoded.batch(np.arange(7)))
    assert model.head is not None
    assert model.class_head is not None
    assert "tags" in batch.targets
    assert "classes" in batch.targets
    states, final = model.encoder.read(model.inputs(batch), batch.tokens.mask)
    of_tags, tokens = model.head.loss(states, batch.tokens.mask, batch.target("tags"))
    classes = batch.target("classes")
    of_class, texts = model.class_head.loss(states, final, batch.tokens.mask, classes)
    total, count = model(batch)
    assert int(count) == int(tokens) == int(batch.tokens.mask.sum())
    assert int(texts) == 7
    torch.testing.assert_close(total, of_tags + of_class)
