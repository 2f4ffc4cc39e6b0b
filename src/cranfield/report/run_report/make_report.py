"""A report of runs: its sections, chosen by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from cranfield import __version__
from cranfield.check import nearest
from cranfield.collection.source import PathLike
from cranfield.collection.toml_files import only_known, read_toml, typed_entry
from cranfield.errors import CranfieldError, CranfieldWarning, UsageError
from cranfield.report.pages.report_parts import Block, FigureBlock, Report, Section, TableBlock
from cranfield.report.run_report.experiment import Experiment
from cranfield.text import counted

SECTIONS = {
    "summary": ("In short", "leaderboard_section:summary_section"),
    "evaluated": ("What was evaluated", "evaluated_section:evaluated_section"),
    "leaderboard": ("Leaderboard", "leaderboard_section:leaderboard_section"),
    "pairs": ("Pairs of runs", "pairs_section:pairs_section"),
    "topics": ("Topics", "topics_section:topics_section"),
    "explain": ("Explained topics", "explained_section:explained_section"),
    "curves": ("Curves", "curves_section:curves_section"),
    "measures": ("Measures", "measures_section:measures_section"),
    "judgments": ("Judgments", "judgments_section:judgments_section"),
    "efficiency": ("Efficiency", "efficiency_section:efficiency_section"),
    "methods": ("Methods", "methods_section:methods_section"),
}
"""{name: (title, module:function)} in the order of the page."""
TITLE = "Evaluation report"


@dataclass(frozen=True)
class Outline:
    """What a report has: its title, the text before the first section, its sections, and text for some of them."""

    title: str = TITLE
    introduction: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    """Empty: all that can be made."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """{section: text at its beginning}."""

    def __post_init__(self) -> None:
        for name in (*self.sections, *self.notes):
            known_section(name)

    @staticmethod
    def read(path: PathLike) -> Outline:
        """Read a TOML file with `title`, `introduction`, `sections` and a table `notes`; all are optional."""
        return read_toml(path, _outline)


def known_section(name: str) -> None:
    """Raise an error for a section that is not known; it suggests the most similar one.

    >>> known_section("pears")
    Traceback (most recent call last):
    cranfield.errors.UsageError: no section 'pears'; did you mean 'pairs'?
    """
    if name not in SECTIONS:
        raise nearest(name, list(SECTIONS), "section")


def _outline(table: Mapping[str, Any]) -> Outline:
    only_known(table, ("title", "introduction", "sections", "notes"))
    sections = typed_entry(table, "sections", list, default=[])
    notes = typed_entry(table, "notes", dict, default={})
    for name, value in [*(("sections", one) for one in sections), *((f"notes.{k}", v) for k, v in notes.items())]:
        if not isinstance(value, str):
            raise UsageError(f"{name} == {value!r}, must be text")
    text = typed_entry(table, "introduction", str, default="")
    return Outline(
        typed_entry(table, "title", str, default=TITLE),
        tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip()),
        tuple(sections),
        notes,
    )


def make_report(experiment: Experiment, outline: Outline | None = None) -> Report:
    """The report of an experiment, ready for `report_page`.

    Without a choice of sections, it has all for which there is data. A section that cannot be made, for example because
    there is one run, says why.

    >>> from cranfield.scores.scores import Scores
    >>> scores = Scores.from_matrix([[0.5, 0.9], [0.4, 0.8], [0.6, 0.8]], runs=["x", "y"], measure="AP")
    >>> report = make_report(Experiment(scores), Outline(sections=("summary",)))
    >>> report.sections[0].points[0]
    'y is the best of 2 runs by AP: 0.8333 (95% interval 0.6899 to 0.9768) on 3 topics.'
    """
    outline = outline or Outline()
    scores = experiment.scores
    chosen = outline.sections or tuple(name for name in SECTIONS if _has_data(name, experiment))
    sections = [_with_note(_section(name, experiment), outline.notes.get(name)) for name in dict.fromkeys(chosen)]
    if "evaluated" in chosen:  # it has the notes of the evaluation, which need not be below every table
        sections = [_without_notes(section, frozenset(scores.notes)) for section in sections]
    lead = (
        f"{counted(len(scores.runs), 'run')} on {counted(len(scores.topics), 'topic')}, ranked by {experiment.measure}"
    )
    return Report(outline.title, tuple(sections), lead, outline.introduction, f"Made by cranfield {__version__}.")


def _has_data(name: str, experiment: Experiment) -> bool:
    if name == "efficiency":
        return experiment.times is not None
    return bool(experiment.runs) or name not in ("explain", "curves", "judgments")


def _section(name: str, experiment: Experiment) -> Section:
    title, where = SECTIONS[name]
    module, _, function = where.partition(":")
    make: Callable[[Experiment], Section] = getattr(import_module(f"cranfield.report.run_report.{module}"), function)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)  # they were given when the runs were evaluated
            return make(experiment)
    except CranfieldError as error:
        return Section(name, title, (f"Not computed: {error}.",))


def _with_note(section: Section, note: str | None) -> Section:
    return section if note is None else replace(section, text=(note, *section.text))


def _without_notes(section: Section, notes: frozenset[str]) -> Section:
    """The section without these notes below its tables and figures."""
    blocks: list[Block] = []
    for block in section.blocks:
        if isinstance(block, TableBlock):
            kept = tuple(note for note in block.table.notes if note not in notes)
            block = replace(block, table=replace(block.table, notes=kept))
        elif isinstance(block, FigureBlock):
            kept = tuple(note for note in block.figure.notes if note not in notes)
            block = replace(block, figure=replace(block.figure, notes=kept))
        blocks.append(block)
    return replace(section, blocks=tuple(blocks))


def section_names(text: str | Iterable[str]) -> tuple[str, ...]:
    """Names of sections between commas or blanks; unknown ones are errors.

    >>> section_names("leaderboard, pairs")
    ('leaderboard', 'pairs')
    """
    names: Sequence[str] = text.replace(",", " ").split() if isinstance(text, str) else tuple(text)
    for name in names:
        known_section(name)
    if not names:
        raise UsageError(f"no section given; there are {', '.join(SECTIONS)}")
    return tuple(names)
