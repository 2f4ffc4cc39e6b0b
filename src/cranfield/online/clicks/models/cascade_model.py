"""The cascade model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from cranfield.online.clicks.bernoulli_em import weighted_log
from cranfield.online.clicks.chain_counts import chain_counts
from cranfield.online.clicks.click_estimates import beta_estimates
from cranfield.online.clicks.click_kinds import ATTRACTIVENESS, PAIR, ClickKind, Fit, Placed, click_kind
from cranfield.online.clicks.click_pages import Cells, Pages
from cranfield.online.clicks.click_settings import ClickSettings
from cranfield.online.clicks.click_walks import ChainWalk, Walk
from cranfield.text import counted


@click_kind
class Cascade(ClickKind):
    r"""Users read from the top, click the first attractive document, and stop there.

    .. math:: P(C_r = 1 \mid C_{<r} = 0) = a_{qd}, \qquad P(C_r = 1 \mid \text{a click above}) = 0

    Fitted by counting: clicks over impressions down to the first click. Several clicks in a session are impossible;
    only the first is counted.
    """

    name, title = "CM", "cascade model"
    reference = "Craswell, Zoeter, Taylor & Ramsey, WSDM 2008, 87-94, doi:10.1145/1341531.1341545"
    parameters: ClassVar[Mapping[str, str]] = {ATTRACTIVENESS: PAIR}
    one_click = True

    def fit(self, data: Cells | Pages, settings: ClickSettings) -> Fit:
        assert isinstance(data, Pages)
        counts = chain_counts(data.first_clicks())
        skipped = counts.skipped + counts.unclicked
        estimates = beta_estimates(counts.clicked, skipped, settings.prior, settings.level)
        several = data.several_clicks
        notes: tuple[str, ...] = ()
        if several:
            notes = (
                f"{counted(several, 'session')} with clicks on several documents, which CM holds impossible: only the "
                "first click is counted, and the log-likelihood is that of first clicks",
            )
        likelihood = weighted_log(counts.clicked, estimates.value) + weighted_log(skipped, 1 - estimates.value)
        return Fit({ATTRACTIVENESS: estimates}, likelihood, notes=notes)

    def walk(self, values: Placed) -> Walk:
        attractive = values.pair(ATTRACTIVENESS)
        return ChainWalk(attractive, np.zeros(attractive.shape), np.ones(attractive.shape))
