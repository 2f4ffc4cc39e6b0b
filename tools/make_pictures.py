"""Draw the pictures of docs/concepts from numbers that cranfield computes; --check only compares them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
from drawing import BLUE, COLOURS, GREEN, GREY, INK, ORANGE, PALE, PURPLE, Picture, ticks
from scipy.stats import t

import cranfield as cf
from cranfield.answers.sessions import Query, Session, SessionLists, sDCG
from cranfield.comparison import achieved_power

FOLDER = Path(__file__).parent.parent / "docs" / "concepts"
TENTHS = ticks(0, 0.2, 0.4, 0.6, 0.8, 1, form=".1f")


def sample_scores(measures: str) -> cf.Scores:
    sample = cf.sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cf.CranfieldWarning)
        return cf.evaluate(sample.qrels, sample.runs, measures)


def collection() -> Picture:
    """How a test collection is made and used."""
    picture = Picture(720, 300, "Documents and topics go to systems, which return runs; assessors judge a pool of them")
    for x, y, words in ((80, 60, "documents"), (80, 140, "topics"), (240, 100, "systems"), (400, 100, "runs")):
        picture.box(x, y, words)
    for x, y, words in ((400, 220, "pool"), (240, 220, "assessors"), (80, 220, "judgments"), (620, 100, "scores")):
        picture.box(x, y, words)
    picture.box(620, 220, "comparison")
    for start in (60, 140):
        picture.arrow(140, start, 180, 100 - (12 if start < 100 else -12))
    picture.arrow(300, 100, 340, 100)
    picture.arrow(400, 119, 400, 201)
    picture.arrow(340, 220, 300, 220)
    picture.arrow(180, 220, 140, 220)
    picture.arrow(460, 100, 560, 100)
    picture.text(510, 90, "a measure", size=12, anchor="middle", fill=GREY)
    picture.arrow(620, 119, 620, 201)
    picture.text(630, 165, "a test", size=12, fill=GREY)
    picture.curve([(80, 239), (80, 275), (510, 275), (510, 104)], stroke=GREY, width=1.5)
    picture.text(400, 170, "first documents", size=12, anchor="end", fill=GREY)
    return picture


def pooling() -> Picture:
    """What deeper pools cost and find, on the sample collection."""
    sample = cf.sample()
    relevant = {
        (topic, doc) for topic, docs in cf.Qrels.of(sample.qrels).to_dict().items() for doc in docs if docs[doc] > 0
    }
    lists = []
    for run in sample.runs:
        for topic, scores in cf.Run.of(run).to_dict().items():
            lists.append((topic, sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)))
    depths = [1, 2, 5, 10, 20, 30, 50, 75, 100]
    cost, share = [], []
    for depth in depths:
        pool = {(topic, doc) for topic, docs in lists for doc in docs[:depth]}
        cost.append(len(pool) / 24)
        share.append(len(pool & relevant) / len(relevant))
    picture = Picture(720, 320, "Documents to judge and relevant documents found, by the depth of the pool")
    for left, values, top, y_ticks, label, colour in (
        (75, cost, 260.0, ticks(0, 50, 100, 150, 200, 250), "documents to judge, per topic", ORANGE),
        (440, share, 1.0, TENTHS, "share of relevant documents found", BLUE),
    ):
        place = picture.axes(
            left, 30, 250, 220, (0, 100), (0, top), x_ticks=ticks(10, 20, 30, 50, 75, 100), y_ticks=y_ticks,
            x_label="depth of the pool", y_label=label,
        )  # fmt: skip
        points = [place(depth, value) for depth, value in zip(depths, values, strict=True)]
        picture.curve(points, stroke=colour)
        for x, y in points:
            picture.circle(x, y, 3, fill=colour, stroke=colour)
    return picture


def same_set() -> Picture:
    """Two lists of the same documents."""
    picture = Picture(720, 190, "Two lists with the same relevant documents in another order, and their scores")
    lists = (("A", [1, 1, 0, 0, 1, 0]), ("B", [0, 0, 1, 0, 1, 1]))
    names = ["P", "R", "P@3", "AP", "nDCG", "RR"]
    for column, name in enumerate(names):
        picture.text(350 + column * 62, 45, name, anchor="middle", bold=True)
    for row, (name, grades) in enumerate(lists):
        y = 62 + row * 50
        picture.text(24, y + 20, name, bold=True)
        picture.ranked(60, y, grades)
        for column, measure in enumerate(names):
            value = cf.parse(measure).of(grades, missed=[1])
            picture.text(350 + column * 62, y + 20, f"{value:.2f}", anchor="middle")
    picture.text(60, 172, "rank 1 is on the left; a fourth relevant document was not retrieved", size=12, fill=GREY)
    return picture


def precision_recall() -> Picture:
    """Precision against recall of one list, as it is and interpolated."""
    grades, missed = [1, 0, 1, 0, 0, 1, 0, 0, 0, 1], [1]
    found = np.cumsum(grades)
    precision, recall = found / np.arange(1, 11), found / 5
    picture = Picture(720, 320, "Precision against recall at every rank of a list, and interpolated precision")
    place = picture.axes(
        80, 25, 380, 235, (0, 1), (0, 1), x_ticks=TENTHS, y_ticks=TENTHS, x_label="recall", y_label="precision"
    )
    steps = []
    points = [i / 100 for i in range(101)]
    for point in points:
        steps.append(
            place(point, max([p for p, r in zip(precision, recall, strict=True) if r >= point - 1e-9], default=0))
        )
    picture.curve(steps, stroke=ORANGE)
    for p, r in zip(precision, recall, strict=True):
        picture.circle(*place(r, p), 4, fill=BLUE, stroke=BLUE)
    picture.key(490, 60, ["interpolated precision"], [ORANGE])
    picture.circle(501, 76, 4, fill=BLUE, stroke=BLUE)
    picture.text(518, 80, "precision at each rank", size=13)
    for row, (name, digits) in enumerate((("AP", 3), ("AP11", 3), ("Rprec", 3))):
        picture.text(490, 130 + row * 24, f"{name} = {cf.parse(name).of(grades, missed=missed):.{digits}f}")
    return picture


def user_models() -> Picture:
    """How much attention each rank gets."""
    picture = Picture(720, 320, "The share of attention that each rank gets in four user models")
    ranks = np.arange(1, 11)
    discount = 1 / np.log2(ranks + 1)
    models = {
        "P@10: reads all ten": np.full(10, 0.1),
        "nDCG@10: tires slowly": discount / discount.sum(),
        "RBP(p=0.8): mostly goes on": 0.2 * 0.8 ** (ranks - 1),
        "RBP(p=0.5): goes on or stops": 0.5**ranks,
    }
    place = picture.axes(
        75, 25, 330, 235, (0.5, 10.5), (0, 0.55), x_ticks=ticks(*range(1, 11)),
        y_ticks=ticks(0, 0.1, 0.2, 0.3, 0.4, 0.5), x_label="rank", y_label="weight of the rank",
    )  # fmt: skip
    for colour, weights in zip(COLOURS, models.values(), strict=False):
        points = [place(rank, weight) for rank, weight in zip(ranks, weights, strict=True)]
        picture.curve(points, stroke=colour)
        for x, y in points:
            picture.circle(x, y, 3, fill=colour, stroke=colour)
    picture.key(430, 60, list(models))
    return picture


def one_document() -> Picture:
    """Three lists for a user who wants one good document."""
    picture = Picture(720, 235, "Three lists for a user who wants one good document, and their scores")
    lists = (("X", [1, 0, 0, 0], [3, 2]), ("Y", [0, 3, 0, 0], [1, 2]), ("Z", [1, 3, 0, 0], [2]))
    names = ["RR", "NWRR", "O", "Pmeasure", "P+", "ERR"]
    for column, name in enumerate(names):
        picture.text(270 + column * 80, 40, "P-measure" if name == "Pmeasure" else name, anchor="middle", bold=True)
    for row, (name, grades, missed) in enumerate(lists):
        y = 56 + row * 46
        picture.text(24, y + 20, name, bold=True)
        picture.ranked(56, y, grades)
        for column, measure in enumerate(names):
            picture.text(
                270 + column * 80, y + 20, f"{cf.parse(measure).of(grades, missed=missed):.2f}", anchor="middle"
            )
    words = "numbers are grades; the topic has one document each of grade 3, 2 and 1"
    picture.text(56, 215, words, size=12, fill=GREY)
    return picture


def intents() -> Picture:
    """Relevance against breadth."""
    picture = Picture(720, 360, "Intent recall against D-nDCG for four lists, with lines of equal D-sharp-nDCG")
    place = picture.axes(
        80, 25, 300, 270, (0, 1.05), (0, 1.05), x_ticks=TENTHS, y_ticks=TENTHS,
        x_label="I-rec@3: how many intents are served", y_label="D-nDCG@3: how relevant it is",
    )  # fmt: skip
    for total in (0.5, 0.75, 0.9):
        low, high = max(0.0, 2 * total - 1.05), min(1.05, 2 * total)
        picture.line(*place(low, 2 * total - low), *place(high, 2 * total - high), stroke=PALE, width=2)
        x, y = place((low + high) / 2, 2 * total - (low + high) / 2)
        picture.text(x - 6, y + 4, f"D# = {total}", size=11, fill=GREY, anchor="end")
    probabilities = {"a": 0.7, "b": 0.3}
    lists = {
        "a a a": [{"a": 1}] * 3,
        "a b a": [{"a": 1}, {"b": 1}, {"a": 1}],
        "b – –": [{"b": 1}, {"a": 0}, {"a": 0}],
        "– a b": [{"a": 0}, {"a": 1}, {"b": 1}],
    }
    everything = {"a": 3, "b": 1}
    picture.text(410, 60, "list", bold=True)
    for column, name in enumerate(("I-rec", "D-nDCG", "D#-nDCG")):
        picture.text(520 + column * 72, 60, name, anchor="middle", bold=True, size=13)
    for row, (name, documents) in enumerate(lists.items()):
        left = dict(everything)
        for document in documents:
            for intent, grade in document.items():
                left[intent] -= grade
        missed = [{intent: 1} for intent, count in left.items() for _ in range(count)]
        values = [
            cf.parse(measure).of(documents, missed=missed, intent_probabilities=probabilities)
            for measure in ("I-rec@3", "D-nDCG@3", "D#-nDCG@3")
        ]
        colour, y = COLOURS[row], 90 + row * 28
        picture.circle(*place(values[0], values[1]), 6, fill=colour, stroke=colour)
        picture.circle(418, y - 5, 6, fill=colour, stroke=colour)
        picture.text(432, y, name)
        for column, value in enumerate(values):
            picture.text(520 + column * 72, y, f"{value:.2f}", anchor="middle")
    words = [
        "a and b: a document for that intent",
        "intent a has probability 0.7, b 0.3",
        "the topic has 3 documents for a and 1 for b",
    ]
    for row, note in enumerate(words):
        picture.text(410, 225 + row * 20, note, size=12, fill=GREY)
    return picture


def unjudged() -> Picture:
    """What unjudged documents could change."""
    scores = sample_scores("P@10,P@10[best],P'@10").mean()
    picture = Picture(720, 230, "P@10 of four runs, from all unjudged documents not relevant to all relevant")
    place = picture.axes(
        90, 30, 420, 140, (0, 0.7), (0.5, 4.5), x_ticks=ticks(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7), y_ticks=[],
        x_label="P@10", y_label="",
    )  # fmt: skip
    for row, run in enumerate(("coord", "bm25", "dense", "fusion"), 1):
        low, high, condensed = scores[run].values()
        (x1, y), (x2, _), (x3, _) = place(low, row), place(high, row), place(condensed, row)
        picture.text(80, y + 5, run, anchor="end")
        picture.rectangle(x1, y - 7, x2 - x1, 14, fill="#f3c9ae")
        picture.line(x1, y - 11, x1, y + 11, stroke=BLUE, width=4)
        picture.circle(x3, y, 5, fill=GREEN, stroke=GREEN)
    picture.line(545, 52, 545, 72, stroke=BLUE, width=4)
    picture.text(560, 67, "P@10", size=13)
    picture.circle(545, 92, 5, fill=GREEN, stroke=GREEN)
    picture.text(560, 97, "without unjudged", size=13)
    picture.rectangle(535, 112, 20, 14, fill="#f3c9ae")
    picture.text(560, 124, "could still be added", size=13)
    return picture


def differences() -> Picture:
    """The difference of each topic."""
    scores = sample_scores("nDCG@10")
    table = dict(zip(scores.runs, scores.values[0], strict=True))
    difference = table["fusion"] - table["bm25"]
    difference = np.sort(difference[np.isfinite(difference)])[::-1]
    picture = Picture(720, 320, "fusion minus bm25 in nDCG@10 on each topic, with the mean and its interval")
    n = len(difference)
    place = picture.axes(
        80, 25, 430, 250, (0, n), (-0.1, 0.3), x_ticks=[], y_ticks=ticks(-0.1, 0, 0.1, 0.2, 0.3, form="+.1f"),
        x_label="", y_label="fusion − bm25, nDCG@10",
    )  # fmt: skip
    zero = place(0, 0)[1]
    for at, value in enumerate(difference):
        x, y = place(at, value)
        picture.rectangle(x + 2, min(y, zero), 430 / n - 4, max(abs(zero - y), 1), fill=BLUE if value > 0 else ORANGE)
    mean, error = difference.mean(), difference.std(ddof=1) / n**0.5
    half = t.ppf(0.975, n - 1) * error
    top, middle, bottom = place(0, mean + half)[1], place(0, mean)[1], place(0, mean - half)[1]
    picture.line(560, top, 560, bottom, stroke=INK, width=3)
    picture.circle(560, middle, 6)
    for y, words in ((top, f"{mean + half:.3f}"), (middle, f"mean {mean:.3f}"), (bottom, f"{mean - half:.3f}")):
        picture.text(575, y + 5, words, size=13)
    picture.text(560, bottom + 28, "95% interval", size=12, anchor="middle", fill=GREY)
    picture.text(295, 300, f"{n} topics, sorted", size=13, anchor="middle")
    return picture


def power() -> Picture:
    """What a number of topics can find, and how false alarms add up."""
    picture = Picture(720, 320, "Power by the number of topics, and the chance of a false alarm by the number of tests")
    topics = [5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150]
    place = picture.axes(
        75, 25, 260, 225, (0, 150), (0, 1), x_ticks=ticks(0, 25, 50, 75, 100, 150), y_ticks=TENTHS,
        x_label="number of topics", y_label="power",
    )  # fmt: skip
    sizes = (0.1, 0.05, 0.03)
    picture.key(205, 190, [f"difference {size}" for size in sizes])
    for colour, difference in zip(COLOURS, sizes, strict=False):
        curve = [achieved_power(difference=difference, size=n, variance=0.0225).power for n in topics]
        picture.curve([place(n, value) for n, value in zip(topics, curve, strict=True)], stroke=colour)
    place = picture.axes(
        435, 25, 260, 225, (0, 50), (0, 1), x_ticks=ticks(1, 10, 20, 30, 40, 50), y_ticks=TENTHS,
        x_label="number of tests at α = 0.05", y_label="chance of a false alarm",
    )  # fmt: skip
    picture.curve([place(k, 1 - 0.95**k) for k in range(1, 51)], stroke=ORANGE)
    picture.curve([place(k, 1 - (1 - 0.05 / k) ** k) for k in range(1, 51)], stroke=GREEN)
    picture.text(*place(26, 0.62), "not corrected", size=12, fill=ORANGE)
    picture.text(*place(20, 0.09), "α divided by the number", size=12, fill=GREEN)
    return picture


def p_values() -> Picture:
    """Discriminative power as a curve."""
    names = ["AP", "nDCG@10", "P@10", "RR"]
    scores = sample_scores(",".join(names))
    picture = Picture(720, 320, "Sorted p-values of all pairs of systems, by measure")
    place = picture.axes(
        80, 25, 400, 235, (0.5, 6.5), (0, 0.8), x_ticks=ticks(*range(1, 7)),
        y_ticks=ticks(0, 0.2, 0.4, 0.6, 0.8), x_label="pairs of systems, sorted by p", y_label="p-value",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cf.CranfieldWarning)
        for colour, name in zip(COLOURS, names, strict=False):
            rows = cf.compare(scores, name, correction="none").rows()
            points = [place(at, p) for at, p in enumerate(sorted(row["p"] for row in rows), 1)]
            picture.curve(points, stroke=colour)
            for x, y in points:
                picture.circle(x, y, 3, fill=colour, stroke=colour)
    picture.line(*place(0.5, 0.05), *place(6.5, 0.05), stroke=INK, width=1)
    picture.text(490, place(0, 0.05)[1] + 5, "α = 0.05", size=12)
    picture.key(510, 60, names)
    return picture


def scale() -> Picture:
    """Where the values of all lists of four documents are."""
    picture = Picture(720, 250, "The scores that lists of four documents can have, by four measures")
    lists = list(product((0, 1), repeat=4))
    for row, (name, note) in enumerate(
        (("P@4", "5 values"), ("RBP(p=0.5)", "16 values"), ("RBP(p=0.8)", "16 values"), ("RR", "5 values"))
    ):
        y = 50 + row * 48
        values = sorted({round(cf.parse(name).of(grades), 6) for grades in lists})
        assert note == f"{len(values)} values"
        highest = values[-1]
        picture.text(110, y + 5, name, anchor="end")
        picture.line(130, y, 590, y, stroke=PALE, width=2)
        for value in values:
            x = 130 + 460 * value / highest
            picture.line(x, y - 12, x, y + 12, stroke=COLOURS[row], width=2.5)
        picture.text(610, y + 5, note, size=12, fill=GREY)
    picture.text(130, 232, "worst list", size=12, fill=GREY)
    picture.text(590, 232, "best list", size=12, fill=GREY, anchor="end")
    return picture


def interleaving() -> Picture:
    """Team draft, step by step."""
    picture = Picture(720, 300, "Two rankings are mixed like two teams that choose players")
    a, b = ["d1", "d2", "d3", "d4"], ["d2", "d5", "d1", "d6"]
    mixed = [("d1", 0), ("d2", 1), ("d5", 1), ("d3", 0)]  # the coin says A, then B
    for x, name, ranking, colour in ((90, "A", a, BLUE), (230, "B", b, ORANGE)):
        picture.text(x, 40, f"system {name}", anchor="middle", bold=True, fill=colour)
        for rank, doc in enumerate(ranking):
            picture.box(x, 75 + rank * 52, doc, width=90)
    picture.text(440, 40, "what the user sees", anchor="middle", bold=True)
    for rank, (doc, team) in enumerate(mixed):
        picture.box(440, 75 + rank * 52, doc, width=90, fill=("#d6e9f7", "#fbe0cf")[team])
        picture.text(500, 80 + rank * 52, f"team {'AB'[team]}", fill=(BLUE, ORANGE)[team], size=13)
    picture.arrow(295, 150, 375, 150)
    for rank in (1, 2):
        picture.text(580, 80 + rank * 52, "click", size=13, bold=True)
    picture.text(560, 265, "B 2, A 0: B wins", size=14, anchor="start", fill=ORANGE)
    return picture


def session() -> Picture:
    """How much a document counts in each list of a session."""
    picture = Picture(720, 260, "The weight of each rank in the three lists of a session, by sDCG")
    queries = [Query(tuple(f"{query}.{rank}" for rank in range(1, 6))) for query in range(1, 4)]
    for row, query in enumerate(queries):
        y = 55 + row * 56
        picture.text(110, y + 25, f"query {row + 1}", anchor="end")
        for column, doc in enumerate(query.documents):
            lists = SessionLists.of([Session("s", "1", tuple(queries))], {"1": {doc: 1}})
            weight = sDCG().score(lists).item()
            x = 130 + column * 110
            picture.rectangle(x, y, 100, 40, fill=BLUE, round_by=4, opacity=0.08 + 0.92 * weight)
            colour = "#ffffff" if weight > 0.5 else INK
            picture.text(x + 50, y + 25, f"{weight:.2f}", anchor="middle", size=13, fill=colour)
    for column in range(5):
        picture.text(180 + column * 110, 44, f"rank {column + 1}", anchor="middle", size=12, fill=GREY)
    picture.text(130, 240, "a good document low in the list of a late query counts least", size=12, fill=GREY)
    return picture


def reproduction() -> Picture:
    """Five things that can agree."""
    picture = Picture(720, 300, "Five levels on which a reproduction can agree with the original")
    rows = (
        ("the same lists", "order of documents: Kendall's τ, RBO", BLUE),
        ("the same scores", "per topic: root mean square error", BLUE),
        ("the same mean", "difference of means", GREEN),
        ("the same effect", "gain over the baseline: effect ratio, Δ", ORANGE),
        ("the same conclusion", "p-value of the comparison", PURPLE),
    )
    for row, (name, how, colour) in enumerate(rows):
        y, width = 30 + row * 50, 250 + row * 30
        picture.rectangle(40, y, width, 40, fill=colour, round_by=6)
        picture.text(56, y + 25, name, fill="#ffffff", bold=True)
        picture.text(width + 56, y + 25, how, size=13)
    picture.text(40, 292, "from strict (top) to loose (bottom)", size=12, fill=GREY)
    return picture


PICTURES: tuple[Callable[[], Picture], ...] = (
    collection, pooling, same_set, precision_recall, user_models, one_document, intents, unjudged, differences, power,
    p_values, scale, interleaving, session, reproduction,
)  # fmt: skip


def main() -> None:
    for draw in PICTURES:
        path, svg = FOLDER / f"{draw.__name__}.svg", draw().svg()
        if "--check" not in sys.argv:
            path.write_text(svg, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != svg:
            raise SystemExit(f"docs/concepts/{path.name} is out of date: run python tools/make_pictures.py")


if __name__ == "__main__":
    main()
