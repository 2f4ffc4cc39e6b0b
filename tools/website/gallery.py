"""The gallery: every figure, drawn by a command on the sample collection, files made from it or a simulated log."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from cranfield.report import figures
from cranfield.report.figures.saving import rendered
from website import text
from website.gallery_files import label_queries, write_files
from website.gallery_python import PYTHON, START
from website.staging import write

LOG = "cranfield log demo log --users 300 --days 7 --seed 1"
GATE = "cranfield gate sample/qrels.txt sample/{0}.run --at-least nDCG@10=0.1 --history builds.jsonl --build {1}"
SHOWN = {
    "Scores": {
        "describe_boxes": ("cranfield plot boxes --sample -m AP -o {}",),
        "describe_curves": ("cranfield plot curves --sample -o {}",),
        "describe_precision_recall": ("cranfield plot curves --sample --topic 101 -o {}",),
        "describe_saw_tooth": ("cranfield plot curves --sample --topic 101 --saw-tooth -o {}",),
        "describe_first_rank": (
            "cranfield plot first -m 'O(beta=0)' -m 'O(beta=1)' -m 'O(beta=10)' --relevant 5 -o {}",
        ),
        "describe_topics": ("cranfield topics --sample -m AP --run bm25 --plot {}",),
        "describe_diversity": ("cranfield plot diversity intents.qrels sample/*.run -o {}",),
        "describe_heat": (),
        "describe_efficiency": ("cranfield efficiency --sample -m AP --times times.tsv --plot {}",),
    },
    "Comparisons": {
        "describe_intervals": ("cranfield compare --sample -m AP --test tukey --plot {}",),
        "describe_levels": ("cranfield anova --sample -m AP --plot {}",),
        "describe_differences": (
            "cranfield plot differences sample/qrels.txt sample/bm25.run sample/dense.run -m AP -o {}",
        ),
        "describe_progress": ("cranfield plot progress published.csv -o {}",),
        "describe_residuals": ("cranfield anova --sample -m AP --residuals normal --plot {}",),
        "describe_interaction": ("cranfield anova --sample -m AP --factors parts.csv --means words:vectors --plot {}",),
        "describe_power": ("cranfield power --sample -m AP --difference 0.05 --plot {}",),
        "describe_gate_history": (
            *(GATE.format(run, day) for run, day in (("coord", "monday"), ("bm25", "tuesday"), ("fusion", "friday"))),
            "cranfield gate history builds.jsonl --plot {}",
        ),
    },
    "Measures under test": {
        "describe_asl": ("cranfield meta power --sample -m AP,nDCG@10,P@10,RR --plot {}",),
        "describe_shares": (
            "cranfield meta power --collection people=sample/qrels.txt:sample/*.run "
            "--collection machine=lenient.qrels:sample/*.run -m AP,nDCG@10,P@10,RR --plot {}",
        ),
        "describe_swap_rates": ("cranfield meta swap --sample -m AP,nDCG@10,RR --plot {}",),
        "describe_correlations": ("cranfield meta correlate --sample -m AP,nDCG@10,P@10,RR --plot {}",),
        "describe_concordance": ("cranfield meta concord --sample -m AP,nDCG@10,RR --gold-measure P@5 --plot {}",),
        "describe_agreement": (
            "cranfield meta concord --sample -m AP,nDCG@10,RR --preferences preferences.tsv --plot {}",
        ),
        "describe_robustness": ("cranfield meta robust --sample -m AP,nDCG@10,bpref --plot {}",),
        "describe_rank_changes": ("cranfield meta loo --sample -m AP --plot {}",),
        "describe_list_order": ("cranfield meta order order.csv -m AP --with-steps --plot {}",),
        "describe_spacing": ("cranfield meta scale -m AP,P,DCG --length 4 --plot {}",),
        "describe_axioms": ("cranfield meta axioms -m AP,nDCG,RR,RBP --plot {}",),
        "describe_components": ("cranfield meta gtheory --sample -m AP,nDCG@10,RR --plot {}",),
        "describe_informativeness": ("cranfield meta inform --sample -m AP,nDCG@10,RR --plot {}",),
        "describe_effects": (
            "cranfield meta reproduce sample/qrels.txt sample/bm25.run bm25-again.run --advanced sample/dense.run "
            "--advanced-again dense-again.run -m AP,nDCG@10,RR --plot {}",
        ),
        "describe_alike": ("cranfield meta reproduce sample/qrels.txt sample/bm25.run bm25-again.run --plot {}",),
    },
    "Building a collection": {
        "describe_discovery": ("cranfield pool simulate --sample --methods depth,rrf,max-mean --plot {}",),
        "describe_assessor_agreement": ("cranfield labels agree labels.csv --pairs --plot {}",),
        "describe_assessor_accuracy": ("cranfield labels assessors labels.csv --gold sample/qrels.txt --plot {}",),
        "describe_assessor_confusion": (
            "cranfield labels merge labels.csv --method dawid-skene --figure confusion --plot {} -o merged.qrels",
        ),
        "describe_posterior_entropy": (
            "cranfield labels merge labels.csv --method dawid-skene --plot {} -o merged.qrels",
        ),
        "describe_method_ranks": ("cranfield labels effect labels.csv sample/*.run -m AP --plot {}",),
        "describe_label_errors": (
            "cranfield labels effect labels.csv sample/*.run -m AP --gold sample/qrels.txt --show documents --plot {}",
        ),
        "describe_judge_ranks": (
            "cranfield machine audit sample/qrels.txt careful.qrels lenient.qrels sample/*.run --plot {}",
        ),
        "describe_judge_confusion": (
            "cranfield machine audit sample/qrels.txt lenient.qrels --figure confusion --plot {}",
        ),
        "describe_topic_leniency": (
            "cranfield machine audit sample/qrels.txt careful.qrels lenient.qrels --figure topics --plot {}",
        ),
        "describe_powered": ("cranfield machine ppi human.qrels careful.qrels sample/*.run -m nDCG@10 --plot {}",),
    },
    "Live traffic": {
        "describe_log_measure": (LOG, "cranfield log measures log -m abandonment --by day --plot {}"),
        "describe_sessions": (LOG, "cranfield log sessions log --plot {}"),
        "describe_reliability": (LOG, "cranfield log satisfaction log --labels satisfied.csv --plot {}"),
        "describe_arm_effects": (
            "cranfield ab analyse users.csv --metric revenue --metric clicks/impressions --plot {}",
        ),
        "describe_detectable": ("cranfield ab power users.csv --metric revenue --users 5000,20000,80000 --plot {}",),
        "describe_aa_p_values": ("cranfield ab aa users.csv --unit user --metric revenue --splits 500 --plot {}",),
        "describe_preferences": (
            "cranfield interleave simulate sample/qrels.txt sample/bm25.run sample/coord.run --methods team-draft "
            "--impressions 400 --users 60 --write-log lists.jsonl",
            "cranfield interleave analyse lists.jsonl --plot {}",
        ),
        "describe_interleaving_power": (
            "cranfield interleave power --delta 0.02,0.05 --tied 0.4 --impressions 2000 --plot {}",
        ),
        "describe_click_parameters": (LOG, "cranfield clicks fit log --model PBM --plot {}"),
        "describe_click_perplexity": (LOG, "cranfield clicks evaluate log --fit RCM,DCTR,PBM --plot {}"),
        "describe_online_agreement": (
            "cranfield meta online --sample -m AP,nDCG@10,RR --simulate --simulated-queries 500 --plot {}",
        ),
    },
    "Sessions": {
        "describe_trailtext": (
            "cranfield answers sessions none sessions.jsonl --gains-from clicks -m sU --lengths lengths.txt --explain s1 --plot {}",
        ),
    },
}
"""The commands that draw each figure, by part of the gallery; the last one draws it."""
TITLES = {
    "describe_aa_p_values": "p-values of A/A splits",
    "describe_alike": "similar lists",
    "describe_arm_effects": "effects of arms",
    "describe_asl": "p-values of all pairs (ASL)",
    "describe_components": "variance components",
    "describe_effects": "effects of a repetition",
    "describe_gate_history": "history of a gate",
    "describe_first_rank": "rank of the first relevant document",
    "describe_heat": "heat map",
    "describe_powered": "prediction-powered intervals",
    "describe_precision_recall": "precision and recall of a topic",
    "describe_saw_tooth": "precision and recall at every rank",
    "describe_shares": "power on several collections",
    "describe_trailtext": "text read",
}
"""Headings that differ from the name of the function."""
# ruff: noqa: E501
INTRODUCTION = """\
# Gallery

Every figure that cranfield draws, with the command that draws it and the same in Python. All commands and all Python below ran when this page was made. `sample/` is the
[bundled sample collection](sample.md) and `log` a simulated log; `labels.csv`, `careful.qrels`, `times.tsv` and the other files are made up from the sample, only for this page.
The suffix of the file chooses the format: `.html` (a page with tooltips and zoom), `.svg`, `.pdf`, `.png`, `.json` (Vega-Lite) or `.csv` (the data). [Figures](plots.md)
explains the rest. All Python examples begin with these lines, and `figure.save("name.svg")` writes a figure:
"""


class Example(NamedTuple):
    """A figure of the gallery."""

    part: str
    commands: tuple[str, ...]
    svg: str


def examples() -> dict[str, Example]:
    """{name of a function: its figure}; all commands are run."""
    drawn: dict[str, Example] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        run(LOG, folder)
        label_queries(folder)
        done = {LOG}
        for part, entries in SHOWN.items():
            for function, commands in entries.items():
                file = f"{function.removeprefix('describe_')}.svg"
                shown = tuple(command.format(file) for command in commands)
                for command in shown:
                    if command not in done:
                        run(command, folder)
                        done.add(command)
                drawn[function] = Example(part, shown, (folder / file).read_text("utf-8") if shown else "")
        made = figures_in_python(folder)
    for function, example in drawn.items():
        if not example.svg:
            drawn[function] = example._replace(svg=rendered(made[function], "svg").decode("utf-8"))
    missing = {name for name in figures.__all__ if name.startswith("describe_")} - drawn.keys() & PYTHON.keys()
    if missing:
        raise SystemExit(f"add these figures to the gallery: {', '.join(sorted(missing))}")
    return drawn


def figures_in_python(folder: Path) -> dict[str, figures.Figure]:
    """Run the Python of all entries, in their order and in the folder."""
    names: dict[str, Any] = {}
    made, before = {}, Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same as in the commands, whose output the page leaves out
            exec(START, names)
            for function, lines in PYTHON.items():
                exec(lines, names)
                made[function] = names.pop("figure")
    finally:
        os.chdir(before)
    return made


def run(command: str, folder: Path) -> None:
    """Run a command in a folder; an error stops the build."""
    words = [word for given in shlex.split(command) for word in _expanded(given, folder)]
    status, printed = text.run(words, folder)
    if status != 0:
        raise SystemExit(f"this command of the gallery fails: {command}\n{printed}")


def _expanded(word: str, folder: Path) -> list[str]:
    """The files that a pattern stands for, as a shell has it."""
    found = sorted(path.relative_to(folder).as_posix() for path in folder.glob(word)) if "*" in word else []
    return found or [word]  # a shell keeps a pattern that no file has


def write_page(folder: Path) -> None:
    """Write the gallery and its pictures."""
    drawn = examples()
    parts = [INTRODUCTION, text.code(START, "python")]
    for part in SHOWN:
        parts.append(f"## {part}")
        for function, example in drawn.items():
            if example.part == part:
                parts += entry(function, example)
                write(folder / "pictures" / "gallery" / f"{function}.svg", with_room(example.svg))
    write(folder / "gallery.md", text.page(*parts))


def entry(function: str, example: Example) -> list[str]:
    """A figure with the ways to draw it."""
    doc = inspect.getdoc(getattr(figures, function)) or ""
    caption = text.plain(" ".join(doc.partition("\n\n")[0].split()))
    title = TITLES.get(function, function.removeprefix("describe_").replace("_", " "))
    return [
        f"### {title if title.startswith('p-') else title[:1].upper() + title[1:]}",
        caption,
        f"![{caption}](pictures/gallery/{function}.svg){{ .figure }}",
        text.code("\n".join(example.commands), "sh"),
        text.code(PYTHON[function], "python"),
    ]


def with_room(svg: str) -> str:
    """A picture with some room at both sides: the letters of a reader's fonts can be wider than ours.

    >>> with_room('<svg width="100" height="50" viewBox="0 0 100 50">')
    '<svg width="120" height="50" viewBox="-6 0 120 50">'
    """
    size = re.search(r'width="([\d.]+)" height="([\d.]+)" viewBox="0 0 \1 \2"', svg)
    if size is None:
        return svg
    wide, left = f"{float(size[1]) * 1.2:g}", f"{float(size[1]) * -0.06:g}"
    return svg.replace(size[0], f'width="{wide}" height="{size[2]}" viewBox="{left} 0 {wide} {size[2]}"', 1)
