"""The replacement for NTCIREVAL prints the output of NTCIREVAL.

The form of the lines is that of the source of ntcir_eval (version of January 2019). Values are worked out by hand on
one list, and compared with pyNTCIREVAL (for what it has) and with the measures of this package on random ones.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyNTCIREVAL import Labeler
from pyNTCIREVAL.metrics import (
    AP,
    ERR,
    RBP,
    RR,
    Hit,
    MSnDCG,
    NCUguBR,
    NCUguP,
    NCUrbBR,
    NCUrbP,
    OMeasure,
    PMeasure,
    PPlusMeasure,
    Precision,
    QMeasure,
    nDCG,
    nERR,
)

import cranfield as cf
from cranfield.compat.ntcireval import main

REL = "d1 L3\nd2 L0\nd3 L1\nd4 L2\nd9 L1\n"
RES = "d2\nx\nd1\nd3\nd5\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rel").write_text(REL)
    (tmp_path / "res").write_text(RES)
    monkeypatch.chdir(tmp_path)


def call(arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(arguments.split(), out, err)
    return code, out.getvalue(), err.getvalue()


def printed(arguments: str) -> str:
    code, out, err = call(arguments)
    assert (code, err) == (0, "")
    return out


def values(text: str) -> dict[str, float]:
    return {name: float(value) for line in text.splitlines() if "#" not in line for name, value in [line.split()[-2:]]}


# -- labels


def test_label_adds_levels() -> None:
    assert printed("label -r rel res") == "d2 L0\nx\nd1 L3\nd3 L1\nd5\n"


def test_label_leaves_out_unjudged_documents_and_truncates() -> None:
    assert printed("label -j -r rel res") == "d2 L0\nd1 L3\nd3 L1\n"
    assert printed("label -j -truncate 3 -r rel res") == "d2 L0\nd1 L3\n"  # ranks count before documents are left out


def test_label_with_another_separator() -> None:
    Path("rel").write_text("a b;L2\n")
    Path("res").write_text("a b\nc\n")
    assert printed("label -sep ; -r rel res") == "a b;L2\nc\n"


def test_glabel_writes_gains_with_four_digits() -> None:
    Path("ideal").write_text("d1 2.5\nd3 0.33333\nd2 0\n")
    assert printed("glabel -I ideal res") == "d2 0.0000\nx\nd1 2.5000\nd3 0.3333\nd5\n"
    assert printed("glabel -j -I ideal res") == "d2 0.0000\nd1 2.5000\nd3 0.3333\n"


def test_dinlabel_counts_a_navigational_intent_once() -> None:
    Path("din").write_text("1 nav d2 0.5\n1 nav d1 0.4\n2 inf d1 0.2\n2 inf d3 0.3\n")
    assert printed("dinlabel -din din res") == "d2 0.5000\nx\nd1 0.2000\nd3 0.3000\nd5\n"


# -- scores

BY_HAND = """\
0001 # syslen=5 jrel=4 jnonrel=1
0001 # r1=3 rp=3
0001 RR=                  0.3333
0001 O-measure=           0.4444
0001 P-measure=           0.4444
0001 P-plus=              0.4444
0001 AP=                  0.2083
0001 Q-measure=           0.2475
0001 NCUgu,P=             0.2143
0001 NCUgu,BR=            0.2684
0001 NCUrb,P=             0.2179
0001 NCUrb,BR=            0.2595
0001 GAP=                 0.2273
0001 RBP=                 0.0594
0001 ERR=                 0.2656
0001 EBR=                 0.3674
0001 AP@0003=             0.1111
0001 Q@0003=              0.1481
0001 GAP@0003=            0.2000
0001 nDCG@0003=           0.3361
0001 MSnDCG@0003=         0.3150
0001 P@0003=              0.3333
0001 RBP@0003=            0.0451
0001 ERR@0003=            0.2500
0001 nERR@0003=           0.3038
0001 EBR@0003=            0.3333
0001 iRBU@0003=           0.7277
0001 Hit@0003=            1.0000
"""
"""Gains 0 0 3 1 0 against the ideal 3 2 1 1; -g 1:2:3.

- BR(3) = (3 + 1) / (6 + 3) = 4/9, BR(4) = (4 + 2) / (7 + 4) = 6/11; AP (1/3 + 2/4) / 4; Q (4/9 + 6/11) / 4
- NCUgu: stops 3 and 1 over 7: (3/3 + 2/4) / 7, (12/9 + 6/11) / 7; NCUrb: (1/3 + 0.95/2) / 3.70988, likewise with BR
- GAP compares levels: rank 3 shares 3·4 with itself, rank 4 shares 1·2 twice: (12/3 + 4/4) / (12 + 6 + 2 + 2)
- RBP 0.05 (3·0.95² + 0.95³) / 3; ERR 3/4 / 3 + 1/4 · 1/4 / 4; EBR 4/9 · 3/4 + 6/11 · 1/4 · 1/4
- at 3: AP 1/3 / 3, Q 4/9 / 3, GAP 4 / 20
- at 3: nDCG (3 / log2 3) / (3 + 2 + 1 / log2 3); MSnDCG (3/2) / (3 + 2 / log2 3 + 1/2)
- at 3: RBP 0.05 · 3 · 0.95² / 3; ERR 1/4; ideal 3/4 + 1/4 · 1/2 / 2 + 1/8 · 1/4 / 3; EBR 1/3; iRBU 0.99³ · 3/4
"""


def test_compute_by_hand() -> None:
    Path("lab").write_text(printed("label -r rel res"))
    assert printed("compute -r rel -g 1:2:3 -cutoffs 3 -gap -rbup 0.99 -out 0001 lab") == BY_HAND


def test_without_a_prefix_lines_begin_with_a_blank_and_the_cutoff_is_1000() -> None:
    Path("lab").write_text("d1 L3\n")
    text = printed("compute -r rel -g 1:2:3 lab")
    assert text.startswith(" # syslen=1 jrel=4 jnonrel=1\n # r1=1 rp=1\n RR=                  1.0000\n")
    assert " P@1000=              0.0010\n" in text


def test_preferences_of_a_condensed_list_by_hand() -> None:
    """d2 d1 d3: gains 0 3 1; R = 4, N = 1; d2 stands above both relevant documents, penalties 3/3 and 1/1."""
    Path("lab").write_text(printed("label -j -r rel res"))
    results = values(printed("compute -j -r rel -g 1:2:3 lab"))
    assert [*results][-7:] == [
        "bpref=", "bpref_R=", "bpref_N=", "bpref_relative=", "rpref_N=", "rpref_relative=", "rpref_relative2=",
    ]  # fmt: skip
    assert results["bpref="] == 0  # 1 - 1 / min(4, 1), twice
    assert results["bpref_R="] == 0.375  # 2 (1 - 1/4) / 4
    assert results["bpref_N="] == 0
    assert results["bpref_relative="] == 0.125  # (0 + 1/2) / 4
    assert results["rpref_N="] == 0.3571  # (3 + 1) (1 - 1 / (5 - 7/3)) / 7
    assert results["rpref_relative="] == 0.0714  # (0 + 1/2) / 7
    assert results["rpref_relative2="] == 0.3095  # (3/2 + 2/3) / 7


def test_nothing_relevant_found_scores_zero() -> None:
    Path("lab").write_text("x\nd2 L0\n")
    results = values(printed("compute -r rel -g 1:2:3 -cutoffs 1,10 -gap lab"))
    assert set(results.values()) == {0.0}
    Path("lab").write_text("")
    assert set(values(printed("compute -r rel -g 1:2:3 lab")).values()) == {0.0}


# -- peers

lists = st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=30)


@settings(deadline=None, max_examples=200)
@given(lists, st.lists(st.integers(0, 3), max_size=12), st.sampled_from([(1, 2, 3), (1, 3, 7), (2, 2, 9)]))
def test_values_are_those_of_pyNTCIREVAL(listed: list[int | None], missed: list[int], gains: tuple[int, ...]) -> None:
    judged = {f"d{place}": level for place, level in enumerate([*listed, *missed]) if level is not None}
    assume(listed and any(judged.values()))  # pyNTCIREVAL fails on an empty list
    labels = [(f"d{place}", level) for place, level in enumerate(listed)]
    Path("rel").write_text("".join(f"{doc} L{level}\n" for doc, level in judged.items()))
    Path("lab").write_text("".join(f"{doc}\n" if level is None else f"{doc} L{level}\n" for doc, level in labels))
    ladder = ":".join(map(str, gains))
    results = values(printed(f"compute -r rel -g {ladder} -s 1:2:3 -cutoffs 1,5,50 -beta 2 -gamma 0.8 -rbp 0.7 lab"))
    numbers = Labeler(judged).compute_per_level_doc_num(4)
    peers = {
        "RR=": RR(),
        "O-measure=": OMeasure(numbers, gains, 2.0),
        "P-measure=": PMeasure(numbers, gains, 2.0),
        "P-plus=": PPlusMeasure(numbers, gains, 2.0),
        "AP=": AP(numbers, gains),
        "Q-measure=": QMeasure(numbers, gains, 2.0),
        "NCUgu,P=": NCUguP(numbers, gains, [1, 2, 3]),
        "NCUgu,BR=": NCUguBR(numbers, gains, [1, 2, 3], 2.0),
        "NCUrb,P=": NCUrbP(numbers, gains, 0.8),
        "NCUrb,BR=": NCUrbBR(numbers, gains, 0.8, 2.0),
        "RBP=": RBP(numbers, gains, 0.7),
        "ERR=": ERR(numbers, gains),
    }
    for k in (1, 5, 50):
        peers |= {
            f"AP@{k:04}=": AP(numbers, gains, k),
            f"Q@{k:04}=": QMeasure(numbers, gains, 2.0, k),
            f"nDCG@{k:04}=": nDCG(numbers, gains, 2.0, k),
            f"MSnDCG@{k:04}=": MSnDCG(numbers, gains, k),
            f"P@{k:04}=": Precision(k),
            f"nERR@{k:04}=": nERR(numbers, gains, k),
            f"Hit@{k:04}=": Hit(k),
        }
    for name, peer in peers.items():
        assert results[name] == pytest.approx(peer.compute(labels), abs=0.5001e-4), name


@settings(deadline=None, max_examples=60)
@given(lists, st.lists(st.integers(0, 3), max_size=12))
def test_gcompute_of_gains_is_compute_of_levels(listed: list[int | None], missed: list[int]) -> None:
    """Equal if the topic has a document of the highest level, from which gcompute takes the highest gain."""
    judged = {f"d{place}": level for place, level in enumerate([*listed, *missed, 3, 0]) if level is not None}
    labels = {f"d{place}": level for place, level in enumerate(listed)}
    Path("rel").write_text("".join(f"{doc} L{level}\n" for doc, level in judged.items()))
    best = sorted(judged.items(), key=lambda item: -item[1])
    Path("ideal").write_text("".join(f"{doc} {level}\n" for doc, level in best))
    Path("res").write_text("".join(f"{doc}\n" for doc in labels))
    for option in ("", "-j "):
        Path("lab").write_text(printed(f"label {option}-r rel res"))
        Path("glab").write_text(printed(f"glabel {option}-I ideal res"))
        by_level = printed(f"compute {option}-r rel -g 1:2:3 -cutoffs 2,10 -gap lab").splitlines()
        by_gain = printed(f"gcompute {option}-I ideal -cutoffs 2,10 -gap glab").splitlines()
        assert by_gain == [line for line in by_level if "NCUgu" not in line]


INTENTS = ["1", "2", "3"]
PROBABILITIES = {"1": 0.5, "2": 0.3, "3": 0.2}


@pytest.mark.filterwarnings("ignore:.*is judged; an id")
@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(st.sampled_from([f"d{n}" for n in range(12)]), st.lists(st.integers(0, 3), min_size=3, max_size=3)),
    st.permutations([f"d{n}" for n in range(12)]),
)
def test_labels_by_global_gain_give_the_d_measures(grades: dict[str, list[int]], ranking: list[str]) -> None:
    """D-nDCG, DIN-nDCG, D-Q, DIN-Q and I-rec of this package, from files like those of NTCIREVAL's scripts."""
    grades = {**grades, "d0": [1, 2, 3]}
    run = ranking[:8]
    gain = {doc: sum(PROBABILITIES[i] * g for i, g in zip(INTENTS, row, strict=True)) for doc, row in grades.items()}
    best = sorted(gain, key=lambda doc: -gain[doc])
    Path("ideal").write_text("".join(f"{doc} {gain[doc]:.10f}\n" for doc in best))
    Path("din").write_text("".join(
        f"{i} {'nav' if i == '1' else 'inf'} {doc} {PROBABILITIES[i] * g}\n"
        for doc, row in grades.items() for i, g in zip(INTENTS, row, strict=True) if g
    ))  # fmt: skip
    Path("res").write_text("".join(f"{doc}\n" for doc in run))
    for i, intent in enumerate(INTENTS):
        Path(f"rel{intent}").write_text("".join(f"{doc}\n" for doc, row in grades.items() if row[i]))
    qrels = "".join(f"t {i} {doc} L{g}\n" for doc, row in grades.items() for i, g in zip(INTENTS, row, strict=True))
    scores = cf.evaluate(
        qrels.encode(),
        {"run": {"t": {doc: float(-place) for place, doc in enumerate(run)}}},
        ["D-nDCG@5", "DIN-nDCG@5", "D-Q@5", "DIN-Q@5", "I-rec@5"],
        intent_probabilities={"t": PROBABILITIES},
        intent_types={"t": {"1": "nav", "2": "inf", "3": "inf"}},
    ).mean()["run"]
    for command, name in (("glabel -I ideal", "D-nDCG@5"), ("dinlabel -din din", "DIN-nDCG@5")):
        Path("lab").write_text(printed(f"{command} res"))
        results = values(printed("gcompute -I ideal -cutoffs 5 lab"))
        assert results["MSnDCG@0005="] == pytest.approx(scores[name], abs=2e-4)  # labels have four digits
        # a document of a navigational intent that was served has no label, so that it is not relevant
        q = name.replace("nDCG", "Q")
        assert results["Q@0005="] == pytest.approx(scores[q], abs=2e-4), q
    results = values(printed("irec -cutoffs 5 res rel1 rel2 rel3"))
    assert results["I-rec@0005="] == pytest.approx(scores["I-rec@5"], abs=0.5001e-4)


def test_irec_by_hand() -> None:
    """d2 serves intent 2 at rank 1, d1 intents 1 and 3 at rank 3; n = 4 intents, the last never served."""
    for number, docs in enumerate(["d1 L1\n", "d2\n", "d1\nd4\n", "z\n"], 1):
        Path(f"i{number}").write_text(docs)
    assert printed("irec -cutoffs 1,3,10 -out 0001 res i1 i2 i3 i4") == (
        "0001 #intent_num=4\n"
        "0001 I-rec@0001=          0.2500\n"
        "0001 I-rec@0003=          0.7500\n"
        "0001 I-rec@n=             0.7500\n"
        "0001 I-rec@0010=          0.7500\n"
    )
    Path("short").write_text("d2\n")
    assert printed("irec -cutoffs 2 short i1 i2 i3 i4").splitlines()[1:] == [
        " I-rec@0002=          0.2500",
        " I-rec@n=             0.2500",
    ]


# -- whole files


def test_eval_takes_topics_and_documents_in_the_order_of_the_files() -> None:
    first = "".join(f"0001 {line}\n" for line in REL.splitlines())
    Path("qrels").write_text(first + "0002 d1 L0\n0003 d1 L1\n0003 d2 L0\n")
    Path("run").write_text("".join(f"0001 Q0 {doc} {k} {k} t\n" for k, doc in enumerate(RES.split(), 1)))
    code, out, err = call("eval -g 1:2:3 -cutoffs 3 -gap -rbup 0.99 qrels run")
    assert code == 0
    assert out.startswith(BY_HAND)  # though the scores say the opposite
    assert out[len(BY_HAND) :].startswith("0003 # syslen=0 jrel=1 jnonrel=1\n0003 # r1=0 rp=0\n0003 RR=   ")
    assert err == "ntcireval: topic 0002: no document is relevant, so nothing can be computed\n"
    condensed = call("eval -j -g 1:2:3 qrels run")[1]
    assert condensed.startswith("0001 # syslen=3 jrel=4 jnonrel=1\n")


# -- wrong calls and wrong data

WRONG = [
    ("", 2, "no command given"),
    ("labels", 2, "no command 'labels', must be one of label, compute"),
    ("1click", 2, "1click: -N is missing"),
    ("compute -v -r rel -g 1:2:3 res", 2, "compute: -v, which traces the computation, is not supported"),
    ("label res", 2, "label: -r is missing"),
    ("label -ec -r rel res", 1, "rel:1: 2 columns, expected 3: doc level class"),
    ("label -x -r rel res", 2, "label: no option -x"),
    ("label res -r", 2, "label: -r needs a value"),
    ("label -r rel res res", 2, "label: 2 lists, must be 1"),
    ("label -truncate 0 -r rel res", 2, "-truncate 0: must be 1 or more"),
    ("compute -r rel -g 3:1 lab", 2, "-g 3:1: must not be negative, nor lower for a higher level"),
    ("compute -r rel -g x lab", 2, "-g x: must be a number"),
    ("compute -r rel -g 1:2:3 -s 1 lab", 2, "-s 1: 1 levels, -g has 3"),
    ("compute -r rel -g 1:2:3 -rbp 1.2 lab", 2, "-rbp 1.2: must be between 0 and 1"),
    ("compute -r rel -g 1:2:3 -cutoffs 10,x lab", 2, "-cutoffs x: must be 1 or more"),
    ("compute -r rel -g 1:2 lab", 1, "rel:1: the level is L3, but -g gives gains up to L2"),
    ("compute -r rel -g 1:2:3 bad", 1, "bad:1: the level is '2', expected L0, L1, ..."),
    ("compute -r none -g 1:2:3 lab", 1, "none: no document is relevant"),
    ("compute -j -r all -g 1:2:3 lab", 1, "all: no document is judged nonrelevant, which -j needs"),
    ("compute -r twice -g 1:2:3 lab", 1, "twice:2: document 'd1' appears twice"),
    ("compute -r res -g 1:2:3 lab", 1, "res:1: 1 column, expected 2: doc level"),
    ("glabel -I bad2 res", 1, "bad2:1: the gain is '-1', expected a number, 0 or more"),
    ("dinlabel -din bad3 res", 1, "bad3:1: the type is 'x', must be inf or nav"),
    ("dinlabel -din rel res", 1, "rel:1: 2 columns, expected 4: intent inf/nav doc gain"),
    ("irec res", 2, "irec: 1 file, must be 2 or more"),
    ("eval -g 1:2:3 rel", 2, "eval: 1 file, must be 2"),
    ("eval -g 1 qrels run", 1, "qrels: topic 't' has the grade 2, but -g gives gains for 1 to 1"),
    ("eval -g 1:2 intents run", 1, "intents: is judged by intent, which eval does not support"),
]
FILES = {
    "lab": "d1 L3\n",
    "bad": "d1 2\n",
    "none": "d1 L0\n",
    "all": "d1 L1\n",
    "twice": "d1 L1\nd1 L1\n",
    "bad2": "d1 -1\n",
    "bad3": "1 x d1 1\n",
    "qrels": "t 0 d1 2\n",
    "intents": "t 1 d1 2\nt 2 d1 1\n",
    "run": "t Q0 d1 1 1 r\n",
}


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG)
def test_wrong_calls_and_data_are_reported(arguments: str, code: int, message: str) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)
    exit_code, out, err = call(arguments)
    assert (exit_code, out) == (code, "")
    assert err.startswith(f"ntcireval: {message}")


def test_comments_blank_lines_and_windows_line_ends_are_ignored() -> None:
    Path("rel").write_bytes(b"\xef\xbb\xbf# judged by A\r\n\r\n" + REL.replace("\n", "\r\n").encode())
    assert printed("label -r rel res") == "d2 L0\nx\nd1 L3\nd3 L1\nd5\n"


def test_help() -> None:
    assert "gcompute -I IDEAL" in printed("-h")


def test_eval_reads_columns_between_other_separators() -> None:
    Path("plain").write_text("1 0 d1 L1\n1 0 d2 L2\n")
    Path("semicolons").write_text("1;0;d1;L1\n1;0;d2;L2\n")
    Path("run").write_text("1 Q0 d1 1 9 r\n1 Q0 d2 2 8 r\n")
    assert printed("eval -sep ; -g 1:2 semicolons run") == printed("eval -g 1:2 plain run")
    Path("semicolons").write_text("1;0;d1;L1\n1;0;d2\n")
    message = "ntcireval: semicolons:2: 3 columns, expected 4: topic iteration doc grade\n"
    assert call("eval -sep ; -g 1:2 semicolons run") == (1, "", message)


def test_a_line_with_other_separators_names_the_option() -> None:
    Path("din").write_text("1;nav;d1;0.5\n")
    Path("list").write_text("d1\n")
    code, out, err = call("dinlabel -din din list")
    assert (code, out) == (1, "")
    assert "din:1: 1 column, expected 4: intent inf/nav doc gain; if ';' separates the columns, add -sep ';'" in err
    assert printed("dinlabel -sep ; -din din list") == "d1;0.5000\n"


# -- equivalence classes, nuggets and columns between semicolons: the files and figures of NTCIREVAL's README files


def test_only_the_first_document_of_a_class_counts() -> None:
    """The example of README.equivalence, sections 4.1 and 4.2."""
    Path("erel").write_text("aaa L3 1\nbbb L1 1\nccc L0 2\n")
    Path("res").write_text("bbb\naaa\n")
    assert printed("label -r erel res") == "bbb L1\naaa L3\n"
    labelled = printed("label -r erel -ec res")
    assert labelled == "bbb L1 1\naaa\n"
    Path("elab").write_text(labelled)
    text = printed("compute -r erel -ec -g 1:2:3:4:5 -cutoffs 10,1000 elab")
    assert text.startswith(" # syslen=2 jrel=1 jnonrel=0\n # r1=1 rp=1\n RR=                  1.0000\n")
    published = {
        "O-measure=": 0.5, "AP=": 1.0, "Q-measure=": 0.5, "NCUgu,P=": 0.3333, "NCUgu,BR=": 0.1667, "NCUrb,BR=": 0.5,
        "RBP=": 0.01, "ERR=": 0.1667, "nDCG@0010=": 0.3333, "MSnDCG@0010=": 0.3333, "P@0010=": 0.1,
        "nERR@0010=": 0.3333, "P@1000=": 0.001, "Hit@1000=": 1.0,
    }  # fmt: skip
    assert published.items() <= values(text).items()


def test_one_click_prints_the_figures_of_its_description() -> None:
    """README.1click, section 3.1; they are those of -L 500, which the script 1CLICK-eval sets."""
    Path("n1").write_text("N0001 3 10\nN0002 1 5\nN0003 3 5\n")
    Path("m1").write_text("syslen= 500\nN0001 100\nN0002 50\n")
    Path("n2").write_text("N0001 2 2\nN0002 6 5\nN0003 2 3\nN0004 2 2\n")
    Path("m2").write_text("syslen= 10\nN0002 400\n")
    first, *lines = printed("1click -L 500 -out 1C0-0001 -N n1 -beta 1.0 m1").splitlines()
    assert first == "1C0-0001 #nuggets= 3 #matched= 2 #syslen= 500"
    assert lines[:2] == ["1C0-0001 Recall=              0.667", "1C0-0001 W-recall=            0.571"]
    assert [line.split()[-1] for line in lines[2:]] == ["0.482", "0.482", "0.030", "0.030", "0.056"]
    second = printed("1click -L 500 -out 1C0-0002 -N n2 m2").splitlines()[1:]
    assert [line.split()[-1] for line in second] == ["0.250", "0.500", "0.101", "0.101", "0.500", "0.500", "0.169"]
    Path("empty").write_text("")
    assert values(printed("1click -L 500 -N n1 empty"))["F-flat="] == 0
    assert call("1click -L 500 -N n2 m1")[0] == 0
    Path("m1").write_text("syslen= 500\nN9 100\n")
    assert "m1:2: nugget 'N9' is not in the file of nuggets" in call("1click -L 500 -N n1 m1")[2]


def test_documents_between_semicolons_may_have_blanks() -> None:
    Path("eqrels").write_text("0001;red wine;L3;1\n0001;wine;L1;1\n")
    Path("erun").write_text("0001;0;white wine;1;2;r\n0001;0;red wine;2;1;r\n")
    assert values(printed("eval -sep ; -g 1:2:3 eqrels erun"))["RR="] == 0.5
    Path("rel").write_text("red wine;L3\nwine;L1\n")
    Path("res").write_text("white wine\nred wine\n")
    assert printed("label -sep ; -r rel res") == "white wine\nred wine;L3\n"
