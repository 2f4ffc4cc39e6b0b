"""`cranfield meta inform`: how much a score says about the list it was computed from."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import RESULT, flag, option
from cranfield.cli.options.chosen_runs import TopRuns
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting

MEASURES = "AP,Rprec,P@10"


class InformVerb(TopRuns, Plotting, of="meta.stability.informativeness:informativeness"):
    """Show how much a score says about its list (informativeness; Aslam, Yilmaz & Pavlu, SIGIR 2005).

    From the score alone, the most random list with this score is inferred, and its precision-recall curve is compared
    with the true one: the smaller the error, the more the score says about the list. Relevance is binary.

    Diversity measures need judgments with intents. The list is then inferred for each intent, and the error is the mean
    over the intents that the list serves (Ashkan & Clarke, WWW 2011). Measures whose expected value is not known, such
    as bpref, are left out; so are measures without intents beside diversity measures. A note names them.
    """

    summary = "how much a score tells about the list"
    examples = """
cranfield meta inform qrels.txt runs/*.run -m AP,Rprec,P@10
cranfield meta inform --sample  # try it on the bundled sample collection
cranfield meta inform qrels.txt runs/*.run -m AP,Rprec,P@10,P@100 --plot errors.pdf
cranfield meta inform diversity.qrels runs/*.run -m alpha-nDCG@10,ERR-IA@10,D#-nDCG@10
cranfield meta inform qrels.txt runs/*.run -m AP,nDCG,RR,P@10 --values  # which score foretells the others?
cranfield meta inform qrels.txt runs/*.run -m AP --lists -f csv -o errors.csv  # the error of each list
"""

    measures: list[str] | None = options.measures()
    depth: int = option("--depth N", "Use only the first N documents of each list.", default=1000)
    lists: bool = flag("--lists", "Print a row per measure, run and topic.", group=RESULT)
    show_values: bool = flag(
        "--values", "Print the RMS error of each measure's score, inferred from each other one.", group=RESULT
    )

    def run(self) -> None:
        from cranfield.errors import UsageError
        from cranfield.meta.stability.informativeness import informativeness
        from cranfield.record import table_of

        if self.lists and self.show_values:
            raise UsageError("--lists and --values are two tables; give one of them")
        measures = chosen(self.measures or [MEASURES])
        lists = self.assessed()
        with self.progress("inferring") as progress:
            result = informativeness(lists, measures, **self.settings(), values=self.show_values, progress=progress)
        if self.show_values:
            self.show(result.value_table())
        else:
            self.show(table_of(result.columns(), notes=result.notes) if self.lists else result.table())
        self.save_plot(result)
