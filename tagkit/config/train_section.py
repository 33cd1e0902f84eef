"""[train] and [output] of tagkit.toml: how a model is trained, and where it goes."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from tagkit.config.option import BY_GRADIENT, LABELS, TEXT, Needs, Option, Section
from tagkit.config.values import (
    TREES,
    WITHOUT_STEPS,
    Auto,
    Device,
    Interval,
    Probability,
    Seed,
)
from tagkit.limits import MAX_THREADS

DEFAULT_BPTT = 512  # of texts with labels
# A language model has one direction; the network over characters has two.
_WITH_CHARACTERS = Needs("embeddings.char_cell", but=("none",))
_TWO_DIRECTIONS = (
    Needs("encoder.bidirectional", (True,), alternative=_WITH_CHARACTERS),
    Needs("encoder.cell", but=WITHOUT_STEPS, alternative=_WITH_CHARACTERS),
)
# A stream gives each step so many units; lines and labelled sentences differ in length.
_NOT_IN_STREAMS = Needs("data.context", ("line",), exempt=LABELS)


class TrainConfig(Section):
    """[train]: the optimizer, its schedule, and when to stop."""

    # Fine-tuning: what fits is copied, and a head of other labels starts anew.
    init_from: Annotated[
        str,
        Option(
            "Model whose weights training starts from; new words and labels are added.",
            "none",
            tune=False,
        ),
    ] = ""
    # Jaeger 2001; Goodfellow, Bengio and Courville, section 10.8. A reservoir is not trained: least
    # squares have a solution in closed form, from one pass over the corpus.
    readout: Annotated[
        Literal["gradient", "ridge"],
        Option(
            "How weights are found: by gradient, or those of the head alone by ridge regression on "
            "the states of an echo-state network.",
            tasks=LABELS,
        ),
    ] = "gradient"
    # adam: Kingma and Ba 2015. adamw decouples the weight decay (Loshchilov and Hutter 2019).
    optimizer: Annotated[
        Literal["adam", "adamw", "nadam", "sgd"], Option("Optimizer.", needs=BY_GRADIENT)
    ] = "adam"
    # High for Adam, whose usual value is 0.001; the schedule falls from it to 0.
    lr: Annotated[
        Auto | Annotated[float, Field(gt=0)],
        Option("Maximum learning rate; auto: 0.003, more for a small corpus.", needs=BY_GRADIENT),
    ] = "auto"
    momentum: Annotated[
        Probability, Option("Momentum of sgd.", needs=Needs("train.optimizer", ("sgd",)))
    ] = 0.9
    # Sutskever et al. 2013, section 2: the gradient is taken where the momentum leads.
    nesterov: Annotated[
        bool,
        Option(
            "Nesterov's momentum in sgd.",
            needs=(Needs("train.optimizer", ("sgd",)), Needs("train.momentum", but=(0,))),
        ),
    ] = False
    weight_decay: Annotated[float, Field(ge=0), Option("Weight decay.", needs=BY_GRADIENT)] = 0.0
    # cosine: Loshchilov and Hutter 2017. plateau alone looks at the dev score
    # (`training/optim/lr_schedule.py`).
    schedule: Annotated[
        Literal["constant", "linear", "cosine", "plateau"],
        Option("Learning rate schedule.", needs=BY_GRADIENT),
    ] = "linear"
    # Adam's first estimates of variance rest on few gradients, and full steps by them overshoot.
    warmup_steps: Annotated[
        int,
        Field(ge=0),
        Option("Steps in which the learning rate rises from 0 to lr.", needs=BY_GRADIENT),
    ] = 0
    # The defaults that are "auto" follow from the size of the corpus: `training/setup/defaults.py`.
    batch_size: Annotated[
        Auto | Annotated[int, Field(ge=1)],
        Option("Sentences per batch; auto: 4 to 32 by the size of the corpus."),
    ] = "auto"
    # Sentences differ in length: a limit on tokens keeps the memory of a batch level.
    batch_tokens: Annotated[
        int,
        Field(ge=0),
        Option(
            "Tokens per batch, padding included, in place of batch_size; 0 for that.",
            needs=_NOT_IN_STREAMS,
        ),
    ] = 0
    # A linear or cosine schedule falls towards the last epoch, so that a resumed run with another
    # max_epochs is not the run that it would have been; to train on is worth that.
    max_epochs: Annotated[
        Auto | Annotated[int, Field(ge=1)],
        Option(
            "Maximum number of epochs; auto: 20, more for a small corpus.",
            resume=True,
            needs=BY_GRADIENT,
        ),
    ] = "auto"
    # The names of metrics depend on the task: those that it does not have are refused before the
    # first step (`evaluation.criterion`). Trials that were ranked by different numbers would not
    # be comparable.
    metric: Annotated[
        str,
        Option(
            "Metric on dev that selects the best epoch: auto, loss, accuracy, f1, macro_f1, "
            "f1:LABEL and others.",
            "F1 of spans; accuracy of plain labels and classes",
            tune=False,
        ),
    ] = "auto"
    # Early stopping; the model that is kept is that of the best epoch, not of the last one.
    patience: Annotated[
        Auto | Annotated[int, Field(ge=0)],
        Option(
            "Epochs without a better dev score, after the first score above 0, before training "
            "stops; 0: no limit; auto: 8, more for a small corpus.",
            resume=True,
            needs=BY_GRADIENT,
        ),
    ] = "auto"
    # Truncated back-propagation through time (Williams and Peng 1990): a long text is read whole,
    # but memory is that of so many tokens. In a language model it is also how many units before its
    # own each state of a transformer attends to (Dai et al. 2019).
    bptt: Annotated[
        Auto | Annotated[int, Field(ge=0)],
        Option(
            "Maximum tokens that gradients go back, in texts not cut and in documents; 0 for all; "
            "auto: 512, in a language model 35 words, 50 byte pairs or 100 characters.",
            needs=Needs("encoder.cell", but=WITHOUT_STEPS, exempt=TEXT),
        ),
    ] = "auto"
    # Omega of Pascanu et al. 2013 (Goodfellow, Bengio and Courville, eq. 10.52), which asks that a
    # gradient keeps its norm from token to token: `nn/layers/information_flow.py`.
    flow_strength: Annotated[
        float,
        Field(ge=0),
        Option(
            "Strength of the regulariser against gradients that vanish or explode through time; 0 "
            "for none.",
            needs=Needs("encoder.cell", but=("echo-state", "sru", "ntm", *WITHOUT_STEPS)),
        ),
    ] = 0.0
    # Rei 2017: `nn/softmax/language_loss.py`.
    lm_loss: Annotated[
        float,
        Field(ge=0),
        Option(
            "Weight of a language-model loss beside that of the labels; 0 for none.",
            tasks=LABELS,
            # In a document a state has read the sentences before, and its last word has one after.
            needs=(
                BY_GRADIENT,
                Needs("encoder.context", ("sentence",)),
                Needs("encoder.cell", but=TREES),
            ),
        ),
    ] = 0.0
    # Pascanu et al. 2013: gradients of recurrent networks explode now and then.
    max_grad_norm: Annotated[
        float,
        Field(ge=0),
        Option("Maximum norm of the gradient, which is scaled; 0 for none.", needs=BY_GRADIENT),
    ] = 5.0
    # Pascanu et al. 2013; Goodfellow, Bengio and Courville, section 10.11.1.
    clipping: Annotated[
        Literal["scale", "random"],
        Option(
            "What to do with a gradient over max_grad_norm: scale it, or make a random step of "
            "that norm.",
            needs=(Needs("train.max_grad_norm", but=(0,)), BY_GRADIENT),
        ),
    ] = "scale"
    # Graves 2013.
    max_state_grad: Annotated[
        float,
        Field(ge=0),
        Option(
            "Maximum of each value of the gradient that enters a state of the encoder's layers; 0 "
            "for none.",
            needs=(Needs("encoder.cell", but=("sru", "ntm", *WITHOUT_STEPS)), BY_GRADIENT),
        ),
    ] = 0.0
    max_grad_value: Annotated[
        float,
        Field(ge=0),
        Option("Maximum of each value of the gradient; 0 for none.", needs=BY_GRADIENT),
    ] = 0.0
    # A random step leaves a cliff of the loss that skipping would stay on (Goodfellow, Bengio and
    # Courville, section 10.11.1).
    on_nonfinite: Annotated[
        Literal["skip", "random"],
        Option(
            "What to do with a step whose loss or gradient is not finite: skip it, or make a "
            "random step of max_grad_norm.",
            needs=BY_GRADIENT,
        ),
    ] = "skip"
    # Polyak and Juditsky 1992. The mean is what is scored and saved. triggered: Merity et al. 2018.
    averaging: Annotated[
        Literal["running", "triggered"],
        Option(
            "Mean of the weights that is scored and saved: running, of the last ones, or "
            "triggered, of all since dev has ceased to improve.",
            needs=BY_GRADIENT,
        ),
    ] = "running"
    average_decay: Annotated[
        Probability,
        Option(
            "Decay of the running mean of the weights; 0 for none.",
            needs=(Needs("train.averaging", ("running",)), BY_GRADIENT),
        ),
    ] = 0.999
    average_patience: Annotated[
        int,
        Field(ge=1),
        Option(
            "Epochs without a better dev score than those before them, before the triggered mean "
            "begins.",
            needs=Needs("train.averaging", ("triggered",)),
        ),
    ] = 5
    # Of everything random: initial weights, order of batches, dropout, and the split of dev.
    seed: Annotated[Seed, Option("Random seed.", needs=Needs("train.seeds", ((),)))] = 1
    # Reimers and Gurevych 2017: scores of one configuration differ by more than many papers gain.
    seeds: Annotated[
        tuple[Seed, ...],
        Option("Train one model per seed, and keep the one with the best dev score.", tune=False),
    ] = ()
    max_minutes: Annotated[
        float,
        Field(ge=0),
        Option(
            "Time limit of the whole run in minutes; 0 for none.", "no limit",
            resume=True, resume_search=True, tune=False, needs=BY_GRADIENT),
    ] = 0.0  # fmt: skip
    # In minutes by default: a step may take a millisecond or a minute.
    checkpoint_every: Annotated[
        Interval,
        Option(
            "Steps (500) or minutes (10m) between checkpoints; also after each epoch.",
            resume=True,
            tune=False,
            needs=BY_GRADIENT,
        ),
    ] = "10m"
    # bf16 has the exponent of fp32; fp16 needs its loss scaled, which is done on a GPU alone.
    precision: Annotated[
        Literal["fp32", "bf16", "fp16"],
        Option("Precision of training; fp16 needs a GPU.", needs=BY_GRADIENT),
    ] = "fp32"
    tracker: Annotated[
        Literal["none", "tensorboard"],
        Option(
            "Experiment tracker that records each epoch (pip install 'tagkit[tensorboard]').",
            resume=True,
            tune=False,
        ),
    ] = "none"
    # Free only within one kind, cpu or cuda, which is part of a run's identity by itself.
    device: Annotated[
        Device, Option("Device: auto, cpu, cuda or cuda:N.", resume=True, tune=False)
    ] = "auto"
    # Another number of threads adds in another order: the same model, but for rounding.
    threads: Annotated[
        int,
        Field(ge=0, le=MAX_THREADS),
        Option("CPU threads; 0 for all cores.", resume=True, resume_search=True, tune=False),
    ] = 1
    # The weights do not depend on it, not in the last bit: see `nn/threads.py`.
    workers: Annotated[
        Literal["auto", 1, 2],
        BeforeValidator(lambda value: int(value) if value in ("1", "2") else value),
        Option(
            "Directions of a layer computed at the same time on a CPU, 1 or 2; auto: 2 where there "
            "are enough cores.",
            resume=True,
            resume_search=True,
            tune=False,
            tasks=LABELS,
            needs=_TWO_DIRECTIONS,
        ),
    ] = "auto"


class OutputConfig(Section):
    """[output]: where the model goes."""

    tunable: ClassVar[bool] = False

    dir: Annotated[
        str, Option("Folder of the run and its model.", resume=True, resume_search=True)
    ] = "models/model"
