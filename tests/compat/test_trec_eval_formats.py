"""The replacement for trec_eval: preferences (`-R prefs`, `qrels_prefs`), judges (`-R qrels_jg`) and z-scores (`-Z`).

Witnesses: the C code of trec_eval 9.0.8 inside pytrec_eval, called on random files; what a program linked to that code
printed for the files below (`trec_eval_formats_output.txt`); and arithmetic.
"""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from cranfield.compat.trec_eval import main
from cranfield.compat.trec_measures import NICKNAMES
from tests.oracles import trec_eval_library

PREFS = """\
1 ann 0 a 2
1 ann 0 b 1
1 ann 0 c 0
1 ann 0 d 0
1 ann 0 e 0
1 bob 0 b 3
1 bob 0 a 1
1 bob 1 a 4
1 bob 1 c 2
1 bob 1 f 1
2 ann 0 a 1
2 ann 0 b 0
3 ann 0 a 1.00000001
3 ann 0 b 1
4 ann 0 a 0
"""
QRELS = """\
1 ann a 2
1 ann b 1
1 ann c 0
1 ann d -1
1 bob a 0
1 bob c 1
2 ann a 1
2 ann b 0
3 bob b 1
4 ann a 1
"""
RUN = """\
1 Q0 x 1 9 tag
1 Q0 c 2 8 tag
1 Q0 a 3 7 tag
1 Q0 b 4 7 tag
2 Q0 b 1 16777217 tag
2 Q0 a 2 16777216 tag
3 Q0 b 1 2 tag
3 Q0 a 2 1 tag
"""
Z_SCORES = """\
1 map 0.5 0.25
1 P_5 0.4 0
1 num_ret 3 2
1 num_q 1 1
2 map 1 0.5
2 P_5 0.1 0
2 num_ret 2 0
2 num_q 1 1
3 map 0.25 0.1
3 P_5 0.3 0.3
3 num_ret 3 1
3 num_q 1 1
"""
PLAIN = """\
1 0 a 2
1 0 b 1
1 0 c 0
2 0 a 1
2 0 b 0
3 0 b 1
4 0 a 1
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"prefs": PREFS, "qrels": QRELS, "run": RUN, "z": Z_SCORES, "plain": PLAIN}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(arguments: str | list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(arguments.split() if isinstance(arguments, str) else arguments, out, err)
    return code, out.getvalue(), err.getvalue()


def recorded() -> list[tuple[str, str]]:
    text = (Path(__file__).parent / "trec_eval_formats_output.txt").read_text()
    cases = [case.partition("\n") for case in text.split("$ trec_eval ")[1:]]
    return [(arguments, output) for arguments, _, output in cases]


@pytest.mark.parametrize(("arguments", "output"), recorded(), ids=lambda text: text[:60].split("\n")[0])
def test_prints_what_trec_eval_printed(arguments: str, output: str) -> None:
    assert call(arguments) == (0, output, "")


def random_files(rng: random.Random, format: str, number: int) -> None:
    """Random judgments and a random run in `judgments` and `run`; the topics have this number in their names."""
    docs = [f"d{i}" for i in range(rng.randint(1, 12))]
    topics = [f"{name}-{number}" for name in rng.sample(["1", "10", "2", "x"], rng.randint(1, 3))]
    levels = rng.choice([[0, 1], [0, 1, 2, 3], [0, 0, 0, 1], [1, 2]] + ([[-1, 0, 1]] if format == "qrels_jg" else []))
    lines = []
    for topic in topics:
        for group in rng.sample("01bA", rng.randint(1, 3)):
            level = {doc: rng.choice(levels) for doc in docs}
            for subgroup in rng.sample("01s", rng.randint(1, 3)) if format == "prefs" else [""]:
                some = rng.sample(docs, rng.randint(1, len(docs)))
                lines += [f"{topic} {group} {subgroup} {doc} {level[doc]}\n" for doc in some]
    rng.shuffle(lines)
    Path("judgments").write_text("".join(lines))
    scores = [1, 2, 3, 16777216, 16777217, 0.25, 0.75]
    retrieved = [
        f"{topic} Q0 {doc} 1 {rng.choice(scores)} tag\n"
        for topic in rng.sample([*topics, f"other-{number}"], rng.randint(1, len(topics) + 1))
        for doc in rng.sample([*docs, "u1", "u2"], rng.randint(1, len(docs) + 2))
    ]
    Path("run").write_text("".join(retrieved))


@pytest.mark.parametrize("format", ["prefs", "qrels_prefs", "qrels_jg"])
def test_agrees_with_the_c_code_on_random_files(format: str) -> None:
    nickname = "qrels_jg" if format == "qrels_jg" else "all_prefs"
    names = [name for name in NICKNAMES[nickname] if name not in ("runid", "num_q")]
    rng = random.Random(20)
    compared = 0
    for number in range(150):
        random_files(rng, format, number)
        depth, judged_only, level = rng.choice([None, None, 1, 3]), rng.random() < 0.3, rng.choice([1, 1, 2])
        expected = trec_eval_library.values(
            Path("judgments"), Path("run"), format, names, depth=depth, judged_only=judged_only, level=level
        )
        options = [*(["-M", str(depth)] if depth else []), *["-J"] * judged_only, "-l", str(level)]
        code, out, err = call(["-q", "-n", "-m", nickname, "-R", format, *options, "judgments", "run"])
        if not expected:
            assert (code, out) == (1, "")
            continue
        assert (code, err) == (0, "")
        printed = {
            (topic, name.strip()): value for name, topic, value in (line.split("\t") for line in out.splitlines())
        }
        whole = "prefs_num_prefs"
        assert printed == {
            (topic, name): str(int(value)) if name.startswith(whole) else f"{value:.4f}"
            for (topic, name), value in expected.items()
        }
        compared += len(expected)
    assert compared > 1000


def test_preferences_by_hand() -> None:
    # Topic 1, ann: a > b > c, d, e in seven preferences. The list is x c a b (7 = 7, in the order of ids): a before b
    # is fulfilled, c before a and before b are not, and d and e were not retrieved, so a and b are before them: 5 of 7.
    # Topic 1, bob: b > a, a > c > f, hence b > c and b > f as well; 6 preferences. b > a, a > c, b > c fail; the three
    # over f, which was not retrieved, are fulfilled.
    out = call("-q -n -m prefs_simp -m prefs_avgjg -m prefs_num_prefs_ful -R prefs prefs run")[1].splitlines()[:3]
    assert out == [
        "prefs_num_prefs_ful   \t1\t8",
        f"prefs_simp            \t1\t{8 / 13:.4f}",
        f"prefs_avgjg           \t1\t{(5 / 7 + 3 / 6) / 2:.4f}",
    ]


def test_several_judges_by_hand() -> None:
    # Topic 1: the list is x c b a (7 = 7, from z to a). For ann, b and a are relevant, at ranks 3 and 4: AP is
    # (1/3 + 2/4) / 2. For bob, c is relevant, at rank 2: AP is 1/2.
    out = call("-q -n -m map_avgjg -R qrels_jg qrels run")[1].splitlines()
    assert out[0] == f"map_avgjg             \t1\t{((1 / 3 + 2 / 4) / 2 + 1 / 2) / 2:.4f}"


def test_z_scores_by_hand(files: Path) -> None:
    # Two topics: a missing mean, a deviation of 0 with and without the mean, and (value − mean) / deviation.
    (files / "one").write_text("1 0 a 1\n2 0 a 1\n")
    (files / "two").write_text("1 Q0 a 1 1 tag\n2 Q0 b 2 1 tag\n2 Q0 a 1 1 tag\n")
    (files / "means").write_text("1 map 0.5 0.25\n1 P_5 0.2 0\n2 map 0.5 0\n2 P_5 0.5 0\n")
    assert call("-q -m map -m P.5 -m num_ret -Z means one two")[1].splitlines() == [
        "Znum_ret               \t1\t-1000000.0000",
        "Zmap                   \t1\t2.0000",
        "ZP_5                   \t1\t0.0000",
        "Znum_ret               \t2\t-1000000.0000",
        "Zmap                   \t2\t0.0000",
        "ZP_5                   \t2\t-1000000.0000",
        "Znum_ret               \tall\t-2000000.0000",
        "Zmap                   \tall\t1.0000",
        "ZP_5                   \tall\t-500000.0000",
    ]


def test_levels_and_scores_have_64_bits_in_dialect_10() -> None:
    # Topic 3: a is preferred to b by 0.00000001; topic 2: 16777217 is above 16777216.
    ask = "-q -n -m prefs_num_prefs_poss -m prefs_num_prefs_ful -R prefs -c prefs run"
    assert call(ask)[1].splitlines()[2:6] == [
        "prefs_num_prefs_poss  \t2\t1",
        "prefs_num_prefs_ful   \t2\t1",
        "prefs_num_prefs_poss  \t3\t0",
        "prefs_num_prefs_ful   \t3\t0",
    ]
    assert call(f"--dialect 10 {ask}")[1].splitlines()[2:6] == [
        "prefs_num_prefs_poss  \t2\t1",
        "prefs_num_prefs_ful   \t2\t0",
        "prefs_num_prefs_poss  \t3\t1",
        "prefs_num_prefs_ful   \t3\t0",
    ]


def test_a_missing_topic_fulfils_no_preference_in_dialect_10(files: Path) -> None:
    (files / "prefs").write_text(PREFS + "4 ann 0 b 1\n")
    assert call("--dialect 10 -m prefs_simp -R prefs prefs run")[0] == 1
    out = call("--dialect 10 -q -m prefs_simp -m prefs_num_prefs_poss -R prefs -c prefs run")[1]
    assert "prefs_num_prefs_poss  \t4\t1\nprefs_simp            \t4\t0.0000\n" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-R prefs prefs run", "measure 'num_ret' needs judgments in the format qrels, not prefs"),
        ("-m prefs qrels run", "needs judgments in the format prefs or qrels_prefs, not qrels: add -R prefs"),
        ("-m map_avgjg qrels run", "needs judgments in the format qrels_jg, not qrels: add -R qrels_jg"),
        ("-R nonsense qrels run", "-R nonsense: must be one of qrels, qrels_jg, prefs, qrels_prefs"),
    ],
)
def test_measures_that_do_not_fit_the_judgments_are_refused(arguments: str, message: str) -> None:
    code, out, err = call(arguments)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("prefs", "1 g 0 a 1\n1 g 0 b\n", "prefs:2: 4 columns, expected 5: topic group subgroup doc level"),
        ("prefs", "1 g 0 a one\n", "prefs:1: topic '1': the level is 'one', expected a number"),
        (
            "prefs",
            "1 g 0 a 1\n1 g 0 a 2\n",
            "prefs:2: topic '1' with group 'g' with subgroup '0' with document 'a' appears twice, first on line 1",
        ),
        ("prefs", "1 g 0 a 1\n1 g 0 b 0\n1 g 1 b 1\n", "document 'b' has level 0 and a level above 0 in one group"),
        (
            "prefs",
            "1 g 0 a 2\n1 g 0 b 1\n1 g 1 b 2\n1 g 1 c 1\n1 g 2 c 2\n1 g 2 a 1\n",
            "topic '1': documents 'c' and 'a' are preferred to each other in one group",
        ),
        ("z", "1 map 0.5\n", "z:1: 3 columns, expected topic measure mean deviation"),
        ("z", "1 map 0.5 x\n", "z:1: topic '1': the deviation is 'x', expected a number"),
        ("z", "1 map 0 1\n1 map 0 1\n", "z:2: topic '1' with measure 'map' appears twice, first on line 1"),
    ],
)
def test_wrong_files_are_named_by_line(files: Path, name: str, text: str, message: str) -> None:
    (files / name).write_text(text)
    code, out, err = call("-m prefs -R prefs prefs run" if name == "prefs" else "-m map -Z z plain run")
    assert (code, out) == (1, "")
    assert message in err
