"""`--by FILE` prints the result of a verb for each class of topics: the result on the topics of the class alone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield

TOPICS = {"1": "easy", "2": "hard", "3": "easy", "4": "hard", "5": "hard", "6": "easy"}
JUDGED = {topic: [f"d{n}" for n in range(1, 1 + int(topic))] for topic in TOPICS}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judgments and three runs, whole (`qrels`, `one`, ...) and for each class (`easy.qrels`, ...)."""
    for keep, end in (({"easy", "hard"}, ""), ({"easy"}, "easy."), ({"hard"}, "hard.")):
        topics = [topic for topic, name in TOPICS.items() if name in keep]
        qrels = "".join(f"{topic} 0 {doc} 1\n" for topic in topics for doc in JUDGED[topic])
        (tmp_path / f"{end}qrels").write_text(qrels)
        for run, step in (("one", 1), ("two", 2), ("three", 3)):
            lines = [
                f"{topic} Q0 d{1 + (int(topic) * step * rank) % 7} {rank} {9 - rank} {run}\n"
                for topic in topics
                for rank in range(1, 7)
            ]
            (tmp_path / f"{end}{run}").write_text("".join(lines))
    (tmp_path / "classes").write_text("".join(f"{topic} {name}\n" for topic, name in TOPICS.items()))
    (tmp_path / "groups").write_text("".join(f"d{n} {'odd' if n % 2 else 'even'}\n" for n in range(1, 8)))
    (tmp_path / "qpp").write_text("".join(f"{topic} {int(topic) * 5 % 7}\n" for topic in TOPICS))
    monkeypatch.chdir(tmp_path)


def printed(cranfield: Cranfield, *words: str) -> str:
    result = cranfield(*words)
    assert result.code == 0, result.err
    return result.out


VERBS = [
    ("eval", "-m", "AP", "-m", "P@5"),
    ("eval", "-m", "AP", "-q"),
    ("leaderboard", "-m", "AP"),
    ("compare", "-m", "AP"),
    ("anova", "-m", "AP"),
    ("compare", "-t", "tost", "-m", "AP", "--margin", "0.1"),
    ("power", "-m", "AP", "-d", "0.1"),
    ("meta", "power", "-m", "AP", "-B", "50"),
    ("meta", "swap", "-m", "AP", "-B", "20"),
    ("meta", "correlate", "-m", "AP,P@5", "-B", "20"),
    ("meta", "concord", "-m", "AP,RR", "--gold-measure", "P@5"),
    ("meta", "gtheory", "-m", "AP"),
    ("meta", "predict", "-m", "AP", "--predictors", "qpp", "-B", "20"),
    ("meta", "scale", "-m", "AP"),
    ("meta", "loo", "-m", "AP", "--show", "runs"),
    ("meta", "robust", "-m", "AP", "--repeats", "2", "--how", "random"),
    ("meta", "inform", "-m", "AP"),
    ("meta", "ranks"),
    ("fairness", "--groups", "groups"),
    ("fairness", "--groups", "groups", "-m", "AWRF", "-q"),
    ("pool", "bias", "--pool-depth", "3", "-m", "AP"),
    ("plot", "boxes", "-m", "AP"),
    ("plot", "curves"),
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_each_class_has_the_result_of_its_topics_alone(cranfield: Cranfield, verb: tuple[str, ...]) -> None:
    easy = printed(cranfield, *verb, "easy.qrels", "easy.one", "easy.two", "easy.three").rstrip("\n")
    hard = printed(cranfield, *verb, "hard.qrels", "hard.one", "hard.two", "hard.three").rstrip("\n")
    both = printed(cranfield, *verb, "qrels", "one", "two", "three", "--by", "classes")
    assert both == f"easy (3 topics)\n{easy}\n\nhard (3 topics)\n{hard}\n"


@pytest.mark.parametrize("verb", [*VERBS, ("collection", "stats")], ids=" ".join)
def test_csv_and_json_say_the_class(cranfield: Cranfield, verb: tuple[str, ...]) -> None:
    words = (*verb, "qrels", "one", "two", "three", "--by", "classes", "--quiet")
    rows = list(csv.DictReader(io.StringIO(printed(cranfield, *words, "-f", "csv"))))
    assert {row["class"] for row in rows} == {"easy", "hard"}
    plain = printed(cranfield, *verb, "easy.qrels", "easy.one", "easy.two", "easy.three", "--quiet", "-f", "csv")
    alone = list(csv.DictReader(io.StringIO(plain)))
    assert [{name: row[name] for name in row if name != "class"} for row in rows if row["class"] == "easy"] == alone
    data = json.loads(printed(cranfield, *words, "-f", "json"))
    assert [(part["class"], part["number_of_topics"]) for part in data] == [("easy", 3), ("hard", 3)]


def test_scores_instead_of_runs(cranfield: Cranfield) -> None:
    from_runs = printed(cranfield, "compare", "qrels", "one", "two", "-m", "AP", "--by", "classes", "-f", "csv")
    Path("scores.csv").write_text(printed(cranfield, "eval", "qrels", "one", "two", "-m", "AP", "-q", "-f", "csv"))
    assert printed(cranfield, "compare", "--scores", "scores.csv", "--by", "classes", "-f", "csv") == from_runs


def test_runs_are_read_once(cranfield: Cranfield) -> None:
    """Standard input can be read only once."""
    words = ("eval", "qrels", "-", "-m", "AP", "--by", "classes")
    result = cranfield(*words, stdin=Path("one").read_bytes())
    assert result.code == 0
    assert result.out == printed(cranfield, "eval", "qrels", "one", "-m", "AP", "--by", "classes")


def test_topics_without_a_class_are_counted(cranfield: Cranfield) -> None:
    Path("classes").write_text("1 easy\n3 easy\n2 hard\n")
    result = cranfield("eval", "qrels", "one", "-m", "AP", "--by", "classes")
    assert "warning: classes: 3 topics without a class are left out: 4, 5, 6" in result.err
    assert "easy (2 topics)" in result.out
    assert "hard (1 topic)" in result.out


def test_a_class_without_a_result_is_left_out_with_the_reason(cranfield: Cranfield) -> None:
    Path("classes").write_text("1 easy\n3 easy\n6 easy\n2 hard\n")
    result = cranfield("compare", "qrels", "one", "two", "-m", "AP", "--by", "classes")
    assert result.code == 0
    assert "class 'hard' (1 topic) is left out: 1 topic, a paired t test needs 2 or more" in result.err
    assert "hard" not in result.out
    Path("classes").write_text("1 easy\n2 hard\n")
    assert cranfield("compare", "qrels", "one", "two", "-m", "AP", "--by", "classes").code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("eval", "-f", "trec"), "--by: the format trec has no place for classes"),
        (("leaderboard", "-f", "html"), "--by prints a table for each class; the page has one"),
        (("meta", "correlate", "--gains", "linear,exp"), "--by and --gains do not go together"),
        (("eval", "--by", "nothing"), "nothing: no such file"),
    ],
)
def test_what_does_not_go_together_is_refused(cranfield: Cranfield, words: tuple[str, ...], message: str) -> None:
    by = () if "--by" in words else ("--by", "classes")
    result = cranfield(*words, "qrels", "one", "two", "-m", "AP", *by)
    assert result.code in (1, 2)
    assert message in result.err


@pytest.mark.parametrize(
    "words",
    [("compare", "--plot", "figure.csv"), ("plot", "boxes", "-o", "figure.csv"), ("topics", "--plot", "figure.csv")],
)
def test_each_class_has_its_own_figure(cranfield: Cranfield, words: tuple[str, ...]) -> None:
    whole = ("qrels", "one", "two", "three", "-m", "AP", "--quiet")
    assert cranfield(*words, *whole, "--by", "classes").code == 0
    assert sorted(path.name for path in Path().glob("figure*")) == ["figure-easy.csv", "figure-hard.csv"]
    # The figure of a class is that of its topics alone.
    Path("classes").write_text("".join(f"{topic} easy\n" for topic, name in TOPICS.items() if name == "easy"))
    both = Path("figure-easy.csv").read_text()
    assert cranfield(*words, *whole, "--by", "classes").code == 0
    assert Path("figure-easy.csv").read_text() == both != Path("figure-hard.csv").read_text()


@pytest.mark.parametrize(
    ("format", "title"),
    [("latex", "% easy (3 topics)\n"), ("markdown", "**easy (3 topics)**\n\n"), ("html", "<h3>easy (3 topics)</h3>\n")],
)
def test_titles_in_other_formats(cranfield: Cranfield, format: str, title: str) -> None:
    assert printed(cranfield, "eval", "qrels", "one", "-m", "AP", "--by", "classes", "-f", format).startswith(title)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("meta", "scale", "-m", "AP", "--by", "classes"), "--by needs topics; give QRELS RUN..., or --scores FILE"),
        (("meta", "loo", "qrels", "one", "two", "--by", "classes", "--write", "x"), "--by and --write do not go"),
    ],
)
def test_results_that_cannot_be_split_are_errors(cranfield: Cranfield, words: tuple[str, ...], message: str) -> None:
    printed = cranfield(*words)
    assert printed.code == 2
    assert message in printed.err


def test_intents_of_a_class_stay_intents(cranfield: Cranfield) -> None:
    # In class easy no document has two intents; over all topics, d1 has.
    Path("div.qrels").write_text("1 a d1 1\n1 b d2 1\n2 a d1 1\n2 b d1 1\n")
    Path("div.easy").write_text("1 a d1 1\n1 b d2 1\n")
    alone = printed(cranfield, "meta", "ranks", "div.easy", "easy.one", "--qrels-format", "diversity").rstrip("\n")
    both = printed(cranfield, "meta", "ranks", "div.qrels", "one", "--by", "classes")
    assert alone in both


def test_tests_of_tests_for_each_class(cranfield: Cranfield) -> None:
    """Topics 1 to 8 and 9 to 16; each half alone is the witness."""
    scores = [
        (run, topic, (topic * (5 + number) % 11) / 10) for topic in range(1, 17) for number, run in enumerate("ab")
    ]
    for name, topics in (("all", range(1, 17)), ("low", range(1, 9)), ("high", range(9, 17))):
        lines = [f"AP,{run},{topic},{value}" for run, topic, value in scores if topic in topics]
        Path(f"{name}.csv").write_text("\n".join(["measure,run,topic,value", *lines]))
    Path("halves").write_text("".join(f"{topic} {'low' if topic < 9 else 'high'}\n" for topic in range(1, 17)))
    words = ("meta", "tests", "-t", "t,sign", "--scores")
    low, high = (printed(cranfield, *words, f"{name}.csv").rstrip("\n") for name in ("low", "high"))
    both = printed(cranfield, *words, "all.csv", "--by", "halves")
    assert both == f"low (8 topics)\n{low}\n\nhigh (8 topics)\n{high}\n"


@pytest.mark.parametrize("words", [(), ("-q",), ("one", "two")])
def test_statistics_for_each_class(cranfield: Cranfield, words: tuple[str, ...]) -> None:
    def alone(name: str) -> str:
        files = [word if word == "-q" else f"{name}.{word}" for word in words]
        text = printed(cranfield, "collection", "stats", f"{name}.qrels", *files).rstrip("\n")
        return text.replace(f"{name}: 3 topics", "qrels: 3 topics")  # the name of the file

    both = printed(cranfield, "collection", "stats", "qrels", *words, "--by", "classes")
    assert both == f"easy (3 topics)\n{alone('easy')}\n\nhard (3 topics)\n{alone('hard')}\n"


def test_topics_of_a_run_without_judgments_belong_to_their_class(cranfield: Cranfield) -> None:
    Path("few").write_text("1 0 d1 1\n2 0 d1 1\n4 0 d1 1\n")
    rows = csv.DictReader(
        io.StringIO(printed(cranfield, "collection", "stats", "few", "one", "--by", "classes", "-f", "csv"))
    )
    # the run has three topics of each class: of easy, topics 3 and 6 are not judged, and of hard, topic 5
    assert [(row["class"], row["topics"], row["not judged"]) for row in rows] == [
        ("easy", "1", "2"),
        ("hard", "2", "1"),
    ]


def test_adjusted_scores_for_each_class(cranfield: Cranfield) -> None:
    words = ("--pool-depth", "3", "-m", "AP", "--adjust")
    easy = printed(cranfield, "pool", "bias", "easy.qrels", "easy.one", "easy.two", *words, "easy.three")
    both = printed(cranfield, "pool", "bias", "qrels", "one", "two", *words, "three", "--by", "classes")
    assert both.startswith(f"easy (3 topics)\n{easy}\nhard (3 topics)\n")
    stdin = Path("qrels").read_bytes()
    assert cranfield("pool", "bias", "-", "one", "two", *words, "three", "--by", "classes", stdin=stdin).out == both


def test_a_reproduction_for_each_class(cranfield: Cranfield) -> None:
    def reproduced(start: str, *more: str) -> str:
        files = [start + name for name in ("qrels", "one", "two", "three", "one")]
        words = [*files[:3], "--advanced", files[3], "--advanced-again", files[4], "-m", "AP"]
        return printed(cranfield, "meta", "reproduce", *words, *more).rstrip("\n")

    easy, hard = reproduced("easy."), reproduced("hard.")
    assert reproduced("", "--by", "classes") == f"easy (3 topics)\n{easy}\n\nhard (3 topics)\n{hard}"


def test_a_reproduction_from_scores_for_each_class(cranfield: Cranfield) -> None:
    for start in ("", "easy."):
        words = [start + name for name in ("qrels", "one", "two")]
        Path(f"{start}csv").write_text(printed(cranfield, "eval", *words, "-m", "AP", "-q", "-f", "csv"))
    words = ["meta", "reproduce", "one", "two", "--scores"]
    easy = printed(cranfield, *words, "easy.csv")
    assert printed(cranfield, *words, "csv", "--by", "classes").startswith(f"easy (3 topics)\n{easy}\nhard")


def test_a_class_that_the_other_collection_lacks_is_left_out(cranfield: Cranfield) -> None:
    words = ("meta", "reproduce", "qrels", "one", "easy.two", "--other-qrels", "easy.qrels", "-m", "AP")
    alone = printed(cranfield, "meta", "reproduce", "easy.qrels", "easy.one", "easy.two", *words[5:])
    result = cranfield(*words, "--by", "classes")
    assert result.out == f"easy (3 topics)\n{alone}"
    assert "class 'hard' (3 topics) is left out: the other collection has no topic of this class" in result.err
