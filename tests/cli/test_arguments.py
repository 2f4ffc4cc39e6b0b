"""Words to values: what is matched directly is what typer would have made of it."""

from __future__ import annotations

from importlib import import_module

import pytest

from cranfield.cli import STAND_INS, VERBS
from cranfield.cli.arguments import by_typer, chosen, declared, measure_names, plainly
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
    module = import_module(f"cranfield.cli.{verb}")
    function = getattr(module, f"{verb}_verb")
    values = plainly(declared(function), line.split())
    assert values is not None
    call = by_typer(verb, function, "", line.split())
    defaults = {parameter.name: parameter.default for parameter in declared(function)}
    told = {name: value or defaults[name] for name, value in call.keywords.items()}  # type: ignore[attr-defined]
    assert defaults | values == told


@pytest.mark.parametrize(("verb", "line"), cases(ODD))
def test_odd_words_are_left_to_typer(verb: str, line: str) -> None:
    module = import_module(f"cranfield.cli.{verb}")
    assert plainly(declared(getattr(module, f"{verb}_verb")), line.split()) is None


def test_every_verb_is_covered() -> None:
    assert PLAIN.keys() == VERBS.keys() - set(STAND_INS)


def test_every_option_has_help_and_its_own_spelling() -> None:
    for verb in PLAIN:
        spellings: list[str] = []
        for parameter in declared(getattr(import_module(f"cranfield.cli.{verb}"), f"{verb}_verb")):
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
