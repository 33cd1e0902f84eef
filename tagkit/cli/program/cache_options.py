"""Options of the neural cache of `tagkit eval`."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagkit.cli.program.refusals import refuse
from tagkit.limits import CACHE_SHARE, CACHE_THETA, CACHE_THETA_MAX, CACHE_WINDOW

if TYPE_CHECKING:  # its module imports torch
    from tagkit.nn.softmax.neural_cache import CacheOptions

Cache = Annotated[
    bool,
    typer.Option(
        "--cache",
        help="Mix a neural cache of the preceding text into the probabilities of a language model.",
    ),
]
CacheWindow = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Units that the cache reaches back.",
        metavar="N",
        show_default=f"{CACHE_WINDOW}",
    ),
]
CacheTheta = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=CACHE_THETA_MAX,
        help="How much the cache prefers the states that are most like the present one; 0 for not "
        "at all.",
        metavar="T",
        show_default=f"{CACHE_THETA}",
    ),
]
CacheShare = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Share of the cache in a probability, below 1.",
        metavar="L",
        show_default=f"{CACHE_SHARE}",
    ),
]


def cache_of(
    cache: bool, window: int | None, theta: float | None, share: float | None
) -> "CacheOptions | None":
    """The options of the cache; None where there is none.

    Raises:
        typer.BadParameter: an option is given without the cache.
    """
    given = {"window": window, "theta": theta, "share": share}
    if not cache:
        refuse(
            {f"--cache-{name}": value is not None for name, value in given.items()},
            "is for --cache",
        )
        return None
    from tagkit.nn.softmax.neural_cache import CacheOptions

    return CacheOptions(
        window=CACHE_WINDOW if window is None else window,
        theta=CACHE_THETA if theta is None else theta,
        share=CACHE_SHARE if share is None else share,
    )
