"""How much a CRF of word features counts beside the network: what is best on dev.

Most corpora gain by it, but in a corpus of few and rare names it finds next to none, and would take
away what the network finds. So the share is chosen once, with the best epoch's weights.
"""

from tagkit.evaluation.criterion import score_text
from tagkit.inference.score import Annotated, annotated
from tagkit.limits import BATCH_SIZE
from tagkit.nn.heads.feature_crf import SHARES
from tagkit.training.run import Run


def score_dev(run: Run) -> Annotated:
    """The dev corpus as the best model tags it, with the share that is best there.

    The share is the model's from then on, and a note of the run says what it brought.
    """
    crf, criterion = run.prepared.model.feature_crf, run.criterion
    if crf is None:
        return _annotated(run)
    found = []
    for share in SHARES:
        crf.share.fill_(share)
        found.append(_annotated(run))
    # A report has no loss: there the usual score decides.
    scores = [criterion.of_report(each.report) for each in found]
    # Of equal scores the first. Rounding may differ between processes, which have to agree.
    best = int(run.processes.from_first_rank(float(scores.index(max(scores)))))
    crf.share.fill_(SHARES[best])
    key = "auto" if criterion.is_loss else criterion.key
    alone, together = score_text(key, scores[-1]), score_text(key, scores[best])
    run.listener.on_note(
        f"a CRF of word features counts {100 * SHARES[best]:.0f} % beside the network: on dev "
        f"{together}, and {alone} without it"
        if SHARES[best]
        else f"a CRF of word features counts nothing: on dev the network alone has {alone}, and "
        f"{score_text(key, max(scores[:-1]))} with it"
    )
    return found[best]


def _annotated(run: Run) -> Annotated:
    return annotated(run.predictor, run.prepared.corpus.dev, batch_size=BATCH_SIZE)
