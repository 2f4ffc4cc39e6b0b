"""`cranfield clicks fit`: fit a click model to a log."""

from __future__ import annotations

from cranfield.cli.declare import RESULT, argument, option
from cranfield.cli.options.label_options import write_table
from cranfield.cli.options.log_options import CLICK_LOG, ClickReading
from cranfield.cli.printing import Plotting


class FitVerb(ClickReading, Plotting, of="online.clicks.click_fitting:fit_clicks"):
    """Fit a click model to a log, and print its parameters with intervals.

    RCM, RCTR and DCTR are click rates: of everything, of ranks, of documents. In PBM and UBM users examine ranks, and
    click what is attractive. In CM, DCM, CCM, DBN and SDBN they read from the top until they stop. RCM, RCTR, DCTR and
    CM are fitted by counting, the others by EM; --by-counting counts DCM and SDBN too.

    Every parameter has a prior of half an observation, with the mean of the estimates of all documents (or ranks).
    Intervals are those of the Beta posterior for models that are fitted by counting, and of the observed information
    for the others. A document that is clicked several times in a session counts as clicked once. --save writes the
    model for cranfield clicks evaluate, simulate and judgments. --plot draws parameters by rank.
    """

    repeats_warnings = True
    summary = "fit a click model to a log"
    examples = """
cranfield clicks fit log.parquet --save pbm.json
cranfield clicks fit log.parquet --model DBN --held-out 0.2 --save dbn.json
cranfield clicks fit log.parquet --model DCM --prior 0.5,1.5 --write-pairs documents.csv
cranfield clicks fit log.csv --columns session=qid,doc=url --plot examination.svg
"""

    log: str = argument("LOG", CLICK_LOG, required=True)
    save: str | None = option("--save FILE", "Write the model to this file (JSON).", group=RESULT)
    pairs: str | None = option(
        "--write-pairs FILE", "Also write the parameters of documents, as a table.", group=RESULT
    )

    def run(self) -> None:
        from cranfield.online.clicks import fit_clicks
        from cranfield.record import table_of

        with self.progress("fitting") as progress:
            fitted = fit_clicks(self.log, progress=progress, **self.settings(), **self.click_reading())
        if self.save:
            fitted.save(self.save)
        if self.pairs:
            write_table(table_of(fitted.pair_columns()), self.pairs)
        self.show_record(fitted)
        self.save_plot(fitted)
