"""[decoder] of tagkit.toml: what writes a string, given the states of the encoder."""

import warnings
from typing import Annotated, Literal

from pydantic import Field

from tagkit.config.option import STRINGS, TEXT, Needs, Option, Section
from tagkit.config.values import Auto, DecoderCell, Size

_ATTENDS = Needs("decoder.attention", but=("none",))


# pydantic warns that `copy` is also a method of its own, which has no use for a frozen section.
with warnings.catch_warnings(action="ignore", category=UserWarning):

    class DecoderConfig(Section):
        """[decoder]: the recurrent network that writes strings; for the task transduce."""

        cell: Annotated[
            DecoderCell, Option("Recurrent cell of the decoder.", inherit=True, tasks=STRINGS)
        ] = "lstm"
        hidden: Annotated[
            Auto | Size,
            Option(
                "Hidden units of a layer; auto: those of the encoder, of both directions for an "
                "attention that multiplies states.",
                inherit=True,
                tasks=STRINGS,
            ),
        ] = "auto"
        layers: Annotated[
            int, Field(ge=1, le=20), Option("Layers of the decoder.", inherit=True, tasks=STRINGS)
        ] = 1
        # Goodfellow, Bengio and Courville, section 10.2.4, fig. 10.9.
        context: Annotated[
            Literal["initial", "every-step", "both"],
            Option(
                "How the encoder's final state, or the label of a text, reaches what writes: as "
                "initial state, as an input of every step, or both.",
                inherit=True,
                tasks=(*STRINGS, *TEXT),
                needs=Needs("data.condition", ("label",), exempt=STRINGS),
            ),
        ] = "initial"
        attention: Annotated[
            Literal[
                "auto", "none", "dot", "scaled-dot", "bilinear", "additive", "location", "monotone"
            ],
            Option(
                "How a step weighs the encoder's states; location knows where it looked before, "
                "and monotone never looks back.",
                "location for characters and tokens, else additive",
                inherit=True,
                tasks=STRINGS,
            ),
        ] = "auto"
        # Luong et al. 2015.
        input_feeding: Annotated[
            bool,
            Option(
                "Whether what a step looked at is an input of the next.",
                inherit=True,
                tasks=STRINGS,
            ),
        ] = True
        # See et al. 2017.
        copy: Annotated[
            Auto | bool,
            Option(
                "Whether symbols of the source may be copied, unknown ones too; true, false or "
                "auto.",
                "true where half of what targets have is in their sources",
                inherit=True,
                tasks=STRINGS,
                needs=_ATTENDS,
            ),
        ] = "auto"  # type: ignore[assignment]  # BaseModel.copy is deprecated
