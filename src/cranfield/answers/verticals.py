"""Aggregated search: pages of blocks, each from one vertical, such as web pages, news or images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cranfield.answers.answer_texts import DOC, RUN, TOPIC, AnswerTable, Name, optional
from cranfield.answers.nugget_scores import Beta, f_measure, measure_names
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import PathLike, expand, stem
from cranfield.collection.tables.table_schema import Numbers
from cranfield.declared.operation import about, operation
from cranfield.errors import UsageError
from cranfield.notes import method_note
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed, shown

MEASURES = ("page-DCG", "page-nDCG", "vertical-P", "vertical-R", "vertical-F")
VERTICAL = Name(("vertical", "source", "engine", "block_type"))
BLOCKS = AnswerTable(
    "topic block vertical doc [run]", topic=TOPIC, block=Numbers(("block", "block_rank"), least=1, whole=True),
    vertical=VERTICAL, doc=DOC, run=optional(RUN),
)  # fmt: skip
ORIENTATIONS = AnswerTable(
    "topic vertical orientation", key=("topic", "vertical"), topic=TOPIC, vertical=VERTICAL,
    orientation=Numbers(("orientation", "probability", "preference"), least=0, most=1),
)  # fmt: skip


@dataclass(frozen=True)
class Block:
    """Results of one vertical, shown together."""

    vertical: str
    docs: tuple[str, ...]


Pages = Mapping[str, Mapping[str, Sequence[Block]]]
"""{run: {topic: blocks, from the top}}."""
Orientation = Mapping[str, Mapping[str, float]]
"""{topic: {vertical: the share of users who would rather see results of this vertical than others}}."""


def read_pages(paths: Iterable[PathLike]) -> dict[str, dict[str, list[Block]]]:
    """Pages: rows of topic, block (its place, from 1), vertical and doc; and run, unless it is named after the file."""
    pages: dict[str, dict[str, dict[int, Block]]] = {}
    for path in expand(paths):
        rows = BLOCKS.read(path)
        for at, (topic, number, vertical, doc, run) in enumerate(rows):
            blocks = pages.setdefault(run or stem(path), {}).setdefault(topic, {})
            block = blocks.get(number, Block(vertical, ()))
            if block.vertical != vertical:
                message = f"block {number:g} is of {shown(block.vertical)} before and of {shown(vertical)} here"
                raise rows.fault(at, message)
            if doc in block.docs:
                raise rows.fault(at, f"document {shown(doc)} appears twice in block {number:g}")
            blocks[number] = Block(vertical, (*block.docs, doc))
    if not pages:
        raise UsageError("no pages")
    return {
        run: {topic: [blocks[number] for number in sorted(blocks)] for topic, blocks in topics.items()}
        for run, topics in pages.items()
    }


def read_orientation(path: PathLike) -> dict[str, dict[str, float]]:
    """Vertical orientation: rows of topic, vertical and orientation, from 0 to 1."""
    orientation: dict[str, dict[str, float]] = {}
    for topic, vertical, value in ORIENTATIONS.read(path):
        orientation.setdefault(topic, {})[vertical] = float(value)
    return orientation


@operation
def page_scores(
    pages: Pages,
    qrels: Qrels | Mapping[str, Mapping[str, float]],
    orientation: Orientation,
    measures: Iterable[str] = MEASURES,
    *,
    wanted: Annotated[
        float, about("Verticals with this orientation or more should be on the page.", least=0, most=1)
    ] = 0.5,
    beta: Beta = 1.0,
) -> Scores:
    r"""Scores of aggregated pages, from topical relevance and from the vertical orientation of users.

    A block is worth the mean relevance of its documents, relative to the highest grade, times the orientation of its
    vertical: relevant images do not help users who want text.

    .. math:: \text{page-DCG} = \sum_b \frac{o(v_b) \, \bar g_b}{\log_2(b + 1)}, \quad
              \bar g_b = \frac{1}{|B|} \sum_{d \in B} \frac{g(d)}{g_{max}}

    `page-nDCG` divides it by the page that shows the best block of each vertical, over all runs, best first.
    `vertical-P`, `-R` and `-F` compare the verticals on the page with the wanted ones, whose orientation is `wanted` or
    more. The effort of reading blocks of different kinds is not modelled.

    Unjudged documents count as not relevant. A topic with no wanted vertical is undefined in vertical-R and -F, and one
    without a block of positive worth in page-nDCG.
    References: for the idea, Zhou et al., Evaluating Aggregated Search Pages, SIGIR 2012, 115-124; the formula is ours

    >>> pages = {"mine": {"1": [Block("web", ("d1", "d2")), Block("images", ("i1",))]}}
    >>> orientation = {"1": {"web": 1.0, "images": 0.25, "news": 0.75}}
    >>> page_scores(pages, {"1": {"d1": 1, "i1": 1}}, orientation)
    Scores: 5 measures × 1 run × 1 topic
          page-DCG  page-nDCG  vertical-P  vertical-R  vertical-F
    mine    0.6577     1.0000      0.5000      0.5000      0.5000
    wanted verticals: orientation 0.5 or more; the ideal page has the best block of each vertical
    """
    names = measure_names(measures, MEASURES)
    grades = qrels.to_dict() if isinstance(qrels, Qrels) else qrels
    most = max((grade for judged in grades.values() for grade in judged.values()), default=0.0)
    if most <= 0:
        raise UsageError("no document is relevant")
    topics, runs = [topic for topic in orientation if topic in grades], list(pages)
    if not topics:
        raise UsageError("no topic has both judgments and orientation")
    worth = {
        (run, topic): [
            _worth(block, grades[topic], orientation[topic], topic, float(most)) for block in pages[run].get(topic, ())
        ]
        for run in runs
        for topic in topics
    }
    values, missing = np.zeros((len(names), len(runs), len(topics))), np.zeros((len(runs), len(topics)), dtype=bool)
    for t, topic in enumerate(topics):
        best: dict[str, float] = {}
        for run in runs:
            for block, value in zip(pages[run].get(topic, ()), worth[run, topic], strict=True):
                best[block.vertical] = max(value, best.get(block.vertical, 0.0))
        ideal = _dcg(sorted(best.values(), reverse=True))
        target = {vertical for vertical, value in orientation[topic].items() if value >= wanted}
        for r, run in enumerate(runs):
            blocks = pages[run].get(topic, ())
            missing[r, t] = topic not in pages[run]
            shown_verticals = {block.vertical for block in blocks}
            dcg = _dcg(worth[run, topic])
            precision = len(shown_verticals & target) / len(shown_verticals) if shown_verticals else 0.0
            recall = len(shown_verticals & target) / len(target) if target else np.nan
            row = {
                "page-DCG": dcg,
                "page-nDCG": dcg / ideal if ideal else np.nan,
                "vertical-P": precision,
                "vertical-R": recall,
                "vertical-F": f_measure(precision, recall, beta) if target else np.nan,
            }
            values[:, r, t] = [row[name] for name in names]
    notes = [
        method_note(
            f"wanted verticals: orientation {wanted:g} or more; the ideal page has the best block of each vertical"
        )
    ]
    left = [topic for topic in (*grades, *orientation) if topic not in topics]
    if left:
        notes.append(f"{counted(len(left), 'topic')} without judgments or without orientation left out: {listed(left)}")
    return Scores(names, runs, topics, values, missing, "zero", notes)


def _worth(
    block: Block, grades: Mapping[str, float], orientation: Mapping[str, float], topic: str, most: float
) -> float:
    if block.vertical not in orientation:
        raise UsageError(
            f"topic {topic!r}: no orientation of vertical {block.vertical!r}; there are {listed(orientation)}"
        )
    gains = [max(0.0, float(grades.get(doc, 0))) / most for doc in block.docs]
    return orientation[block.vertical] * sum(gains) / len(gains)


def _dcg(values: Sequence[float]) -> float:
    return float(sum(value / np.log2(rank + 1) for rank, value in enumerate(values, 1)))
