"""`cranfield meta order`: an order of lists by preferences, and how far measures are from it."""

from __future__ import annotations

from cranfield.cli import options
from cranfield.cli.declare import argument
from cranfield.cli.options.option_values import chosen
from cranfield.cli.printing import Plotting
from cranfield.errors import UsageError


class OrderVerb(Plotting, of="meta.scale.list_order:list_order"):
    """Say which of two short lists is better, and see the order, its measure, and how far known measures are from it.

    PREFERENCES is a table with the columns better and worse: lists as grades from the top, such as 101 and 011. What
    follows from several preferences is part of the order. The value of a list is the number of steps down to the worst
    one; it is on an interval scale if all ways between two lists have the same number of steps. --plot draws the order
    (a Hasse diagram: lines go down from a list to those just below it).
    """

    repeats_warnings = True
    summary = "your own order of lists, and its distance to measures"
    examples = """
cranfield meta order preferences.csv -m AP,nDCG,RBP --plot order.svg
cranfield meta order preferences.csv -m AP,nDCG --with-steps --show lists
"""

    preferences: str = argument("PREFERENCES", "Pairs of lists: better, worse.", required=True, reads=True)
    measures: list[str] | None = options.measures()
    what: str = options.show("measures", "lists", help="{names}: a row per measure, or per list.")

    def run(self) -> None:
        from cranfield.meta.scale.list_order import list_order

        order = list_order(self.preferences, chosen(self.measures or ["AP,nDCG,RBP,RR,P"]), **self.settings())
        if self.what == "lists":
            self.show_record(order)
        else:
            self.show(order.distances())
        if self.plot:
            try:
                self.save_plot(order)
            except UsageError as error:
                raise UsageError(f"--plot: {error}") from None
