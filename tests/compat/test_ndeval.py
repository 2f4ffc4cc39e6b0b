"""The replacement for ndeval prints the output of ndeval.

Two witnesses. `ndeval_output.txt` holds what ndeval 4.5 (its C source as pyndeval 0.0.8 ships it, compiled) printed for
the files below. And pyndeval, which wraps that source, computes the values anew for random collections; the format
around them is written out here.
"""

from __future__ import annotations

import io
from pathlib import Path

import pyndeval
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.compat.ndeval import COLUMNS, main

QRELS = """\
51 1 d01 2
51 1 d02 0
51 2 d01 1
51 2 d03 1
51 4 d04 1
51 4 d05 1
51 5 d02 0
7 0 d01 0
8 1 d01 1
8 2 d01 1
8 2 d02 1
"""
RUN = """\
wt09-51 Q0 d04 2 0.5 mine
wt09-51 Q0 x01 1 0.5 mine
wt09-51 Q0 d01 4 9 mine
wt09-51 Q0 d05 3 0.5 mine
wt09-51 Q0 d03 9 1e-3 mine
7 Q0 d01 1 1 mine
60 Q0 d01 1 1 mine
"""
BASELINE = """\
8 Q0 d02 1 3 base
8 Q0 d01 2 2 base
51 Q0 d01 1 3 base
51 Q0 d05 2 2 base
70 Q0 d05 2 2 base
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "qrels2").write_text("".join(line for line in QRELS.splitlines(True) if not line.startswith("7 ")))
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "base").write_text(BASELINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(arguments: str | list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(arguments.split() if isinstance(arguments, str) else arguments, out, err)
    return code, out.getvalue(), err.getvalue()


def recorded() -> list[tuple[str, str]]:
    text = (Path(__file__).parent / "ndeval_output.txt").read_text()
    cases = [case.partition("\n") for case in text.split("$ ndeval ")[1:]]
    return [(arguments, output) for arguments, _, output in cases]


@pytest.mark.parametrize(("arguments", "output"), recorded(), ids=lambda text: text[:60].split("\n")[0])
def test_prints_what_ndeval_printed(arguments: str, output: str) -> None:
    assert call(arguments) == (0, output, "")


# -- random collections, compared with pyndeval

Judged = dict[int, dict[tuple[int, str], int]]
Lists = dict[int, list[str]]

DOCS = [f"d{number:02}" for number in range(30)]
judgments = st.dictionaries(
    st.sampled_from([1, 3, 12]),
    st.dictionaries(st.tuples(st.integers(0, 4), st.sampled_from(DOCS)), st.integers(0, 2), min_size=1, max_size=60),
    min_size=1,
)
lists = st.dictionaries(
    st.sampled_from([1, 3, 12, 20]), st.lists(st.sampled_from(DOCS), min_size=1, unique=True), min_size=1
)


def wrapped(qrels: Judged, run: Lists, alpha: float, beta: float) -> dict[int, list[float]]:
    """pyndeval's values, topic by topic, in the order of ndeval's columns."""
    flat = [
        (str(topic), str(intent), doc, grade) for topic, row in qrels.items() for (intent, doc), grade in row.items()
    ]
    scored = [
        (str(topic), doc, float(len(docs) - place)) for topic, docs in run.items() for place, doc in enumerate(docs)
    ]
    results = pyndeval.ndeval(flat, scored, measures=list(COLUMNS), alpha=alpha, beta=beta)
    return {int(topic): [row[name] for name in COLUMNS] for topic, row in results.items()}


@settings(deadline=None, max_examples=150)
@given(judgments, lists, st.sampled_from(["0.5", "0.2", "1"]), st.sampled_from(["0.5", "0.9"]), st.booleans())
def test_random_collections_print_the_values_of_pyndeval(
    qrels: Judged, run: Lists, alpha: str, beta: str, complete: bool
) -> None:
    relevant = [topic for topic in qrels if any(qrels[topic].values())]
    qrels = {topic: qrels[topic] for topic in relevant} or {1: {(0, "d00"): 1}}
    if not qrels.keys() & run.keys():
        run = {next(iter(qrels)): ["d01"]}
    Path("q").write_text(
        "".join(f"{t} {intent} {doc} {g}\n" for t, row in qrels.items() for (intent, doc), g in row.items())
    )
    Path("r").write_text(
        "".join(f"{t} Q0 {doc} {k} 0 tag\n" for t, docs in run.items() for k, doc in enumerate(docs, 1))
    )
    values = wrapped(qrels, run, float(alpha), float(beta))
    rows = {topic: values[topic] if topic in qrels else [0.0] * len(COLUMNS) for topic in sorted(run)}
    number = len(qrels) if complete else len(qrels.keys() & run.keys())
    totals = [0.0] * len(COLUMNS)
    for row in rows.values():
        totals = [total + value for total, value in zip(totals, row, strict=True)]
    lines = ["runid,topic," + ",".join(COLUMNS)]
    lines += [f"tag,{topic}," + ",".join(f"{value:.6f}" for value in row) for topic, row in rows.items()]
    lines += ["tag,amean," + ",".join(f"{total / number:.6f}" for total in totals)]
    option = ["-c"] if complete else []
    printed = call([*option, "-alpha", alpha, "-beta", beta, "q", "r"])
    assert printed == (0, "\n".join(lines) + "\n", "")


# -- wrong calls and wrong data

WRONG = [
    ("", 2, "0 files, must be 2: qrels run"),
    ("qrels", 2, "1 file, must be 2"),
    ("-x qrels run", 2, "no option -x"),
    ("-alpha 2 qrels run", 2, "-alpha 2: must be between 0 and 1"),
    ("-beta x qrels run", 2, "-beta x: must be a number"),
    ("-riskAlpha -1 qrels run", 2, "-riskAlpha -1: must be 0 or more"),
    ("-M 0 qrels run", 2, "-M 0: must be 1 or more"),
    ("qrels nothing", 1, "nothing: no such file"),
    ("empty run", 1, "empty: is empty"),
    ("qrels empty", 1, "empty: is empty"),
    ("bad1 run", 1, "bad1:2: the grade is '-x', expected a whole number"),
    ("bad2 run", 1, "bad2:1: 3 columns, expected 4: topic intent doc grade"),
    ("bad3 run", 1, "bad3:2: document 'd1' appears twice for intent 1 of topic 1"),
    ("qrels bad4", 1, "bad4:2: rank 1 appears twice for topic 1; -traditional orders by score"),
    ("qrels bad5", 1, "bad5:2: document 'd1' appears twice for topic 1"),
    ("qrels bad6", 1, "bad6:1: the topic is 'x', expected a whole number, such as 51 or wt09-51"),
    ("-traditional qrels bad7", 1, "bad7:1: the score is 'y', expected a number"),
]
BAD = {
    "empty": "",
    "bad1": "1 1 d1 1\n1 1 d2 -x\n",
    "bad2": "1 d1 1\n",
    "bad3": "1 1 d1 1\n1 1 d1 0\n",
    "bad4": "1 Q0 d1 1 2 t\n1 Q0 d2 1 1 t\n",
    "bad5": "1 Q0 d1 1 2 t\n1 Q0 d1 2 1 t\n",
    "bad6": "x Q0 d1 1 2 t\n",
    "bad7": "1 Q0 d1 1 y t\n",
}


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG)
def test_wrong_calls_and_data_are_reported(arguments: str, code: int, message: str) -> None:
    for name, text in BAD.items():
        Path(name).write_text(text)
    exit_code, out, err = call(arguments)
    assert (exit_code, out) == (code, "")
    assert err.startswith(f"ndeval: {message}")


def test_ranks_may_repeat_when_scores_order() -> None:
    Path("r").write_text("8 Q0 d01 1 1 t\n8 Q0 d02 1 2 t\n")
    assert call("qrels r")[0] == 1
    # d02 (one of two intents) before d01 (both): strec@5 = 1, P-IA@5 = 3 / (5 · 2)
    values = dict(zip(COLUMNS, call("-traditional qrels r")[1].split("\n")[1].split(",")[2:], strict=True))
    assert (values["strec@5"], values["P-IA@5"]) == ("1.000000", "0.300000")


def test_grades_below_0_are_not_relevant() -> None:
    """ndeval 4.5 stops at one (`syntax error in qrel file "q" at line 1`); pyndeval counts it as not relevant."""
    Path("q").write_text("51 1 x01 -2\n51 1 d04 1\n51 2 d01 1\n")
    Path("q0").write_text("51 1 x01 0\n51 1 d04 1\n51 2 d01 1\n")
    Path("r").write_text("51 Q0 x01 1 3 t\n51 Q0 d04 2 2 t\n51 Q0 d01 3 1 t\n")
    assert call("q r") == call("q0 r")
    judged = [("51", "1", "x01", -2), ("51", "1", "d04", 1), ("51", "2", "d01", 1)]
    retrieved = [("51", "x01", 3.0), ("51", "d04", 2.0), ("51", "d01", 1.0)]
    theirs = pyndeval.RelevanceEvaluator(judged, ["alpha-nDCG@5"]).evaluate(retrieved)
    values = dict(zip(COLUMNS, call("q r")[1].split("\n")[1].split(",")[2:], strict=True))
    assert values["alpha-nDCG@5"] == f"{theirs['51']['alpha-nDCG@5']:.6f}"


def test_topics_of_one_intent() -> None:
    """What ndeval 4.5 printed: a at rank 1 of 1 relevant document; P-IA@5 is 1 / 5."""
    Path("q").write_text("1 1 a 1\n1 1 b 0\n")
    Path("r").write_text("1 Q0 a 1 2 r\n")
    values = dict(zip(COLUMNS, call("q r")[1].split("\n")[1].split(",")[2:], strict=True))
    assert (values["strec@5"], values["P-IA@5"], values["alpha-nDCG@5"]) == ("1.000000", "0.200000", "1.000000")


def test_help_and_version() -> None:
    assert "-riskAlpha a" in call("-help")[1]
    assert call("-version") == (0, "ndeval: version 4.5, reimplemented by cranfield\n", "")
