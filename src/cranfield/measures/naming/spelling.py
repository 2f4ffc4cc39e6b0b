"""The names of measures, the message about an unknown name, and how a name is written with its parts:

    name [( parameter = value , ... )] [@ cutoff] [[ view , ... ]]

`declared/registry.py` reads the values; the grades of a table can be written as at NTCIR, {S: 3, A: 2, B: 1}. The marks
', -IA and # are printed after the name and views at the end, but they are accepted anywhere after the name.
"""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass
from typing import Any

from cranfield import check
from cranfield.collection.grade_labels import grade_called
from cranfield.declared.registry import MARK, NUMBER, NameReader, folded
from cranfield.errors import UsageError
from cranfield.measures.base import ALIASES, REGISTRY, Measure
from cranfield.views import parse_view
from cranfield.views.by_intent import ByIntent
from cranfield.views.unjudged import Condensed
from cranfield.views.view import View

OUTSIDE = re.compile(
    rf"\s*(?:(?P<prime>['’′]) | (?P<suffix>[-_]IA(?!\w)[\#♯]?|[\#♯]) | {NUMBER} | (?P<word>[^\W\d]\w*) | {MARK})",
    re.VERBOSE,
)
NAME = re.compile(r"\s*([^\s'’′()@\[\]{},:=\"]+)")
MODULE = re.compile(r"\s*([^\W\d][\w.]*):([^\W\d]\w*)")
HINTS = {
    "(": 'all parameters go in one pair of brackets before the cutoff, such as AP(rel=2,norm="min")@10',
    "-": "here, by intent is written [IA]",
    "_": "here, by intent is written [IA]",
}
"""How to write what cannot be written here, by its first character."""
HINT = 'a measure is written name(parameter=value)@cutoff[view], such as nDCG(gain="exp")@10[ties]'


@dataclass(frozen=True)
class NameParts:
    """The parts of a measure's name; views are in the order in which they are written."""

    name: str
    module: str | None = None
    parameters: dict[str, Any] | None = None
    cutoff: float | None = None
    views: tuple[View, ...] = ()


def split_name(text: str) -> NameParts:
    """The parts of a measure's name.

    >>> split_name("AP(rel=2)'@5")
    NameParts(name='AP', module=None, parameters={'rel': 2}, cutoff=5, views=(Condensed(),))
    """
    return _MeasureReader(text).read_measure()


class _MeasureReader(NameReader):
    outside = OUTSIDE

    def read_measure(self) -> NameParts:
        """Marks and views can follow anywhere; parameters only before the cutoff."""
        module = MODULE.match(self.text)
        match = module or NAME.match(self.text)
        if not match:
            raise self.expected("a measure's name", 0)
        name = match[2] if module else match[1]
        parameters: dict[str, Any] | None = None
        cutoff: float | None = None
        views: list[View] = []
        self.tokenize(match.end())
        while self.next < len(self.tokens):
            token = self.tokens[self.next]
            self.next += 1
            if token.kind == "prime":
                views.append(Condensed())
            elif token.kind == "suffix" and not module:
                name += token.text
            elif token.text == "(" and parameters is None and cutoff is None:
                parameters = self.parameters()
            elif token.text == "@" and cutoff is None:
                cutoff = self.number()
            elif token.text == "[":
                views += self.until("]", self._view)
            else:
                raise UsageError(f"{self.expected('the end', token.at)}; {HINTS.get(token.text[0], HINT)}")
        return NameParts(name, match[1] if module else None, parameters, cutoff, tuple(views))

    def key(self) -> Any:
        """A grade, as a number or as NTCIR writes it, or `else`."""
        label = self.tokens[self.next].text.strip("\"'") if self.next < len(self.tokens) else ""
        grade = grade_called(label)
        if label != "else" and grade is None:
            return self.number()
        self.next += 1
        return "else" if grade is None else int(grade)

    def _view(self) -> View:
        name = self.token("word", "a view: condensed, best, worst, ties, ties=best or ties=worst")
        if self.take("="):
            name += f"={self.token('word', 'best or worst')}"
        return ByIntent() if name == "IA" else parse_view(name)


def definition(measure: Measure) -> str:
    """The measure with all its parameters, those of default value too; with a digest of its file if it is not ours.

    >>> from cranfield.measures import RBP
    >>> definition(RBP(p=0.5))
    "RBP(p=0.5, rel=1, gain=None, largest='judgments', cutoff=None, views=())"
    """
    return " ".join([_in_full(measure), *map(_digest_of_file, files_outside(measure))])


def _in_full(value: Any) -> str:
    if isinstance(value, Measure):
        return f"{type(value).__name__}({', '.join(f'{name}={_in_full(x)}' for name, x in vars(value).items())})"
    return repr(value)


def files_outside(measure: Measure) -> list[str]:
    """The files of the measure, and of the measures in its parameters, that are not part of this package."""
    modules = sorted(name for name in _modules(measure) if name.partition(".")[0] != "cranfield")
    files = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    return [file for file in files if file]


def _modules(measure: Measure) -> set[str]:
    """The modules of a measure and of the measures in its parameters."""
    inner = (value for value in vars(measure).values() if isinstance(value, Measure))
    return {type(measure).__module__}.union(*map(_modules, inner))


def _digest_of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:16]
    except OSError:
        return "of an unknown file"


def names() -> dict[str, type[Measure]]:
    """Every name of a measure, aliases included."""
    return {**ALIASES, **REGISTRY}


def find(name: str) -> type[Measure] | None:
    """The measure with this name or alias."""
    return REGISTRY.get(name) or ALIASES.get(name)


NOT_MEASURES: dict[str, str] = {
    **dict.fromkeys(
        ("gm_map", "GMAP", "GM-MAP", "gmap", "G_AveP"),
        'the geometric mean of AP: compute AP and take the statistic "gmean" of its scores',
    ),
    "gm_bpref": 'the geometric mean of bpref: compute bpref and take the statistic "gmean" of its scores',
    **{
        risk: f'a statistic of scores: compute a measure and take the statistic "{risk}" against a baseline run'
        for risk in ("URisk", "TRisk")
    },
    "GeoRisk": 'a statistic of scores: compute a measure for several runs and take the statistic "GeoRisk"',
    **dict.fromkeys(("num_q", "NumQ"), "the number of topics, which every table of scores shows"),
    **dict.fromkeys(
        (
            "AWRF", "EE-D", "EE-R", "EE-L", "rND", "rKL", "rRD", "parity", "exposure", "equity", "FA*IR",
            "dissatisfaction",
        ),
        "a measure of fairness: see `cranfield fairness`, in Python cranfield.fairness",
    ),
    **dict.fromkeys(
        ("sDCG", "nsDCG", "sRBP", "sFreq", "sMP", "sU", "sCost", "sCG", "esP", "esR", "esAP", "esDCG", "esNDCG"),
        "a measure of sessions: see `cranfield answers sessions`, in Python cranfield.answers.sessions",
    ),
    **{
        name: f"a measure of {kind}: see `cranfield answers {verb}`, in Python cranfield.answers"
        for verb, (kind, measures) in {
            "rouge": ("summaries", ("ROUGE",)),
            "bleu": ("texts", ("BLEU",)),
            "nuggets": ("answers", (
                "all", "all-strict", "vital", "vital-strict", "weighted", "weighted-strict", "W-Rec", "Prec",
                "pyramid", "pyramid-modified", "POURPRE",
            )),
            "citations": ("answers with citations", (
                "citation-precision", "citation-recall", "citation-F", "citation-precision-strict",
                "citation-recall-strict", "supported", "uncited",
            )),
            "one-click": ("answers to be read at once", (
                "S", "T", "S-flat", "T-flat", "S#", "S♯", "S♭", "T♭", "S-measure", "T-measure",
            )),
            "passages": ("passages", ("char-P", "char-R", "char-F", "char-bpref")),
            "verticals": ("result pages with several verticals", (
                "page-DCG", "page-nDCG", "vertical-P", "vertical-R", "vertical-F",
            )),
            "preferences": ("preferences between documents", ("ppref", "rpref", "wpref", "appref")),
            "labels": ("labels of items", (
                "micro-P", "micro-R", "micro-F", "macro-P", "macro-R", "macro-F", "MAE", "MSE", "CEM",
                "purity", "inverse-purity", "purity-F", "BCubed-P", "BCubed-R", "BCubed-F",
            )),
        }.items()
        for name in measures
    },
    "runid": "the name of the run, not a measure",
    "relstring": "a string, not a number: see `cranfield explain`",
}  # fmt: skip
"""Names that are not measures here, and what to use instead."""

LONGEST_NAME = 60


def not_a_measure(name: str) -> str:
    """What a known name that is not a measure is, whatever its case; empty for any other name."""
    if name in NOT_MEASURES:
        return NOT_MEASURES[name]
    if folded(name).startswith("rouge"):  # ROUGE-2, rouge1, ROUGE-SU4-R
        return NOT_MEASURES["ROUGE"]
    return next((what for known, what in NOT_MEASURES.items() if folded(known) == folded(name)), "")


def unknown(name: str) -> str:
    """The message about a name that is not a measure's."""
    if explanation := not_a_measure(name):
        return f"{name} is {explanation}"
    if by_intent := find(f"{name}{ByIntent.mark}"):  # a measure of its own, such as alpha#-nDCG-IA
        return f"there is no measure {name!r}; did you mean {by_intent.name}?"
    shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
    lowered = {known.casefold(): kind.name for known, kind in names().items()}
    plain = re.sub(r"^d(?:in)?[#♯]?-|[-_]*\d+$", "", name, flags=re.IGNORECASE)  # without what comes before and after
    near = dict.fromkeys(lowered[known] for known in check.similar(name, lowered) or check.similar(plain, lowered))
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no measure {shown!r}{hint} (`cranfield measures` lists them all)"
