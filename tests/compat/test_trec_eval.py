"""The replacement for trec_eval prints the output of trec_eval.

Two witnesses. `trec_eval_output.txt` holds what the measure code of trec_eval 9.0.8 printed for the files below, and
for dialect 10 the same code with what the source of 10.0 changes: scores in 64 bits, recall points rounded to the
nearest document, missing topics answered, three more measures. And pytrec_eval, which wraps 9.0.8, computes the values
anew for random collections; the format around them is written out here.
"""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.compat.trec_eval import main
from tests.compat.random_collections import Lists, judgments, runs

QRELS = """\
10 0 d01 2
10 0 d02 0
10 0 d03 1
10 0 d04 1
10 0 d05 -1
10 0 d06 3
10 0 d07 1
2 0 d01 0
2 0 d02 0
3 0 d08 1
3 0 d09 12
"""
RUN = """\
10 Q0 d02 1 9.5 first
10 Q0 x01 2 9.25 first
10 Q0 d03 3 16777217 first
10 Q0 d05 4 16777216 first
10 Q0 d06 5 2.5 first
10 Q0 d01 6 2.5 first
2 Q0 d02 1 1 first
2 Q0 x02 2 1 first
9 Q0 d01 1 1 first
3 Q0 x03 1 3 last
3 Q0 d09 2 2 last
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`qrels`, `run`, and `qrels4` with a topic that the run lacks."""
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "qrels4").write_text(QRELS + "4 0 d01 1\n4 0 d02 0\n")
    (tmp_path / "run").write_text(RUN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(arguments: str | list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(arguments.split() if isinstance(arguments, str) else arguments, out, err)
    return code, out.getvalue(), err.getvalue()


def recorded() -> list[tuple[str, str]]:
    text = (Path(__file__).parent / "trec_eval_output.txt").read_text()
    cases = [case.partition("\n") for case in text.split("$ trec_eval ")[1:]]
    return [(arguments, output) for arguments, _, output in cases]


@pytest.mark.parametrize(("arguments", "output"), recorded(), ids=lambda text: text[:60].split("\n")[0])
def test_prints_what_trec_eval_printed(arguments: str, output: str) -> None:
    assert call(arguments) == (0, output, "")


# -- random collections, compared with pytrec_eval

TABLE = sorted(pytrec_eval.supported_nicknames["all_trec"] - {"runid", "num_q"})


def ranked(documents: dict[str, float]) -> list[str]:
    return sorted(documents, key=lambda doc: (np.float32(documents[doc]), doc.encode()), reverse=True)


def relstring(qrels: dict[str, int], documents: list[str], judged_only: bool) -> str:
    signs = ["-" if doc not in qrels else "." if qrels[doc] < 0 else ">" if qrels[doc] > 9 else str(qrels[doc])
             for doc in documents]  # fmt: skip
    return "".join(sign for sign in signs if not judged_only or sign not in "-.")[:10]


def expected(
    qrels: dict[str, dict[str, int]], run: Lists, *, level: int, depth: int | None, judged_only: bool, complete: bool
) -> str:
    """`-q -m all_trec` by trec_eval 9.0.8: values from pytrec_eval, the order and form of lines as documented."""
    cut = {topic: {doc: scores[doc] for doc in ranked(scores)[:depth]} for topic, scores in run.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, TABLE, level, judged_only)
    values = evaluator.evaluate(cut)
    topics = sorted(set(qrels) & set(run), key=str.encode)
    names = list(values[topics[0]])
    lines = []
    for topic in topics:
        for name in names:
            if name == "relstring":
                signs = relstring(qrels[topic], ranked(cut[topic]), judged_only)
                lines.append(f"{name:<22}\t{topic}\t'{signs}'")
            elif not name.startswith("gm_"):
                lines.append(f"{name:<22}\t{topic}\t{shown(name, values[topic][name])}")
    number = len(qrels) if complete else len(topics)
    lines += [f"{'runid':<22}\tall\ttag", f"{'num_q':<22}\tall\t{number}"]
    for name in names:
        total = 0.0
        for topic in topics:
            total += values[topic][name]
        if name == "num_rel" and complete:
            total = sum(grade > 0 for grades in qrels.values() for grade in grades.values())
        if name.startswith("gm_"):
            total = math.exp((total + (number - len(topics)) * math.log(0.00001)) / number)
        elif not name.startswith("num_"):
            total /= number
        if name != "relstring":
            lines.append(f"{name:<22}\tall\t{shown(name, total)}")
    return "\n".join(lines) + "\n"


def shown(name: str, value: float) -> str:
    if name.startswith("num_"):
        return str(int(value))
    return "  -nan" if math.isnan(value) else f"{value:.4f}"


def write(qrels: dict[str, dict[str, int]], run: Lists) -> None:
    Path("qrels").write_text(
        "".join(f"{topic} 0 {doc} {grade}\n" for topic, grades in qrels.items() for doc, grade in grades.items()),
        "utf-8",
    )
    Path("run").write_text(
        "".join(f"{t} Q0 {doc} 0 {score!r} tag\n" for t, scores in run.items() for doc, score in scores.items()),
        "utf-8",
    )


OPTIONS = st.fixed_dictionaries(
    {
        "level": st.sampled_from([1, 1, 2, 3]),
        "depth": st.sampled_from([None, None, 1, 3, 10]),
        "judged_only": st.booleans(),
        "complete": st.booleans(),
    }
)


@settings(max_examples=150, deadline=None)
@given(judgments(), runs(), OPTIONS)
def test_agrees_with_pytrec_eval_on_every_value_and_average(
    qrels: dict[str, dict[str, int]],
    run: Lists,
    options: dict[str, int | None],
) -> None:
    if not set(qrels) & set(run):
        return
    write(qrels, run)
    arguments = ["-q", "-m", "all_trec", "-l", str(options["level"])]
    arguments += ["-M", str(options["depth"])] if options["depth"] else []
    arguments += ["-J"] * bool(options["judged_only"]) + ["-c"] * bool(options["complete"])
    code, out, err = call([*arguments, "qrels", "run"])
    assert (code, err) == (0, "")
    assert out == expected(qrels, run, **options)  # type: ignore[arg-type]


PARAMETERS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["P", "recall", "ndcg_cut", "map_cut", "relative_P", "success"]),
            st.lists(st.integers(1, 40), min_size=1, max_size=3, unique=True),
        ),
        st.tuples(
            st.sampled_from(["iprec_at_recall", "Rprec_mult", "11pt_avg"]),
            st.lists(st.sampled_from(["0.0", "0.1", "0.25", "0.5", "0.9", "1.0", "1.5"]), min_size=1, unique=True),
        ),
        st.tuples(st.just("set_F"), st.lists(st.sampled_from(["0.5", "2", "0"]), min_size=1, max_size=1)),
    ),
    min_size=1,
    unique_by=lambda pair: pair[0],
)


@settings(max_examples=80, deadline=None)
@given(judgments(), runs(), PARAMETERS)
def test_agrees_with_pytrec_eval_on_parameters(
    qrels: dict[str, dict[str, int]],
    run: Lists,
    parameters: list[tuple[str, list[object]]],
) -> None:
    topics = sorted(set(qrels) & set(run), key=str.encode)
    if not topics:
        return
    write(qrels, run)
    names = [f"{name}.{','.join(map(str, sorted(map(str, numbers))))}" for name, numbers in parameters]
    code, out, _ = call(["-q", "-n", *(part for name in names for part in ("-m", name)), "qrels", "run"])
    typed = {name: text.replace(".", "_", 1) for (name, _), text in zip(parameters, names, strict=True)}
    lines = []
    values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    for topic in topics:
        for name, value in values[topic].items():  # pytrec_eval drops the parameters of these two from the name
            name = typed[name] if name in ("set_F", "11pt_avg") else name
            lines.append(f"{name:<22}\t{topic}\t{value:.4f}\n")
    assert (code, out) == (0, "".join(lines))


# -- the command line


@pytest.mark.parametrize(
    ("options", "equivalent"),
    [
        ("-q -m map qrels run", "qrels run -m map -q"),
        ("-qn -m map qrels run", "-q -n -m map qrels run"),
        ("-l 2 -M 3 -m map qrels run", "-l2 -M3 -mmap qrels run"),
        ("--query --meas=P.5 --level=2 qrels run", "-q -m P.5 -l 2 qrels run"),
        ("-m map -m official qrels run", "qrels run"),
        ("-m P.3 -m P.9 -m P qrels run", "-m P.3 qrels run"),
        ("-m ndcg -m map qrels run", "-m map -m ndcg qrels run"),
        ("-m map.5 -m P.5.7,3 qrels run", "-m map -m P.3,5 qrels run"),
        ("-o -R qrels -T trec_results -N 100 -m map qrels run", "-m map qrels run"),
        ("--dialect 10 -m all_trec qrels run", "--dialect 10 -m all_trec -m rbp -m unj qrels run"),
    ],
)
def test_equivalent_options(options: str, equivalent: str) -> None:
    assert call(options) == call(equivalent)
    assert call(options)[0] == 0


def test_one_topic_only() -> None:
    everything = call("-q -n -m map qrels run")[1]
    assert call("-D 0.3 -q -n -m map qrels run")[1] == everything.splitlines(keepends=True)[-1]


def test_without_summary_and_topics_nothing_is_printed() -> None:
    assert call("-n qrels run") == (0, "", "")


def test_help_and_version_need_no_files() -> None:
    code, out, err = call("-h")
    assert (code, err) == (0, "")
    assert "all_trec" in out
    assert call("-v --dialect 10")[0::2] == (0, "trec_eval version 10.0, reimplemented by cranfield\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-x qrels run", "option -x not recognized"),
        ("qrels run -m", "option -m requires argument"),
        ("qrels", "1 file, must be 2"),
        ("-m foo.5 qrels run", "no measure 'foo'"),
        ("-m P. qrels run", "no parameter after the dot"),
        ("-m P.5,0 qrels run", "cutoff == 0, must be 1 or more"),
        ("-m P.5,5 qrels run", "the same cutoff appears twice"),
        ("-m ndcg.1=3,2 qrels run", "'2' must be a pair such as 1=3"),
        ("-m utility.1,2 qrels run", "2 coefficients, must be 4"),
        ("-m unj qrels run", "is new in trec_eval 10"),
        ("-l -1 qrels run", "relevance level == -1"),
        ("-M -1 qrels run", "-M -1: must be 0 or more"),
        ("--dialect 8 qrels run", "--dialect 8: must be 9 or 10"),
    ],
)
def test_a_wrong_call_is_explained_and_exits_with_2(arguments: str, message: str) -> None:
    code, out, err = call(arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trec_eval: ")
    assert message in err


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (None, RUN, "qrels: no such file"),
        (QRELS, None, "run: no such file"),
        ("", RUN, "qrels: is empty"),
        (QRELS, "", "run: is empty"),
        ("10 0 d01 2\n10 0 d01\n", RUN, "qrels:2: 3 columns, expected 4"),
        ("10 0 d01 2 x\n", RUN, "qrels:1: 5 columns, expected 4"),
        ("10 0 d01 two\n", RUN, "qrels:1: the grade is 'two'"),
        (QRELS + "10 0 d01 1\n", RUN, "qrels:12: document 'd01' appears twice for topic '10', first on line 1"),
        (QRELS, RUN + "10 Q0 d99 7 1.0\n", "run:12: 5 columns, expected 6"),
        (QRELS, RUN + "10 Q0 d99 7 nan first\n", "run:12: the score is 'nan'"),
        (QRELS, RUN + "10 Q0 d02 7 1 first\n", "run:12: document 'd02' appears twice for topic '10', first on line 1"),
        (QRELS, "99 Q0 d01 1 1 tag\n", "run: has no topic in common with qrels"),
    ],
)
def test_wrong_data_is_named_by_file_and_line_and_exits_with_1(
    files: Path, qrels: str | None, run: str | None, message: str
) -> None:
    for name, text in (("qrels", qrels), ("run", run)):
        (files / name).unlink()
        if text is not None:
            (files / name).write_text(text)
    code, out, err = call("-q qrels run")
    assert (code, out) == (1, "")
    assert message in err


def test_version_10_needs_every_judged_topic() -> None:
    code, out, err = call("--dialect 10 qrels4 run")
    assert (code, out) == (1, "")
    assert "lacks 1 judged topic (4); add -c" in err


def test_text_after_the_sixth_field_is_ignored(files: Path) -> None:
    plain = call("-q -m all_trec qrels run")
    (files / "run").write_text(RUN.replace("first\n", "first words\n").replace("last\n", "last \t one two\n\n"))
    assert call("-q -m all_trec qrels run") == plain


def test_a_file_is_one_run_whatever_its_tags_and_line_ends(files: Path) -> None:
    plain = call("-q -m all_trec qrels run")
    (files / "run").write_bytes(
        RUN.replace("10 Q0 d02 1 9.5 first", "10\tQ0 d02 1  9.5 other").replace("\n", "\r\n").encode()
    )
    (files / "qrels").write_text(QRELS.rstrip("\n"))
    assert call("-q -m all_trec qrels run") == plain


def test_a_grade_is_truncated_at_the_point_as_in_c(files: Path) -> None:
    plain = call("-q -m all_trec qrels run")
    (files / "qrels").write_text(QRELS.replace("d01 2\n", "d01 2.9\n").replace("d02 0\n", "d02 0.9\n"))
    assert call("-q -m all_trec qrels run") == plain


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = call("--dialect 10 -q qrels run")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert call("--dialect 10 -q qrels -") == plain


def test_names_of_any_bytes_are_printed_unchanged(files: Path) -> None:
    (files / "qrels").write_bytes(b"\xff%s 0 d 1\n")
    (files / "run").write_bytes(b"\xff%s Q0 d 1 1 \xfe\n")
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert main(["-q", "-m", "map", "-m", "runid", "qrels", "run"], out) == 0
    name, topic = b"map".ljust(22), b"\xff%s"
    expected = name + b"\t" + topic + b"\t1.0000\n" + b"runid".ljust(22) + b"\tall\t\xfe\n" + name + b"\tall\t1.0000\n"
    assert out.buffer.getvalue() == expected


@pytest.mark.parametrize("dialect", ["9", "10"])
def test_help_explains_every_measure_that_is_named(dialect: str) -> None:
    plain = call(f"--dialect {dialect} -h")[1]
    assert "\nmap: " not in plain
    code, out, _ = call(f"--dialect {dialect} -h -m map -m P.5,10")
    assert code == 0
    assert out.endswith(
        "\nmap: Average precision: precision at each relevant document, averaged over all relevant documents.\n"
        "P: Precision: the fraction of the retrieved documents that is relevant.\n"
    )
    for names in ("all_trec", "all_prefs", "qrels_jg"):
        explained = call(f"--dialect {dialect} -h -m {names}")[1].rpartition("\n\n")[2].splitlines()
        assert len(explained) > 2
        assert all(line.partition(": ")[2] for line in explained)
