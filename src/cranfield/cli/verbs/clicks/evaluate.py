"""`cranfield clicks evaluate`: how well click models predict clicks."""

from __future__ import annotations

from cranfield.cli.declare import argument, option
from cranfield.cli.options.log_options import CLICK_LOG, MODEL, MODELS, ClickReading
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError

USUAL_SHARE = 0.2


class EvaluateVerb(
    ClickReading,
    Plotting,
    of="online.clicks.click_evaluation:evaluate_clicks online.clicks.click_fitting:fit_clicks",
):
    """Print the log-likelihood and the perplexity of click models, overall and by rank.

    A perplexity of 1 is a perfect prediction of clicks, 2 that of a coin. Models that were fitted with --held-out are
    evaluated on the sessions that were held out. --fit fits models first, on the sessions of LOG that are not held out
    (0.8 of them, unless --held-out says otherwise), and evaluates them on the others.

    Documents that a model has not seen get the mean of its prior, and ranks below the deepest that it has seen get the
    parameters of that rank. In CM, sessions with several clicks are impossible: they are counted, and its
    log-likelihood is that of the other sessions. --plot draws the perplexity by rank.
    """

    repeats_warnings = True
    summary = "how well click models predict clicks"
    examples = """
cranfield clicks evaluate log.parquet pbm.json dbn.json
cranfield clicks evaluate log.parquet --fit PBM,DCM,DBN,UBM --plot perplexity.svg
cranfield clicks evaluate log.parquet --fit PBM,UBM --held-out 0.3 --split time
"""

    not_options = ("model", "level", "intervals")

    log: str = argument("LOG", CLICK_LOG, required=True)
    models: list[str] | None = argument("MODEL...", MODEL)
    fit: list[str] | None = option("--fit MODEL,...", "Fit these models first: {names}. May be repeated.", names=MODELS)

    def check(self) -> None:
        super().check()
        if not self.models and not self.fit:
            raise UsageError("no models; give files of models, or fit some: --fit PBM,UBM")
        if self.models and self.fit:
            raise UsageError("files of models and --fit exclude each other; leave out one of them")

    def run(self) -> None:
        import os

        from cranfield.online.clicks import CLICK_MODELS, evaluate_clicks, fit_clicks, load_click_model
        from cranfield.online.clicks.click_evaluation import held_out_pages
        from cranfield.online.clicks.click_rows import click_rows

        rows = click_rows(self.log, **self.click_reading())
        models = {}
        settings = self.settings("fit_clicks")
        settings |= {"held_out": settings["held_out"] or USUAL_SHARE, "intervals": False}
        exact = settings.pop("exact")
        for name in [name for text in self.fit or [] for name in text.split(",") if name]:
            kind = CLICK_MODELS.find(name)
            with self.progress(f"fitting {kind.name}") as progress:
                models[kind.name] = fit_clicks(
                    rows, name, exact=exact or not kind.can_be_counted, progress=progress, **settings
                )
        for path in self.models or []:
            loaded = load_click_model(path)
            name = loaded.model if loaded.model not in models else os.path.splitext(os.path.basename(path))[0]
            if name in models:
                raise UsageError(f"{path}: a model named {name} is given twice")
            models[name] = loaded
        result = evaluate_clicks(models, held_out_pages(rows, models))
        if self.for_programs:
            self.show_record(result)
        else:
            self.show(result.table(), result.rank_table())
        self.save_plot(result)
