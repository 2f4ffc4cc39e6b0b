"""Words to values: what is matched directly is what typer would have made of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

import pytest

from cranfield.assessed.join_options import JoinOptions
from cranfield.cli import STAND_INS, VERBS, found
from cranfield.cli.options import AS_USUAL, Joining
from cranfield.cli.parser import Argument, by_typer, chosen, declared, measure_names, parsed, plainly
from cranfield.errors import UsageError
from cranfield.measures import DEFAULT, parse

PLAIN = {
    "eval": [
        "",
        "q",
        "q r1 r2 r3",
        "q r -m AP -m nDCG@10",
        "-m AP q --measure RR r",
        "q r --measure=P(rel=2)@5",
        "q - -q --quiet --digits 3 --threads=2 --interval=0.9",
        "q r --format json -o out.json --order rank --precision 32 --depth 100 --on-duplicate max",
        "q r --missing skip --statistic gmean --sort AP --run-format trec --qrels-format beir",
        "q r --input-format msmarco",
        "q r --intent-probabilities p --intent-types t",
        "--sample",
        "-- q -r",
        "q r --digits -1",
        "q r -m -x",
    ],
    "explain": ["q r --topic 301", "q r -t 301 -m AP --depth 5"],
    "measures": ["", "nDCG AP", "--search unjudged", "-s x --full"],
    "stats": ["q", "q r1 r2 --rel 2 -q", "q --rel 0.5"],
    "validate": ["a b", "--qrels q --runs r1 --runs r2 --topics t", "--strict --show error a"],
    "convert": ["a b", "a b --from trec --to json --kind run --allow-loss"],
    "demo": [""],
    "fairness": ["q r1 r2 --groups g", "q r --draws -m AWRF,EE-L --p 0.8 --protected a --protected b -q --rel=2"],
    "compare": ["q r1 r2", "--sample -t tukey -b bm25 --alpha 0.01", "-s a.csv --scores b.csv -B 9 --pairs -q"],
    "anova": ["q r1 r2 -m AP", "-s a.csv --factors f --factor x=y -i a:b --tukey a --means a:b --pairs --alpha 0.01"],
    "power": ["", "q r1 r2 -m AP --difference 0.05", "--variance 0.04 --difference 0.05 --power 0.9 --test anova"],
    "plot": ["", "boxes q r1 r2 -m AP -o b.svg", "curves q r --topic 3 --rel 2 --format=csv", "diversity q r"],
    "pool-bias": ["q r1 r2 --pool-depth 100", "q r1 r2 --pool-depth=9 --adjust n1 --adjust n2 --adjust-qrels o -q"],
}
ODD = {
    "eval": ["q r -qm AP", "q r -mAP", "q r --nope", "q r -m", "q r --depth x", "q r --quiet=yes"],
    "explain": ["q", "q r", "q r s --topic 1"],
    "convert": ["a", "a b c"],
    "measures": ["--help", "-h"],
}


def cases(words: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(verb, line) for verb, lines in words.items() for line in lines]


@pytest.mark.parametrize(("verb", "line"), cases(PLAIN))
def test_plain_words_mean_what_typer_says(verb: str, line: str) -> None:
    _, function = found(verb)
    values = plainly(declared(function), line.split())
    assert values is not None
    call = by_typer(verb, function, "", line.split())
    defaults = {parameter.name: parameter.default for parameter in declared(function)}
    told = {name: value or defaults[name] for name, value in call.keywords.items()}  # type: ignore[attr-defined]
    assert defaults | values == told


@pytest.mark.parametrize(("verb", "line"), cases(ODD))
def test_odd_words_are_left_to_typer(verb: str, line: str) -> None:
    _, function = found(verb)
    assert plainly(declared(function), line.split()) is None


def test_every_verb_is_covered() -> None:
    assert PLAIN.keys() == VERBS.keys() - set(STAND_INS)


def test_every_option_has_help_and_its_own_spelling() -> None:
    for verb in PLAIN:
        spellings: list[str] = []
        for parameter in declared(found(verb)[1]):
            assert parameter.how.help.endswith((".", "measures")), (verb, parameter.name)
            spellings += parameter.how.names
        assert len(set(spellings)) == len(spellings), verb


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["AP"], ["AP"]),
        (["AP,RR", "P@5"], ["AP", "RR", "P@5"]),
        (["AP RR"], ["AP", "RR"]),
        (["nDCG @ 10, AP"], ["nDCG@10", "AP"]),
        (["nDCG(gain={1: 1, 2: 3})@5,10"], ["nDCG(gain={1: 1, 2: 3})@5", "nDCG(gain={1: 1, 2: 3})@10"]),
        (["AP',Q[best,ties]"], ["AP'", "Q[best,ties]"]),
        (["P.5,10,RR"], ["P.5,10", "RR"]),
        (["utility_2,-1,0,0"], ["utility_2,-1,0,0"]),
        (["IPrec@.1,.2"], ["IPrec@.1", "IPrec@.2"]),
        (["10"], ["10"]),
    ],
)
def test_measure_names(texts: list[str], names: list[str]) -> None:
    assert measure_names(texts) == names


def test_chosen_measures_come_once_and_default_to_the_package_s() -> None:
    assert chosen(["AP,map", "AP"]) == [parse("AP")]
    assert chosen(None) == list(DEFAULT)
    with pytest.raises(UsageError, match="names no measure"):
        chosen([" , "])


def test_a_parameter_that_is_a_dataclass_stands_for_its_fields() -> None:
    """The options that verbs share have one home: a verb says that it takes them all by one parameter."""

    def verb(name: Annotated[str, Argument("NAME", "A name.")], joining: Joining = AS_USUAL) -> int:
        told.append((name, joining))
        return 7

    told: list[tuple[str, Joining]] = []
    verb.__annotations__ = {"name": Annotated[str, Argument("NAME", "A name.")], "joining": Joining, "return": int}
    assert [one.name for one in declared(verb)] == ["name", *(one.name for one in fields(Joining))]
    assert parsed("verb", verb, "", ["x", "--order", "rank", "--dimension", "a=f"])() == 7
    assert parsed("verb", verb, "", ["y", "--precision", " 32"])() == 7  # by typer
    assert told == [("x", Joining(order="rank", dimension=["a=f"])), ("y", Joining(precision=32))]


def test_options_shared_by_verbs_are_those_of_the_join() -> None:
    """With its defaults; without the two that eval alone has, and `scores`, which follows from the measures."""
    defaults = {one.name: one.default for one in fields(JoinOptions)}
    assert AS_USUAL.options() == {name: defaults[name] for name in defaults.keys() - {"depth", "threads", "scores"}}
