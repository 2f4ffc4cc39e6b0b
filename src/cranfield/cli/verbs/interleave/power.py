"""`cranfield interleave power`: how many impressions does an interleaving experiment need?"""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

USUAL_DELTAS = "0.01,0.02,0.05,0.1"


class PowerVerb(Plotting, of="online.interleaving.sign_statistics:interleaving_power"):
    """How many impressions does a sign test need to find a difference?

    --delta is Chapelle et al.'s Δ: the share of impressions that a system wins, where a tie is half a win, minus 1/2.
    With the LOG of an earlier experiment, ties and the design effect come from there: how alike the impressions of one
    user are.
    """

    summary = "how many impressions an interleaving experiment needs"
    examples = """
cranfield interleave power --delta 0.01,0.02,0.05 --tied 0.4
cranfield interleave power --delta 0.02 --tied 0.4 --impressions 5000 --plot power.svg
cranfield interleave power log.jsonl --delta 0.01,0.02
"""

    log: str | None = argument("LOG", "Attribution records of an earlier experiment, with clicks.", reads=True)
    clicks: str | None = option(
        "--clicks FILE", "Clicks: query_id, and doc or position (JSON-lines, CSV).", reads=True, solves="clicks="
    )
    delta: str | None = option("--delta D,D,...", f"Differences to find; default, with a LOG: {USUAL_DELTAS}.")
    ties: float | None = option("--tied SHARE", "The share of impressions that are ties; default: 0, or that of LOG.")
    design_effect: float | None = option(
        "--design-effect F", "Impressions needed, relative to independent ones; default: 1, or that of LOG."
    )

    def given(self) -> bool:
        return self.log is not None or self.delta is not None

    def check(self) -> None:
        super().check()
        try:
            words = (USUAL_DELTAS if self.delta is None else self.delta).split(",")
            self.deltas = [float(word) for word in words if word.strip()]
        except ValueError:
            raise UsageError(f"--delta {self.delta}: expected numbers separated by commas, such as 0.01,0.05") from None
        if not self.deltas:
            raise UsageError("--delta is empty; give numbers separated by commas, such as 0.01,0.05")
        if self.clicks and not self.log:
            raise UsageError("--clicks belongs to a LOG; give the file of attribution records as well")

    def run(self) -> None:
        from cranfield.online.interleaving.sign_statistics import interleaving_power

        ties, effect = self.ties, self.design_effect
        if self.log is not None:
            share, larger = _pair_of(self.log, self.clicks, ties)
            ties, effect = share, larger if effect is None else effect
        settings = {**self.settings(), "ties": ties or 0.0, "design_effect": effect or 1.0}
        result = interleaving_power(self.deltas, **settings)
        self.show_record(result)
        self.save_plot(result)


def _pair_of(log: str, clicks: str | None, ties: float | None) -> tuple[float, float]:
    """The share of ties, unless it is given, and the design effect of a log; of several pairs, mean and largest."""
    import numpy as np

    from cranfield.online.interleaving.attribution_log import count_logged

    counts = count_logged(log, clicks)
    ties = float((counts.totals[:, 1] / counts.totals.sum(axis=1)).mean()) if ties is None else ties
    if ties == 1:
        raise UsageError(f"{log}: all impressions are ties; give the share of ties that you expect: --tied")
    effects = [effect for effect in (user.design_effect() for user in counts.by_user) if not np.isnan(effect)]
    return ties, max([1.0, *effects])
