"""Trailtexts: the worked strings of Sakai 2014, U of ranked lists and sessions, and S-measure as a special case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.answers.one_click import IUnit, one_click_scores
from cranfield.answers.trailtexts import explain_trailtext, ideal_texts, read_trailtexts, trailtext_scores
from cranfield.errors import DataError, UsageError
from cranfield.measures import Trailtext, U


def written(folder: Path, text: str, name: str = "mine.tsv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_four_kinds_of_reading_of_sakai_2014_figure_4(tmp_path: Path) -> None:
    """Two sentences; snippet, ad, snippet; two snippets and a document; three snippets and a document, L = 1000.

    By hand: 1 − 100/1000; 1 − 350/1000; 1 − 700/1000; 0.5 (1 − 400/1000) + 1 − 900/1000.
    """
    path = written(
        tmp_path,
        "topic\tstring\tlength\tgain\n"
        "summary\tsentence 1\t100\t1\nsummary\tsentence 2\t80\t0\n"
        "page\tsnippet 1\t200\t0\npage\tad 2\t50\t0\npage\tsnippet 3\t100\t1\n"
        "list\tsnippet 1\t200\t0\nlist\tsnippet 2\t200\t0\nlist\tfulltext 2\t300\t1\n"
        "session\tsnippet 1\t200\t0\nsession\tsnippet 2\t200\t0.5\nsession\tsnippet 3\t200\t0\n"
        "session\tfulltext 3\t300\t1\n",
    )
    scores = trailtext_scores(read_trailtexts(path), ["U(L=1000)"])
    assert scores.runs == ("mine",)
    expected = {"summary": 0.9, "page": 0.65, "list": 0.3, "session": 0.5 * 0.6 + 0.1}
    assert dict(zip(scores.topics, scores.values[0, 0].tolist(), strict=True)) == pytest.approx(expected)


def test_texts_are_counted_and_rows_may_name_their_run(tmp_path: Path) -> None:
    path = written(tmp_path, "run,topic,gain,text\na,1,0,Cats sleep.\na,1,1,All day.\nb,1,1,Never.\n", "texts.csv")
    read = read_trailtexts([path])
    assert read["a"]["1"] == Trailtext((11, 8), (0, 1), ("string 1", "string 2"))  # len("Cats sleep.") is 11
    assert trailtext_scores(read, ["U(L=100)"]).values[0, :, 0].tolist() == pytest.approx([1 - 0.19, 1 - 0.06])


def test_the_trailtext_of_a_ranked_list_has_its_score() -> None:
    from cranfield.assessed.join import join
    from cranfield.assessed.join_options import JoinOptions

    lengths = {"a": 900.0, "b": 500.0, "c": 250.0}
    lists = join({"1": {"b": 1, "c": 2}}, {"mine": {"1": ["a", "b", "c"]}}, JoinOptions(lengths=lengths))
    measure = U(L=1000)
    score = measure.evaluate(lists)[0]
    assert trailtext_scores({"mine": {"1": measure.trailtext(lists)}}, [measure]).values.item() == pytest.approx(score)
    assert score == pytest.approx(1.0)  # the example of U: (1 − 500/1000) + 2 (1 − 750/1000)


def test_divided_by_the_pseudo_minimal_output_it_is_s_measure() -> None:
    """Sakai 2014 §3.4: U generalises S-measure. iUnits of weights 2 and 1 end at 40 and 24 of the output."""
    units = {"1": {"a": IUnit("a", 2, "bass"), "b": IUnit("b", 1, "Liverpool")}}
    text = {"mine": {"1": "x" * 50}}
    (s,) = one_click_scores(text, units, {"mine": {"1": {"b": 24, "a": 40}}}, ["S"], patience=100).values.ravel()
    read = {"mine": {"1": Trailtext((24, 16, 10), (1, 2, 0))}}
    minimal = {"1": Trailtext((4, 9), (2, 1))}  # "bass", then "Liverpool"
    assert trailtext_scores(read, ["U(L=100)"], ideal=minimal).values.item() == pytest.approx(s)
    assert s == pytest.approx((2 * 60 + 76) / (2 * 96 + 87))


def test_topics_that_a_run_or_the_ideal_texts_lack() -> None:
    one = Trailtext((10,), (1,))
    scores = trailtext_scores({"a": {"1": one, "2": one}, "b": {"1": one}}, ["U(L=100)"])
    assert scores.values[0].tolist() == pytest.approx(np.array([[0.9, 0.9], [0.9, 0]]))
    assert scores.missing.tolist() == [[False, False], [False, True]]
    scores = trailtext_scores({"a": {"1": one, "2": one}}, ["U(L=100)"], ideal={"1": one})
    assert (scores.topics, scores.values.tolist()) == (("1",), [[[1.0]]])
    assert "1 topic without an ideal text left out: 2" in " ".join(scores.notes)
    nothing = trailtext_scores({"a": {"1": one}}, ideal={"1": Trailtext((10,), (0,))})
    assert np.isnan(nothing.values).all()


def test_what_each_string_adds() -> None:
    explained = explain_trailtext(Trailtext((200, 300, 100), (0, 1, 2)), "U(L=1000)", run="mine", topic="1")
    assert explained.adds.tolist() == pytest.approx([0, 0.5, 0.8])
    assert explained.score == pytest.approx(explained.adds.sum())
    assert "U(L=1000) of mine: 1.3000" in str(explained)


def test_wrong_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine.tsv:2: a string has neither a length nor a text"):
        read_trailtexts(written(tmp_path, "topic\tgain\tlength\n1\t1\t\n"))
    with pytest.raises(DataError, match="topic gain length"):
        read_trailtexts(written(tmp_path, "topic\tgain\n1\t1\n"))
    with pytest.raises(UsageError, match="only U can score it"):
        trailtext_scores({"a": {"1": Trailtext((10,), (1,))}}, ["AP"])
    with pytest.raises(UsageError, match="no topic of the trailtexts has an ideal text"):
        trailtext_scores({"a": {"1": Trailtext((10,), (1,))}}, ideal={"2": Trailtext((10,), (1,))})
    with pytest.raises(UsageError, match="expected one ideal text a topic"):
        ideal_texts(written(tmp_path, "run\ttopic\tgain\tlength\na\t1\t1\t5\nb\t1\t1\t5\n"))


def test_the_verb(tmp_path: Path) -> None:
    assert cf.answers.trailtext is trailtext_scores
