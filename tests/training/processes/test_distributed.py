"""Several processes that train one model: the same weights as one, the same scores, one writer."""

import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from runs import settings_without_chance
from safetensors.torch import load_file
from says import refuses

from tagkit.errors import WriteError
from tagkit.training.processes.distributed import Processes
from tagkit.training.trainer import train

pytestmark = pytest.mark.usefixtures("full_fits")  # as in processes of their own

PROGRAM = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tagkit.errors import Interrupted
from torch import distributed
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.trainer import train
from runs import StopAt, settings_without_chance
sent, send = {}, distributed.all_reduce
def counted(tensor):
    dtype = str(tensor.dtype)
    sent[dtype] = max(sent.get(dtype, 0), tensor.numel())
    return send(tensor)
distributed.all_reduce = counted
if os.environ["RANK"] == "0":  # it makes the folder, and comes last
    locked = RunFolder.locked
    def late(folder, note):
        time.sleep(1)
        return locked(folder, note)
    RunFolder.locked = late
listener = StopAt(int(sys.argv[3]))
try:
    config = settings_without_chance(Path(sys.argv[2]), *sys.argv[4:], write=False)
    trained = train(config, listener, resume=True, stop=listener.stop)
except Interrupted:
    sys.exit(7)
parameters = sum(p.numel() for p in trained.predictor.model.parameters())
print(json.dumps({"scores": [epoch.score for epoch in trained.epochs],
                  "loss": [epoch.loss for epoch in trained.epochs],
                  "sent": sent, "parameters": parameters}))
"""


def run_two(
    folder: Path, *overrides: str, stop_at: int = 10**6
) -> list[subprocess.CompletedProcess[str]]:
    """Two processes, each told of the other as launchers do."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port),
              "LOCAL_WORLD_SIZE": "2"}  # fmt: skip
    tests = str(Path(__file__).parents[2] / "support")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        PROGRAM,
        tests,
        str(folder),
        str(stop_at),
        *overrides,
    ]
    running = [
        subprocess.Popen(
            command,
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    ended = []
    for process in running:
        out, err = process.communicate(timeout=120)
        ended.append(subprocess.CompletedProcess(command, process.returncode, out, err))
    # What all have to say: where one ends early the others only find that it is gone.
    assert not any("Traceback" in each.stderr for each in ended), [
        (each.returncode, each.stderr) for each in ended
    ]
    return ended


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model" / "last" / "model.safetensors")


class Writer:
    """Of a tracker; `full` is the call for which the disk has no room."""

    full = ""

    def __init__(self, folder: Path) -> None:
        self._write("begin")

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self._write("log")

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._write("finish")

    def _write(self, what: str) -> None:
        if what == self.full:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    pytest.importorskip("tensorboard")
    monkeypatch.setattr("torch.utils.tensorboard.SummaryWriter", Writer)
    return Processes(torch.device("cpu"), Path("out"))


@pytest.mark.parametrize("full", ["begin", "log", "finish"])
def test_a_tracker_that_cannot_write_is_named(
    processes: Processes, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    monkeypatch.setattr(Writer, "full", full)
    with (
        refuses(WriteError, "out", "written"),
        processes.tracking("run"),
    ):
        processes.log({"loss": 1.0}, 1)


def test_another_error_of_a_run_is_not_that_of_its_tracker(processes: Processes) -> None:
    with refuses(FileNotFoundError, "elsewhere"), processes.tracking("run"):
        open("/elsewhere/file")


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [(), ("train.lm_loss=0.1",)])
def test_two_processes_with_half_the_batch_each_give_the_weights_of_one(
    tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    alone = train(settings_without_chance(tmp_path / "one", *overrides))
    settings_without_chance(tmp_path / "two")
    first, second = run_two(tmp_path / "two", *overrides)
    assert first.returncode == second.returncode == 0
    assert first.stdout == second.stdout
    found = json.loads(first.stdout)
    assert found["scores"] == [epoch.score for epoch in alone.epochs]
    assert found["loss"] == pytest.approx([epoch.loss for epoch in alone.epochs], abs=1e-4)
    # Gradients are sent as they are; loss and number of targets, which want all digits, apart.
    assert found["sent"] == {"torch.float64": 2, "torch.float32": found["parameters"]}
    expected = weights(tmp_path / "one")
    tmp_path = tmp_path / "two"
    for name, tensor in weights(tmp_path).items():
        torch.testing.assert_close(tensor, expected[name], rtol=0, atol=1e-4, msg=name)
    lines = (tmp_path / "model" / "history.jsonl").read_text().splitlines()
    assert len(lines) == 2
    assert (tmp_path / "model" / "train.log").read_text().count(" epoch 1, ") == 1


@pytest.mark.slow
def test_two_processes_go_on_as_if_they_had_not_been_stopped(tmp_path: Path) -> None:
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
        settings_without_chance(tmp_path / name)
    run_two(tmp_path / "whole")
    assert [process.returncode for process in run_two(tmp_path / "stopped", stop_at=5)] == [7, 7]
    assert [process.returncode for process in run_two(tmp_path / "stopped")] == [0, 0]
    expected = weights(tmp_path / "whole")
    for name, tensor in weights(tmp_path / "stopped").items():
        assert torch.equal(tensor, expected[name]), name
