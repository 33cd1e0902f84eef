"""What would end a training before its first step, found while the files of an earlier run exist.

A single run reads everything before it removes anything (`RunFolder.open`). Commands that train
several models clear their folder before the first training begins, so they ask here first.
"""

import torch

from tagkit.config import Config
from tagkit.errors import DeviceError
from tagkit.models.base.device import choose_device
from tagkit.training.folder.run_identity import refuse_unreadable
from tagkit.training.setup.language_models import load_contextual
from tagkit.training.setup.setup import resolve


def device_of(config: Config) -> torch.device:
    """The device of a training.

    Raises:
        DeviceError: there is no such device, or it cannot compute in the precision that is named.
    """
    device = choose_device(config.train.device)
    if config.train.precision == "fp16" and device.type == "cpu":
        raise DeviceError("train.precision = 'fp16' needs a GPU; bf16 works on a CPU too")
    return device


def check_beforehand(config: Config) -> None:
    """Make sure that a training can begin: device, corpora, vectors and other models.

    Raises:
        TagkitError: it cannot, or it reads what lies in the folder that is replaced.
    """
    refuse_unreadable(config, resume=False)
    device_of(config)
    load_contextual(resolve(config).config, torch.device("cpu"))
