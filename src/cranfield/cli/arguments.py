"""From words on the command line to a call: typer parses, nothing runs inside it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.measures import Measure

READING, RANKING, RESULT = "How files are read", "How lists are ranked", "What is printed"

Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="MEASURE",
        help="A measure such as nDCG@10, AP, RBP(p=0.95), P(rel=2)@5, AP', ndcg_cut_10, or your own as module:name. "
        "Repeat it, or separate by commas. See: cranfield measures",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help="table, json, csv, tsv, latex, markdown or html.",
        rich_help_panel=RESULT,
    ),
]
Digits = Annotated[
    int | None,
    typer.Option(
        "--digits",
        metavar="N",
        help="Digits after the point; default 4 where people read, all of them in json, csv and tsv.",
        rich_help_panel=RESULT,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write here instead of to standard output; the file appears whole or not at all.",
        rich_help_panel=RESULT,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No warnings, no progress bar.", show_default=False, rich_help_panel=RESULT)
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="RULE",
        help="score (descending, ties by document id descending, as trec_eval), rank (the file's rank column) or "
        "file (as listed); default: score where there are scores, else rank.",
        rich_help_panel=RANKING,
    ),
]
Precision = Annotated[
    int,
    typer.Option(
        "--precision",
        metavar="BITS",
        help="Compare scores as 64-bit numbers, or as 32-bit ones as trec_eval 9 does.",
        rich_help_panel=RANKING,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option("--depth", metavar="N", help="Look at the first N documents of each list.", rich_help_panel=RANKING),
]
OnDuplicate = Annotated[
    str,
    typer.Option(
        "--on-duplicate",
        metavar="RULE",
        help="A document twice in a list: error, or keep the first or the max (by score or grade).",
        rich_help_panel=READING,
    ),
]
RunFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        "--run-format",
        metavar="FORMAT",
        help="Format of the runs: trec, msmarco, msmarco-scored, beir, json, jsonl, csv, tsv or parquet; "
        "default: detected.",
        rich_help_panel=READING,
    ),
]
QrelsFormat = Annotated[
    str | None,
    typer.Option(
        "--qrels-format",
        metavar="FORMAT",
        help="Format of the judgments: trec, diversity, msmarco, beir, json, jsonl, csv, tsv or parquet; "
        "default: detected.",
        rich_help_panel=READING,
    ),
]


def parsed(verb: str, function: Callable[..., int], examples: str, args: Sequence[str]) -> Callable[[], int]:
    """The call that the words ask for; for `--help` the page of the verb is printed and there is nothing to call."""
    help_asked = any(word in ("-h", "--help") for word in args)

    @functools.wraps(function)
    def remember(**values: Any) -> Callable[[], int]:
        return functools.partial(function, **values)

    # Rich takes longer to import than a small collection to score: it is there for pages that are read.
    style: Any = "rich" if help_asked else None
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=style)
    app.command(context_settings={"help_option_names": ["-h", "--help"]})(remember)
    command = typer.main.get_command(app)
    try:
        call: Callable[[], int] | int = command.main(list(args), prog_name=f"cranfield {verb}", standalone_mode=False)
    except MISUSE as error:
        what = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        raise UsageError(f"{what[:1].lower()}{what[1:]}; see: cranfield {verb} --help") from None
    if callable(call):
        return call
    print(f"Examples:\n{examples}")
    return lambda: 0


MISUSE: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
"""What typer raises about words it cannot parse; which package defines it depends on typer's version."""


def chosen(texts: Iterable[str] | None) -> list[Measure]:
    """The measures that `-m` names, each once; sensible ones when it was not given."""
    from cranfield.measures import DEFAULT, parse_many

    if not texts:
        return list(DEFAULT)
    return list(dict.fromkeys(one for name in measure_names(texts) for one in parse_many(name)))


def measure_names(texts: Iterable[str]) -> list[str]:
    """The names in what `-m` was given, separated by commas or blanks that are not within brackets or quotes.

    Numbers belong to the name before them: further cutoffs after `@`, further parameters in trec_eval's spelling.

    >>> measure_names(["nDCG@5,10", "RBP(p=0.8, rel=2) AP'", "P.5,10", "ndcg_1=3,2=9"])
    ['nDCG@5', 'nDCG@10', 'RBP(p=0.8, rel=2)', "AP'", 'P.5,10', 'ndcg_1=3,2=9']
    """
    names: list[str] = []
    for text in texts:
        begun = len(names)
        for piece in _pieces(re.sub(r"\s*@\s*", "@", text)):
            if len(names) == begun or not re.fullmatch(r"[-+.\d=]+", piece):
                names.append(piece)
            elif cut := re.fullmatch(r"(.*@)[.\d]+", names[-1]):
                names.append(cut[1] + piece)
            else:
                names[-1] += f",{piece}"
    if not names:
        raise UsageError("-m names no measure; give one such as nDCG@10")
    return names


def _pieces(text: str) -> list[str]:
    pieces, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "([{") - (letter in ")]}")
            if depth <= 0 and (letter == "," or letter.isspace()):
                pieces.append("")
                continue
        pieces[-1] += letter
    return [piece for piece in pieces if piece]
