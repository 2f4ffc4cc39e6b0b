"""From words to the options of a verb."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from cranfield.assessed.join_options import JoinOptions
from cranfield.cli import every_verb, find
from cranfield.cli.declare import Verb, argument, declared, flag, option
from cranfield.cli.options import Lists
from cranfield.cli.options.option_values import chosen, measure_names
from cranfield.cli.parser import parsed
from cranfield.errors import UsageError
from cranfield.measures import DEFAULT, parse

EVERY_VERB = every_verb()
QR: dict[str, Any] = {"qrels": "q", "runs": ["r"]}

LINES: list[tuple[str, str, dict[str, Any]]] = [
    ("eval", "", {}),
    ("eval", "q", {"qrels": "q"}),
    ("eval", "q r1 r2 r3", {"qrels": "q", "runs": ["r1", "r2", "r3"]}),
    ("eval", "q r -m AP -m nDCG@10", {**QR, "measures": ["AP", "nDCG@10"]}),
    ("meta correlate", "q r -c tau-b -c rbo,tau-a", {**QR, "coefficients": "tau-b,rbo,tau-a"}),
    ("meta robust", "q r --depths 5 --depths 10", {**QR, "depths": "5,10"}),
    ("eval", "-m AP q --measure RR r", {**QR, "measures": ["AP", "RR"]}),
    ("eval", "q -m AP r1 --quiet r2", {"qrels": "q", "runs": ["r1", "r2"], "measures": ["AP"], "quiet": True}),
    ("eval", "q r --measure=P(rel=2)@5", {**QR, "measures": ["P(rel=2)@5"]}),
    (
        "eval",
        "q - -q --quiet --digits 3 --threads=2 --level=0.9",
        {"qrels": "q", "runs": ["-"], "per_topic": True, "quiet": True, "digits": 3, "threads": 2, "level": 0.9},
    ),
    (
        "eval",
        "q r --format json -o out.json --order rank --precision 32 --depth 100 --on-duplicate max",
        {**QR, "format": "json", "output": "out.json", "order": "rank", "precision": 32, "depth": 100}
        | {"on_duplicate": "max"},
    ),
    (
        "eval",
        "q r --missing skip --statistic gmean --sort AP --run-format trec --qrels-format beir",
        {**QR, "missing": "skip", "statistic": "gmean", "sort": "AP", "run_format": "trec", "qrels_format": "beir"},
    ),
    ("eval", "q r --input-format msmarco", {**QR, "run_format": "msmarco"}),
    ("eval", "q r --intent-probabilities p --intent-types t", {**QR, "intent_probabilities": "p", "intent_types": "t"}),
    ("eval", "q r --dimension a=f --dimension b=g", {**QR, "dimensions": ["a=f", "b=g"]}),
    ("eval", "--sample", {"sample": True}),
    ("eval", "-- q -r", {"qrels": "q", "runs": ["-r"]}),
    ("eval", "-m AP -- -q r", {"qrels": "-q", "runs": ["r"], "measures": ["AP"]}),
    ("eval", "q r --digits -1", {**QR, "digits": -1}),
    ("eval", "q r --alpha -1", {**QR, "alpha": -1.0}),
    ("eval", "q r --alpha=-.5", {**QR, "alpha": -0.5}),
    ("eval", "q r -m -x", {**QR, "measures": ["-x"]}),
    ("eval", "q r -qm AP", {**QR, "per_topic": True, "measures": ["AP"]}),
    ("eval", "q r -mAP", {**QR, "measures": ["AP"]}),
    ("eval", "q r -mRBP(p=0.5)", {**QR, "measures": ["RBP(p=0.5)"]}),
    ("eval", "--ci q r", {**QR, "ci": True}),
    ("eval", "q r --ci --level .9", {**QR, "ci": True, "level": 0.9}),
    ("explain", "q r --topic 301", {"qrels": "q", "runs": ["r"], "topic": ["301"]}),
    ("explain", "q r --topic=301 -m AP --depth 5", {"qrels": "q", "runs": ["r"], "topic": ["301"], "measures": ["AP"]}
     | {"depth": 5}),
    ("measures", "", {}),
    ("measures", "nDCG AP", {"names": ["nDCG", "AP"]}),
    ("measures", "--search x --full", {"search": "x", "full": True}),
    ("collection stats", "q", {"qrels": "q"}),
    ("collection stats", "q r1 r2 --rel 2 -q", {"qrels": "q", "runs": ["r1", "r2"], "rel": 2.0, "per_topic": True}),
    ("collection stats", "q --rel 0.5", {"qrels": "q", "rel": 0.5}),
    ("validate", "a b", {"files": ["a", "b"]}),
    ("validate", "--qrels q --runs r1 --run r2 --topics t", {"qrels": ["q"], "runs": ["r1", "r2"], "topics": ["t"]}),
    ("validate", "--strict --show error a", {"strict": True, "severity": "error", "files": ["a"]}),
    ("convert", "a b", {"source": "a", "target": "b"}),
    (
        "convert",
        "a b --from trec --to json --kind run --allow-loss",
        {"source": "a", "target": "b", "from_": "trec", "to": "json", "kind": "run", "allow_loss": True},
    ),
    ("completion", "bash", {"shell": "bash"}),
    ("fairness", "q r --groups g", {**QR, "groups": "g"}),
    (
        "fairness",
        "q r --draws -m AWRF,EE-L -p 0.8 --protected a --protected b -q --rel=2",
        {**QR, "draws": True, "measures": ["AWRF,EE-L"], "p": 0.8, "protected": ["a", "b"], "per_topic": True}
        | {"rel": 2.0},
    ),
    ("compare", "q r", QR),
    ("compare", "--sample -t tukey -b bm25 --alpha 0.01", {"sample": True, "test": "tukey", "baseline": "bm25"}
     | {"alpha": 0.01}),
    ("compare", "-s a.csv --scores b.csv -B 9 --pairs -q", {"scores": ["a.csv", "b.csv"], "resamples": 9}
     | {"pairs": True, "per_topic": True}),
    (
        "anova",
        "-s a.csv --factors f --factor x=y -i a:b --tukey a --means a:b --pairs --alpha 0.01",
        {"scores": ["a.csv"], "factors": "f", "factor": ["x=y"], "interactions": ["a:b"], "tukey": ["a"]}
        | {"means": ["a:b"], "pairs": True, "alpha": 0.01},
    ),
    ("power", "q r -m AP --difference 0.05", {**QR, "measures": ["AP"], "difference": 0.05}),
    (
        "power",
        "--variance 0.04 -d 0.05 --power 0.9 --test anova",
        {"variance": 0.04, "difference": 0.05, "power": 0.9, "test": "anova"},
    ),
    ("plot", "", {}),
    ("plot", "boxes q r -m AP -o b.svg", {"kind": "boxes", **QR, "measures": ["AP"], "output": "b.svg"}),
    ("plot", "curves q r --topic 3 --rel 2 --format=csv", {"kind": "curves", **QR, "topic": "3", "rel": 2.0}
     | {"format": "csv"}),
    ("pool bias", "q r --pool-depth 100", {**QR, "depth": 100}),
    (
        "pool bias",
        "q r --pool-depth=9 --adjust n1 --adjust n2 --adjust-qrels o -q",
        {**QR, "depth": 9, "adjust": ["n1", "n2"], "adjust_qrels": "o", "per_topic": True},
    ),
    ("meta correlate", "q r -c rbo -p 0.8", {**QR, "coefficients": "rbo", "p": 0.8}),
    ("meta scale", "-m AP --length 4 --number-of-grades 3", {"measures": ["AP"], "length": 4, "grades": 3}),
    ("meta reproduce", "q a b", {"words": ["q", "a", "b"]}),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "line", "values"), LINES)
def test_words_set_options(verb: str, line: str, values: dict[str, Any]) -> None:
    command = parsed(find(verb), f"cranfield {verb}", line.split())
    defaults = {parameter.name: parameter.default for parameter in declared(find(verb))}
    assert command is not None
    assert {name: getattr(command, name) for name in defaults} == defaults | values


@pytest.mark.parametrize(
    ("verb", "line", "message"),
    [
        ("eval", "q r --nope", "no option '--nope'"),
        ("eval", "q r --mesure AP", "no option '--mesure' (did you mean '--measure'?)"),
        ("eval", "q r --meas AP", "no option '--meas'"),  # no abbreviations
        ("eval", "q r -m", "--measure/-m: a value is missing"),
        ("eval", "-m --quiet", "--measure/-m: a value is missing"),
        ("eval", "q r --depth x", "--depth: 'x' is not a whole number"),
        ("eval", "q r --alpha x", "--alpha: 'x' is not a number"),
        ("eval", "q r --quiet=yes", "--quiet: it takes no value, got 'yes'"),
        ("explain", "q", "missing argument RUN"),
        ("collection split", "q", "missing option --folder"),
        ("convert", "a", "missing argument DST"),
        ("convert", "a b c", "unexpected argument 'c'"),
        ("meta ranks", "q --bye-run", "did you mean '--by-run'?"),
    ],
)
def test_wrong_command_lines_are_errors(verb: str, line: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parsed(find(verb), f"cranfield {verb}", line.split())
    assert str(raised.value).startswith(message) or message in str(raised.value)
    assert str(raised.value).endswith(f"; see: cranfield {verb} --help")


def test_a_value_must_be_one_of_the_choices() -> None:
    with pytest.raises(UsageError, match=r"^--statistic == 'mode', must be one of 'mean', 'gmean', 'median', 'URisk'"):
        parsed(find("eval"), "cranfield eval", ["--statistic", "mode"])


def test_every_option_has_help_and_its_own_spelling() -> None:
    for verb in EVERY_VERB:
        parameters = declared(find(verb))
        spellings = [spelling for parameter in parameters for spelling in parameter.spellings]
        assert len(set(spellings)) == len(spellings), verb
        for parameter in parameters:
            assert parameter.described().endswith((".", "...", "measures", "tracks.")), (verb, parameter.label)
            assert parameter.spellings == () or parameter.spellings[0].startswith("--"), (verb, parameter.label)


def test_groups_of_options_are_inherited() -> None:
    class Own(Lists):
        name: str = argument("NAME", "A name.", required=True)
        loud: bool = flag("--loud, -l", "Be loud.")
        count: int = option("--count N", "How often.", default=1)

    command = parsed(Own, "own", ["x", "--order", "rank", "--dimension", "a=f", "-l"])
    assert isinstance(command, Own)
    assert (command.name, command.order, command.dimensions, command.loud, command.count) == (
        "x", "rank", ["a=f"], True, 1,
    )  # fmt: skip
    assert command.precision == 64


def test_options_of_lists_are_those_of_the_join() -> None:
    """With the same defaults; depth, threads and parts are options of single verbs, others follow from the measures."""
    defaults = {one.name: one.default for one in fields(JoinOptions)}
    others = {"depth", "threads", "sharding", "scores", "sampled"}
    assert Lists().join_options() == {name: defaults[name] for name in defaults.keys() - others}


def test_standard_input_is_read_only_once() -> None:
    class Own(Verb):
        first: str = argument("A", "A file.", reads=True)
        second: list[str] | None = option("--second NAME=FILE", "A file.", reads=True)
        output: str | None = option("--output FILE", "A file.")

    Own(first="-", second=["x=y"], output="-").check()
    with pytest.raises(UsageError, match="standard input can be read only once"):
        Own(first="-", second=["x=-"]).check()


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


def test_chosen_measures_are_unique_and_default_to_those_of_the_package() -> None:
    assert chosen(["AP,map", "AP"]) == [parse("AP")]
    assert chosen(None) == list(DEFAULT)
    with pytest.raises(UsageError, match="names no measure"):
        chosen([" , "])


def test_no_option_takes_the_place_of_another_one() -> None:
    """A field of a verb with the name of an inherited one would replace that option without a word."""
    for verb in EVERY_VERB:
        labels: dict[str, set[str]] = {}
        for kind in find(verb).__mro__:
            for parameter in declared(kind) if issubclass(kind, Verb) and kind is not Verb else ():
                if parameter.spellings:
                    labels.setdefault(parameter.name, set()).add(parameter.spellings[0])
        assert {name: spelled for name, spelled in labels.items() if len(spelled) > 1} == {}, verb


@pytest.mark.parametrize("seed", ["-1", str(2**64)])
def test_a_seed_that_no_generator_takes_is_refused(seed: str) -> None:
    words = ["q", "a.run", "b.run", "--seed", seed]
    command = parsed(find("interleave simulate"), "cranfield interleave simulate", words)
    assert command is not None
    with pytest.raises(UsageError, match=f"--seed == {seed}, must be a whole number, 0 or more and below"):
        command.check()


def test_a_second_value_of_an_option_with_one_value_is_an_error_and_not_the_last_word() -> None:
    with pytest.raises(UsageError, match="--depth: is given twice, as 5 and 10; give one of them"):
        parsed(find("eval"), "cranfield eval", ["q", "r", "--depth", "5", "--depth=10"])
    again = parsed(find("eval"), "cranfield eval", ["q", "r", "--depth", "5", "--depth=5"])
    assert again is not None
    assert again.values("depth") == {"depth": 5}
