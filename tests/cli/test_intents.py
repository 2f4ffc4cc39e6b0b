"""Intents described beside the judgments: on the command line, in files, and what is wrong with such files."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.errors import CranfieldWarning, DataError, UsageError
from tests.cli.conftest import Cranfield

QRELS = "0001 1 d1 L2\n0001 1 d2 L0\n0001 2 d2 L1\n0002 1 d3 L1\n0002 2 d3 L1\n"
RUN = "0001 Q0 d2 1 9 r\n0001 Q0 d1 2 8 r\n0002 Q0 d3 1 9 r\n"
PROBABILITIES = "0001 1 0.75\n0001 2 0.25\n0002 1 0.5\n0002 2 0.5\n"
TYPES = "0001 1 nav\n0001 2 inf\n0002 1 informational\n0002 2 Navigational\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("qrels", QRELS), ("run", RUN), ("iprob", PROBABILITIES), ("itype", TYPES)):
        Path(name).write_text(text)


def measured(measure: str, **described: object) -> dict[str, float]:
    scores = cf.evaluate("qrels", "run", [measure], **described)  # type: ignore[arg-type]
    return {topic: float(scores.values[0, 0, place]) for place, topic in enumerate(scores.topics)}


# -- what they do


def test_probabilities_weigh_intents() -> None:
    """P-IA@1 of topic 0001: d2 is relevant to intent 2 alone."""
    assert measured("P-IA@1")["0001"] == 0.5
    assert measured("P-IA@1", intent_probabilities="iprob")["0001"] == 0.25


def test_types_reach_the_measures() -> None:
    """DIN: a second document for a navigational intent adds nothing."""
    Path("qrels").write_text("1 1 d1 L1\n1 1 d2 L1\n1 2 d3 L1\n")
    Path("run").write_text("1 Q0 d1 1 9 r\n1 Q0 d2 2 8 r\n")
    Path("itype").write_text("1 1 nav\n1 2 inf\n")
    plain = measured("DIN-nDCG@2", intent_probabilities="uniform")["1"]
    assert plain == 1.0
    # Gains of 1/2 each; the ideal has two of them: 1 / (1 + 1 / log2 3)
    assert measured("DIN-nDCG@2", intent_types="itype")["1"] == pytest.approx(0.6131471927654584)


def test_eval_takes_both_files(cranfield: Cranfield) -> None:
    words = ("eval", "qrels", "run", "-m", "P-IA@1", "-q", "--format", "csv")
    result = cranfield(*words, "--intent-probabilities", "iprob", "--intent-types", "itype")
    assert result.code == 0
    assert "0.25" in result.out
    assert "0.25" not in cranfield(*words).out


def test_explain_takes_both_files(cranfield: Cranfield) -> None:
    words = ("explain", "qrels", "run", "--topic", "0001", "-m", "D-nDCG@2", "--format", "json")
    result = cranfield(*words, "--intent-probabilities", "iprob", "--intent-types=itype")
    assert result.code == 0
    assert result.out != cranfield(*words).out


def test_one_file_only_may_come_from_standard_input(cranfield: Cranfield) -> None:
    given = cranfield(
        "eval", "qrels", "run", "-m", "P-IA@1", "--intent-probabilities", "-", stdin=PROBABILITIES.encode()
    )
    assert given.code == 0
    twice = cranfield("eval", "qrels", "-", "-m", "P-IA@1", "--intent-probabilities", "-")
    assert twice.code == 2
    assert "standard input can be read only once" in twice.err


# -- NTCIR's grades


def test_levels_are_read_as_numbers_with_a_note(cranfield: Cranfield) -> None:
    qrels = cf.Qrels.read("qrels")
    assert qrels.grades("0001", intent="1") == {"d1": 2, "d2": 0}
    assert qrels == cf.Qrels.of(QRELS.replace(" L", " ").encode())
    assert "grades L0, L1, ... are read as 0, 1, ..." in cranfield("eval", "qrels", "run", "-m", "P-IA@1").out


@pytest.mark.parametrize(
    "line", ["0001 d1 L3\n", "0001 0 d1 L3\n", "0001\tx\td1\tL3\r\n", "# made by hand\n0001 0 d1 L3"]
)
def test_levels_in_every_layout(line: str) -> None:
    (judgment,) = cf.Qrels.of(line.encode())
    assert (judgment.topic, judgment.doc, judgment.grade) == ("0001", "d1", 3)


def test_levels_are_read_only_in_the_grade_column() -> None:
    assert cf.Qrels.of(b"L1 0 L2 3\n").to_dict() == {"L1": {"L2": 3}}
    assert cf.Qrels.of(b"L1 0 L2 L3\n").to_dict() == {"L1": {"L2": 3}}
    assert cf.Qrels.of(b"1 0 d1 3\n").notes == ()


def test_letters_are_NTCIRs_grades_if_every_line_has_one() -> None:
    read = cf.Qrels.of(b"# S is best\n1 0 d1 S\n1 0 d2 C\r\n\n2 0 A B \n2 0 d3 A")
    assert read.to_dict() == {"1": {"d1": 3, "d2": 0}, "2": {"A": 1, "d3": 2}}
    assert read.notes == ("grades S, A, B, C are read as 3, 2, 1, 0",)
    assert cf.Qrels.of(b"1 0 S 3\n").notes == ()
    for text in (b"1 0 d1 S\n1 0 d2 3\n", b"1 0 d1 S\n1 0 d2 L2\n", b"1 0 d1 S\n1 0 d2 D\n"):
        with pytest.raises(DataError, match=r":1: the grade is 'S', .*\(the grades S, A, B, C are read if every line"):
            cf.Qrels.of(text)
    with pytest.raises(DataError, match=r":2: the grade is 'S', .*\(the grades S, A, B, C are read if every line"):
        cf.Qrels.of(b"1 0 d1 3\n1 0 d2 S\n")


def test_letters_in_qrels_and_in_gains(cranfield: Cranfield) -> None:
    Path("qrels").write_text("1 0 d1 B\n1 0 d2 S\n")
    Path("run").write_text("1 Q0 d1 1 2 r\n1 Q0 d2 2 1 r\n")
    result = cranfield("eval", "qrels", "run", "-m", "CG(gain={S:10,A:5,B:1})", "--format", "csv")
    assert "11.0" in result.out or ",11" in result.out
    assert "grades S, A, B, C are read as 3, 2, 1, 0" in result.out + result.err


def test_an_invalid_level_is_reported_with_its_line() -> None:
    with pytest.raises(DataError, match=r":2: the grade is 'Lx', expected a number"):
        cf.Qrels.of(b"1 0 d1 L1\n1 0 d2 Lx\n")


def test_validate_and_stats_read_levels(cranfield: Cranfield) -> None:
    Path("adhoc.txt").write_text("1 d1 L1\n1 d2 L0\n")
    assert cranfield("validate", "qrels").code == 0
    assert cranfield("validate", "adhoc.txt").out.endswith("1 file: 0 errors, 0 warnings\n")
    assert "grade 2" in cranfield("collection", "stats", "qrels").out


# -- side files


@pytest.mark.parametrize(
    "text",
    [
        "0001\t1\t0.75\r\n0001\t2\t0.25\r\n0002 1 0.5\r\n0002 2 0.5\r\n",
        "\ufeff# Pr(i|q)\n\n0001;1;0.75\n0001;2;0.25\n0002,1,0.5\n0002, 2, 0.5",
        PROBABILITIES + "0009 1 1.0\n",
    ],
)
def test_side_files_can_have_other_layouts(text: str) -> None:
    Path("iprob").write_text(text, encoding="utf-8", newline="")
    assert measured("P-IA@1", intent_probabilities="iprob") == {"0001": 0.25, "0002": 1.0}


@pytest.mark.parametrize("separator", [" ", "\t", ";"])
def test_one_file_of_four_columns_gives_probabilities_and_types(separator: str) -> None:
    """NTCIREVAL's DINprob file. Intent 1 is navigational and has probability 0.8, intent 2 has 0.2.

    In the list d1 d2 d3 the gains are .8, 0 (intent 1 is served) and .2; the ideal list has .8, .8, .2.
    """
    Path("qrels").write_text("1 1 d1 L1\n1 1 d2 L1\n1 2 d3 L1\n")
    Path("run").write_text("1 Q0 d1 1 9 r\n1 Q0 d2 2 8 r\n1 Q0 d3 3 7 r\n")
    Path("dinprob").write_text("1 1 0.8 nav\n1 2 0.2 inf\n".replace(" ", separator))
    ideal = 0.8 + 0.8 / math.log2(3) + 0.2 / 2
    assert measured("DIN-nDCG@3", intent_probabilities="dinprob")["1"] == pytest.approx((0.8 + 0.2 / 2) / ideal)
    equal = measured("DIN-nDCG@3", intent_types="dinprob")["1"]
    assert equal == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2))
    Path("itype").write_text("1 1 inf\n1 2 inf\n")  # other types win
    informational = measured("DIN-nDCG@3", intent_probabilities="dinprob", intent_types="itype")["1"]
    assert informational == pytest.approx(1.0)


def test_a_line_without_type_is_informational() -> None:
    Path("qrels").write_text("1 1 d1 L1\n1 1 d2 L1\n1 2 d3 L1\n")
    Path("run").write_text("1 Q0 d1 1 9 r\n1 Q0 d2 2 8 r\n")
    Path("dinprob").write_text("1 1 0.5\n1 2 0.5 nav\n")
    assert measured("DIN-nDCG@2", intent_probabilities="dinprob")["1"] == 1.0


def test_types_of_a_file_of_probabilities_are_noted(cranfield: Cranfield) -> None:
    Path("dinprob").write_text("0001 1 0.75 inf\n0001 2 0.25 inf\n0002 1 0.5 inf\n0002 2 0.5 inf\n")
    out = cranfield("eval", "qrels", "run", "-m", "DIN-nDCG@2", "--intent-probabilities", "dinprob").out
    assert "intent types: from dinprob" in out
    assert "assumed to be informational" not in out


def test_a_mapping_can_replace_a_file() -> None:
    given = {"0001": {"1": 0.75, "2": 0.25}, "0002": {1: 0.5, 2: 0.5}}
    assert measured("P-IA@1", intent_probabilities=given) == {"0001": 0.25, "0002": 1.0}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", "iprob: is empty, expected lines of topic intent probability [inf/nav]"),
        ("0001 1\n", "iprob:1: 2 columns, expected topic intent probability [inf/nav]"),
        ("0001 1 x\n", "iprob:1: topic '0001', intent '1': probability 'x', must be a number between 0 and 1"),
        ("0001 1 nan\n", "iprob:1: topic '0001', intent '1': probability 'nan', must be a number between 0 and 1"),
        ("0001 1 1.5\n", "iprob:1: topic '0001', intent '1': probability '1.5', must be a number between 0 and 1"),
        ("0001 1 0.5\n0001 1 0.5\n", "iprob:2: intent '1' of topic '0001' appears twice, first on line 1"),
        ("0001 1 0.5\n0001 2 0.4\n", "iprob: topic '0001': intent probabilities sum to 0.9, expected 1"),
        (
            "0001 1 1\n",
            "iprob: no probability for intent '2' of topic '0001' (only for: 1); add a line 0001 2 PROBABILITY",
        ),
        (
            "0001 1 1\n0001 2 0\n",
            "iprob: no probability for intent '1' of topic '0002' (only for: none); add a line 0002 1 PROBABILITY",
        ),
    ],
)
def test_wrong_probabilities_are_errors(text: str, result: str) -> None:
    Path("iprob").write_text(text)
    with pytest.raises(DataError) as error:
        measured("P-IA@1", intent_probabilities="iprob")
    assert str(error.value) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (
            "0001 1 x\n",
            "itype:1: topic '0001', intent '1': type 'x', must be informational (inf) or navigational (nav)",
        ),
        (
            "0001 1 nav\n",
            "itype: no type for intent '2' of topic '0001' (only for: 1); add a line 0001 2 TYPE",
        ),
    ],
)
def test_wrong_types_are_errors(text: str, result: str) -> None:
    Path("itype").write_text(text)
    with pytest.raises(DataError) as error:
        measured("P-IA@1", intent_types="itype")
    assert str(error.value) == result


def test_likely_intents_without_relevant_documents_are_counted() -> None:
    """Topic 0001 has an intent 3 in the file only: intents 1 and 2 share its probability, 0.3 : 0.1."""
    Path("iprob").write_text("0001 1 0.3\n0001 2 0.1\n0001 3 0.6\n0002 1 0.5\n0002 2 0.5\n")
    with pytest.warns(CranfieldWarning, match=r"iprob: 1 intent has a probability but no relevant document.*0001/3"):
        result = measured("P-IA@1", intent_probabilities="iprob")
    assert result["0001"] == pytest.approx(0.25)


def test_all_weight_on_intents_without_relevant_documents_is_an_error() -> None:
    Path("iprob").write_text("0001 1 0\n0001 2 0\n0001 3 1\n0002 1 0.5\n0002 2 0.5\n")
    with pytest.raises(DataError, match="topic '0001': all intents that have relevant documents have probability 0"):
        measured("P-IA@1", intent_probabilities="iprob")


def test_descriptions_without_intents_are_an_error() -> None:
    Path("qrels").write_text("0001 0 d1 1\n")
    with pytest.raises(UsageError, match="intents are described, but qrels have none"):
        measured("P@1", intent_types="itype")


def test_other_objects_are_errors() -> None:
    with pytest.raises(UsageError, match="intents: probability from list, must be a file or"):
        measured("P-IA@1", intent_probabilities=[0.5, 0.5])


# -- one intent for every topic

ONE = b"t 1 a 1\nt 1 b 0\n"
FOUND = {"t": {"b": 2.0, "a": 1.0}}


@pytest.mark.parametrize(
    "words",
    [
        ("--qrels-format", "diversity"),
        ("--intent-probabilities", "uniform"),
        ("--intent-probabilities", "iprob"),
        ("--intent-types", "itype"),
    ],
)
def test_topics_with_one_intent_are_scored_if_the_format_is_given(words: tuple[str, ...], cranfield: Cranfield) -> None:
    """a serves the only intent, at rank 2: I-rec@1 is 0 and I-rec@2 is 1; nDCG-IA@2 is nDCG@2, 1 / log2 3."""
    Path("qrels").write_bytes(ONE)
    Path("run").write_text("t Q0 b 1 2 r\nt Q0 a 2 1 r\n")
    Path("iprob").write_text("t 1 1\n")
    Path("itype").write_text("t 1 nav\n")
    result = cranfield("eval", "qrels", "run", "-m", "I-rec@1,2", "-m", "nDCG-IA@2", *words)
    assert result.code == 0, result.err
    assert result.out.splitlines()[1].split() == ["r", "1", "0.0000", "1.0000", "0.6309"]
    assert cranfield("explain", "qrels", "run", "--topic", "t", "-m", "I-rec@2", *words).code == 0


def test_one_intent_without_the_format_names_the_way_out(cranfield: Cranfield) -> None:
    Path("qrels").write_bytes(ONE)
    Path("run").write_text("t Q0 a 1 2 r\n")
    result = cranfield("eval", "qrels", "run", "-m", "I-rec@2")
    assert result.code == 2
    assert "Qrels.read(path, format='diversity')" in result.err


def test_one_intent_with_the_format_in_python() -> None:
    read = cf.Qrels.of(ONE, format="diversity")
    assert (read.intents, cf.Qrels.of(ONE).intents) == (("1",), ())
    assert cf.Qrels.of(cf.Qrels.of(ONE), format="diversity").has_intents
    assert cf.evaluate(read, FOUND, "I-rec@1").means().item() == 0.0
    assert pickle.loads(pickle.dumps(read)).intents == ("1",)
    assert cf.Qrels.of(read, name="other").has_intents


def test_an_iteration_of_0_is_an_intent_only_if_the_format_says_so(cranfield: Cranfield) -> None:
    Path("qrels").write_text("t 0 a 1\n")
    Path("run").write_text("t Q0 a 1 2 r\n")
    described = cranfield("eval", "qrels", "run", "-m", "I-rec", "--intent-probabilities", "uniform")
    assert (described.code, "format='diversity'" in described.err) == (2, True)
    assert cranfield("eval", "qrels", "run", "-m", "I-rec", "--qrels-format", "diversity").code == 0


def test_grades_of_minus_1_do_not_turn_intents_into_strata() -> None:
    """Without a word these are strata (AP counts d1 alone); as intents I-rec finds one of one, b having none."""
    sample = b"1 a d1 1\n1 b d2 -1\n"
    with pytest.warns(CranfieldWarning, match="1/b"):
        scores = cf.evaluate(cf.Qrels.of(sample, format="diversity"), {"1": {"d1": 1.0}}, "I-rec")
    assert scores.means().item() == 1.0


# -- notes about intents


def notes(*measures: str, **described: object) -> str:
    return "\n".join(cf.evaluate("qrels", "run", measures, **described).notes)  # type: ignore[arg-type]


def test_the_highest_grade_is_noted_if_a_measure_uses_it() -> None:
    highest = "use a document's highest grade over all intents"
    assert highest in notes("AP")
    assert highest in notes("I-rec", "AP")
    assert highest not in notes("I-rec", "D#-nDCG@5", "nDCG-IA", "P+Q")


def test_given_probabilities_and_types_are_noted() -> None:
    assert "intent probabilities" not in notes("P-IA@1")
    assert "intent probabilities: nonuniform, every intent of a topic is half as likely as the one before" in notes(
        "P-IA@1", intent_probabilities="nonuniform"
    )
    assert "intent probabilities: from iprob" in notes("P-IA@1", intent_probabilities="iprob")
    assert "intent probabilities: from a mapping" in notes(
        "P-IA@1", intent_probabilities={"0001": {"1": 0.5, "2": 0.5}, "0002": {"1": 1, "2": 0}}
    )
    assert "intent types: from itype" in notes("DIN-nDCG", intent_types=Path("itype"))


@pytest.mark.parametrize("measure", ["DIN-nDCG@2", "DIN#-Q@2", "P+Q@2", "P+Q#@2", "Ef-P@2"])
def test_measures_of_types_say_that_there_are_none(measure: str) -> None:
    result = "all intents are assumed to be informational; intent_types= says which are navigational"
    assert result in notes(measure)
    assert result not in notes(measure, intent_types="itype")
    all_inf = {topic: {"1": "inf", "2": "inf"} for topic in ("0001", "0002")}
    assert result not in notes(measure, intent_types=all_inf)
    assert result not in notes("D-nDCG@2", "I-rec@2")
    assert result in cf.explain("qrels", "run", "0001", measure).notes


def test_help_names_the_distributions(cranfield: Cranfield) -> None:
    for verb in ("eval", "explain"):
        page = " ".join(cranfield(verb, "--help-all").out.split())
        assert "nonuniform (each intent is half as likely as the one before)" in page


# -- formats without room for notes


@pytest.mark.parametrize("format", ["csv", "tsv", "trec"])
def test_notes_go_to_standard_error_if_the_format_cannot_hold_them(format: str, cranfield: Cranfield) -> None:
    words = ("eval", "qrels", "run", "-m", "alpha#-nDCG-IA@2", "-f", format)
    result = cranfield(*words)
    assert "note: alpha#-IA: the formula follows" in result.err
    assert "order: score" not in result.err  # as always
    assert "note" not in result.out
    assert "alpha#-IA:" not in result.out
    quiet = cranfield(*words, "--quiet")
    assert (quiet.out, quiet.err) == (result.out, "")


@pytest.mark.parametrize("format", ["table", "json", "markdown", "html", "latex"])
def test_notes_are_printed_once_if_the_format_holds_them(format: str, cranfield: Cranfield) -> None:
    result = cranfield("eval", "qrels", "run", "-m", "alpha#-nDCG-IA@2", "-f", format)
    assert "note:" not in result.err
    assert result.out.count("was not available") == 1


def test_scores_by_topic_keep_their_notes(cranfield: Cranfield) -> None:
    result = cranfield("eval", "qrels", "run", "-m", "alpha#-nDCG-IA@2", "-f", "csv", "-q")
    assert ("was not available" in result.out, result.err) == (True, "")


def test_notes_of_explain_go_to_standard_error_too(cranfield: Cranfield) -> None:
    result = cranfield("explain", "qrels", "run", "--topic", "0001", "-m", "P-IA@2", "-f", "csv")
    assert "note: intent 1: P@2 0.5000, probability 0.5000\n" in result.err
    assert result.out.splitlines()[0] == "rank,doc,score,grade,status,intents,adds,so far"
