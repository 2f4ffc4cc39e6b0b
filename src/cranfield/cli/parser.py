"""From words on the command line to a call.

A verb is a function whose parameters are annotated with `Argument` or `Option`. Plain words are matched here; anything
else (`--help`, a misspelled option, a missing value) is a matter for typer, which takes longer to import than a small
collection takes to score.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.measures import Measure

READING, RANKING, RESULT = "How files are read", "How lists are ranked", "What is printed"
"""The groups in which a page of help shows options."""


@dataclass(frozen=True)
class Argument:
    """A word without a name."""

    metavar: str
    help: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """A word after its name, or (where the parameter is a bool) the name alone."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    group: str | None = None


def option(*names: str, help: str, metavar: str | None = None, group: str | None = None) -> Option:
    """An option by its spellings."""
    return Option(names, help, metavar, group)


Measures = Annotated[
    list[str] | None,
    option(
        "--measure",
        "-m",
        metavar="MEASURE",
        help="A measure such as nDCG@10, AP, RBP(p=0.95), P(rel=2)@5, AP', ndcg_cut_10, or your own as module:name. "
        "Repeat it, or separate by commas. See: cranfield measures",
    ),
]
Format = Annotated[
    str,
    option("--format", "-f", metavar="FORMAT", help="table, json, csv, tsv, latex, markdown or html.", group=RESULT),
]
Digits = Annotated[
    int | None,
    option(
        "--digits",
        metavar="N",
        help="Digits after the point; default: 4 where people read, all of them in json, csv and tsv.",
        group=RESULT,
    ),
]
Output = Annotated[
    str | None,
    option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write here instead of to standard output; the file appears whole or not at all.",
        group=RESULT,
    ),
]
Quiet = Annotated[
    bool, option("--quiet", help="No warnings, no notes on standard error, no progress bar.", group=RESULT)
]
Order = Annotated[
    str | None,
    option(
        "--order",
        metavar="RULE",
        help="score (descending, ties by document id descending, as trec_eval), rank (the file's rank column) or "
        "file (as listed); default: score where there are scores, else rank.",
        group=RANKING,
    ),
]
Precision = Annotated[
    int,
    option(
        "--precision",
        metavar="BITS",
        help="Compare scores as 64-bit numbers, or as 32-bit ones as trec_eval 9 does.",
        group=RANKING,
    ),
]
OnDuplicate = Annotated[
    str,
    option(
        "--on-duplicate",
        metavar="RULE",
        help="A document twice in a list: error, or keep the first or the max (by score or grade).",
        group=READING,
    ),
]
RunFormat = Annotated[
    str | None,
    option(
        "--input-format",
        "--run-format",
        metavar="FORMAT",
        help="Format of the runs: trec, msmarco, msmarco-scored, beir, json, jsonl, csv, tsv or parquet; "
        "default: detected.",
        group=READING,
    ),
]
QrelsFormat = Annotated[
    str | None,
    option(
        "--qrels-format",
        metavar="FORMAT",
        help="Format of the judgments: trec, diversity (column 2 is the intent, even if every topic has just one), "
        "msmarco, beir, json, jsonl, csv, tsv or parquet; default: detected.",
        group=READING,
    ),
]

IntentProbabilities = Annotated[
    str | None,
    option(
        "--intent-probabilities",
        metavar="FILE",
        help="How likely each intent of a topic is: a file with lines of topic, intent, probability; or uniform (all "
        "the same, the default) or nonuniform (each half as likely as the one before).",
        group=READING,
    ),
]
Lengths = Annotated[
    str | None,
    option(
        "--lengths",
        metavar="FILE",
        help="How long documents are, for TBG (in words) and U (in characters): lines of doc, length and, if they "
        "differ, length of the snippet; or a first line of names: doc, words, characters, snippet, and cost (for C/W/L "
        'measures with cost="cost").',
        group=READING,
    ),
]
Inclusion = Annotated[
    str | None,
    option(
        "--inclusion",
        metavar="FILE",
        help="How likely judged documents were to be drawn, for statAP: lines of topic, doc, probability; or the five "
        "columns of TREC's Legal track (.probs) or Million Query track (prels).",
        group=READING,
    ),
]
MissingLength = Annotated[
    str | None,
    option(
        "--missing-length",
        metavar="N",
        help="The length to assume of a document that the file of lengths lacks: a number, or mean; default: an error.",
        group=READING,
    ),
]
IntentTypes = Annotated[
    str | None,
    option(
        "--intent-types",
        metavar="FILE",
        help="Lines of topic, intent, and informational (inf) or navigational (nav); default: all informational.",
        group=READING,
    ),
]

DimensionFiles = Annotated[
    list[str] | None,
    option(
        "--dimension",
        metavar="NAME=FILE",
        help="Judgments of a further dimension of relevance, for uRBP (understandability), cRBP (credibility), CAM and "
        "MM (any): understandability=FILE. Repeat it.",
        group=READING,
    ),
]


@dataclass(frozen=True)
class Parameter:
    """What a function says of one of its parameters."""

    name: str
    type: Any
    how: Argument | Option
    default: Any

    @property
    def kind(self) -> type:
        """`bool`, `int`, `float`, `str` or `list`."""
        bare = get_args(self.type)[0] if isinstance(self.type, UnionType) else self.type
        kind: type = get_origin(bare) or bare
        return kind

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


def declared(function: Callable[..., int]) -> list[Parameter]:
    """The parameters of a verb; one whose type is a dataclass stands for the fields of it."""
    hints = get_type_hints(function, include_extras=True)
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]):
            found += declared(hints[name])
        else:
            found.append(Parameter(name, hints[name].__origin__, hints[name].__metadata__[0], parameter.default))
    return found


def called(function: Callable[..., int], **values: Any) -> int:
    """What a verb returns for the values of its declared parameters."""
    for name, kind in get_type_hints(function).items():
        if isinstance(kind, type) and is_dataclass(kind):
            values[name] = kind(**{one.name: values.pop(one.name) for one in fields(kind) if one.name in values})
    return function(**values)


def parsed(verb: str, function: Callable[..., int], examples: str, words: Sequence[str]) -> Callable[[], int]:
    """The call that the words ask for; for `--help` the page of the verb is printed and there is nothing to call."""
    values = plainly(declared(function), words)
    if values is None:
        return by_typer(verb, function, examples, words)
    return functools.partial(called, function, **values)


VALUES = {str: ".*", list: ".*", int: r"[-+]?\d{1,18}", float: r"[-+]?\d{1,18}(\.\d{0,18})?"}
"""What values of each kind look like when they are plain."""


def plainly(parameters: list[Parameter], words: Sequence[str]) -> dict[str, Any] | None:
    """The values that plain words give; None where there is anything that needs a second look."""
    spelled = {name: parameter for parameter in parameters for name in parameter.how.names}
    values: dict[str, Any] = {}
    unnamed: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            unnamed.extend(rest)
            break
        if word == "-" or not word.startswith("-"):
            unnamed.append(word)
            continue
        name, given, value = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = spelled.get(name)
        if parameter is None or (given and parameter.kind is bool):
            return None
        if parameter.kind is bool:
            values[parameter.name] = True
            continue
        after = value if given else next(rest, None)
        if after is None or not re.fullmatch(VALUES[parameter.kind], after, re.DOTALL):
            return None
        if parameter.kind is list:
            values.setdefault(parameter.name, []).append(after)
        else:
            values[parameter.name] = parameter.kind(after)
    for parameter in parameters:
        if isinstance(parameter.how, Argument) and unnamed:
            values[parameter.name] = unnamed if parameter.kind is list else unnamed.pop(0)
            unnamed = [] if parameter.kind is list else unnamed
    complete = all(parameter.name in values or not parameter.required for parameter in parameters)
    return values if complete and not unnamed else None


def by_typer(verb: str, function: Callable[..., int], examples: str, words: Sequence[str]) -> Callable[[], int]:
    """As `parsed`, for all words there are."""
    import typer

    help_asked = any(word in ("-h", "--help") for word in words)

    def remember(**values: Any) -> Callable[[], int]:
        return functools.partial(called, function, **values)

    parameters = [
        inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=p.default, annotation=_for_typer(p))
        for p in declared(function)
    ]
    remember.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    remember.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    remember.__doc__ = function.__doc__
    style: Any = "rich" if help_asked else None
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=style)
    app.command(context_settings={"help_option_names": ["-h", "--help"]})(remember)
    command = typer.main.get_command(app)
    # Which package defines what typer raises about words it cannot parse depends on typer's version.
    misuse: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
    try:
        call: Callable[[], int] | int = command.main(list(words), prog_name=f"cranfield {verb}", standalone_mode=False)
    except misuse as error:
        what = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        raise UsageError(f"{what[:1].lower()}{what[1:]}; see: cranfield {verb} --help") from None
    if callable(call):
        return call
    print(f"Examples:\n{examples}")
    return lambda: 0


def _for_typer(parameter: Parameter) -> Any:
    """The annotation that tells typer the same."""
    import typer

    how = parameter.how
    if isinstance(how, Argument):
        return Annotated[parameter.type, typer.Argument(metavar=how.metavar, help=how.help)]
    shown = parameter.default not in (None, False)
    told = typer.Option(*how.names, metavar=how.metavar, help=how.help, rich_help_panel=how.group, show_default=shown)
    return Annotated[parameter.type, told]


def assumed_length(text: str | None) -> float | str | None:
    """The value of `--missing-length`.

    >>> assumed_length("500"), assumed_length("mean")
    (500.0, 'mean')
    """
    return float(text) if text is not None and re.fullmatch(r"\d+(\.\d*)?", text) else text


def named_files(texts: Iterable[str] | None) -> dict[str, str] | None:
    """The values of `--dimension`.

    >>> named_files(["credibility=cred.qrels"])
    {'credibility': 'cred.qrels'}
    """
    if not texts:
        return None
    found: dict[str, str] = {}
    for text in texts:
        name, given, path = text.partition("=")
        if not (name and given and path):
            raise UsageError(f"--dimension {text}: expected a name and a file, such as credibility=FILE")
        if name in found:
            raise UsageError(f"--dimension {name}: given twice, as {found[name]} and {path}")
        found[name] = path
    return found


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
