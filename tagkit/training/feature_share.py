"""How much a CRF of word features counts beside the network: what is best on dev.

Most corpora gain by it, but in a corpus of few and rare names it finds next to none, and would take
away what the network finds. So the share is chosen once, with the best epoch's weights. That epoch
is the best one by the network's scores on the same dev, which flatters the network alone: it has to
be better than the product by more than a margin.
"""

import math

from tagkit.evaluation.reports.criterion import Criterion, score_text
from tagkit.inference.score.score import Annotated, annotated
from tagkit.limits import BATCH_SIZE
from tagkit.nn.feature_crf.feature_crf import SHARES
from tagkit.training.loop.run import Run

# The margin is this divided by the root of the sentences of dev, as the standard error of a
# difference of two scores is: for names of CoNLL-2003 and CoNLL-2002 0.17 to 0.28, for chunks 0.06.
_MARGIN = 0.3


def score_dev(run: Run) -> Annotated:
    """The dev corpus as the best model tags it, with the share that is best there.

    The share is the model's from then on, and a note of the run says what it brought.
    """
    crf, criterion = run.prepared.model.feature_crf, run.criterion
    if crf is None:
        return _annotated(run)
    if not crf.is_fitted:
        # With a single tag there is nothing to weigh, however long the search is.
        was_cut = run.budget.is_limited and len(crf.transitions) > 1
        why = ", for the time limit was too short to find them" if was_cut else ""
        run.listener.on_note(f"a CRF of word features counts nothing: it has no weights{why}")
        return _annotated(run)
    found = []
    for share in SHARES:
        crf.share.fill_(share)
        found.append(_annotated(run))
    # A report has no loss: there the usual score decides.
    *products, alone = (criterion.of_report(each.report) for each in found)
    together = max(products)
    margin = _MARGIN / math.sqrt(len(run.prepared.corpus.dev.sentences))
    # Of equal scores the first. Rounding may differ between processes, which have to agree.
    chosen = SHARES.index(0.0) if alone > together + margin else products.index(together)
    best = int(run.processes.from_first_rank(float(chosen)))
    crf.share.fill_(SHARES[best])
    run.listener.on_note(_note(criterion, SHARES[best], together, alone))
    return found[best]


def _note(criterion: Criterion, share: float, together: float, alone: float) -> str:
    key = "auto" if criterion.is_loss else criterion.key
    with_it, without = score_text(key, together), score_text(key, alone)
    if not share:
        return (
            f"a CRF of word features counts nothing: on dev the network alone has {without}, and "
            f"{with_it} with it"
        )
    note = f"a CRF of word features counts {100 * share:.0f} % beside the network: on dev {with_it}"
    if with_it == without:
        return f"{note} with it and without it"
    if alone > together:
        return f"{note}, and {without} without it, which dev is too small to tell from chance"
    return f"{note}, and {without} without it"


def _annotated(run: Run) -> Annotated:
    return annotated(run.predictor, run.prepared.corpus.dev, batch_size=BATCH_SIZE)
