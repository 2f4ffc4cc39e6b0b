"""A word of the command line has one meaning in every verb: an option takes one kind of value, a letter is one."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from pathlib import Path

from cranfield.cli import every_verb, find
from cranfield.cli.declare import Parameter, declared

NAMED = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
KINDS = {
    "--by": "a breakdown of the result: by classes of topics in a file, by a column of a log, or by what labels have",
    "--columns": "names of columns; those of a log also name tables, as in events.time=when",
    "--dimension": "a dimension of relevance: its name, or its name with a file of its judgments",
    "--explain": "what is shown in detail: a topic, or a session where scores are by session",
    "--margin": "the difference that does not matter; a gate has one for each measure",
    "--patience": "how far somebody goes on without success: documents to judge, or characters to read",
    "--run": "a run: a file, or the name of a run that is read",
    "--runs": "runs: files, or patterns of files",
    "--scale": "the grades, lowest first: in a list or in a file",
    "--show": "what is printed: one table, columns of a table, or several tables",
    "--sort": "what rows are sorted by: a measure, a column, or an order with a name",
    "--tolerance": "when steps stop",
    "--weighting": "how things are weighed that do not count the same",
    "--write": "a result that other verbs read: a file, or a folder of several files",
}
"""Options whose value is called differently in some verbs, with the single meaning."""


def options() -> list[tuple[str, Parameter]]:
    return [(verb, each) for verb in every_verb() for each in declared(find(verb)) if each.spellings]


def kind(parameter: Parameter) -> str:
    """What the value is called; a list of values is called as one of them."""
    return "a flag" if parameter.kind == "bool" else parameter.metavar.partition(",")[0]


def test_an_option_takes_one_kind_of_value() -> None:
    kinds: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for verb, parameter in options():
        for spelling in parameter.spellings:
            kinds[spelling][kind(parameter)].append(verb)
    differ = {spelling: dict(found) for spelling, found in kinds.items() if len(found) > 1}
    assert {spelling: found for spelling, found in differ.items() if spelling not in KINDS} == {}
    assert KINDS.keys() - differ.keys() == set()


def test_an_option_that_takes_a_value_never_is_a_flag_elsewhere() -> None:
    flags = {spelling for _, each in options() if each.kind == "bool" for spelling in each.spellings}
    valued = {spelling for _, each in options() if each.kind != "bool" for spelling in each.spellings}
    assert flags & valued == set()


def test_a_letter_is_one_option() -> None:
    long: dict[str, set[str]] = defaultdict(set)
    for _, parameter in options():
        for spelling in parameter.spellings:
            if not spelling.startswith("--"):
                long[spelling].add(parameter.label)
    assert {letter: names for letter, names in long.items() if len(names) > 1} == {}


def test_an_option_has_its_letter_in_every_verb() -> None:
    forms: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for _, parameter in options():
        forms[parameter.label].add(parameter.spellings)
    differ = {label for label, found in forms.items() if len(found) > 1}
    assert differ == set()


def test_the_words_of_the_vocabulary() -> None:
    """--level, --measure, --assessor, --size and --unit have no second word."""
    labels = {parameter.label for _, parameter in options()}
    replaced = {"--confidence", "--interval", "--measures", "--worker", "--workers", "--sizes", "--number", "--user-id"}
    assert labels & replaced == set()
    for verb, parameter in options():
        if parameter.label == "--topics":
            assert (parameter.metavar, parameter.reads) == ("FILE", True), verb
        if parameter.label == "--per-topic":
            assert parameter.kind == "bool", verb
        if parameter.label == "--level":
            assert (parameter.kind, parameter.metavar) == ("float", "L"), verb


def test_one_thing_has_one_name() -> None:
    """Options that are explained by the same sentence have the same name."""
    labels: dict[str, set[str]] = defaultdict(set)
    for _, parameter in options():
        labels[parameter.help].add(parameter.label)
    labels.pop("{names}.")
    assert {sentence: names for sentence, names in labels.items() if len(names) > 1} == {}


OF_OTHERS = {
    "--by", "--format", "--history", "--per-topic", "--plot", "--rel", "--role", "--save", "--scores", "--shares",
    "--systems", "--topic",
}  # fmt: skip
"""Options that a verb names because another verb, or another program, has them."""


def test_a_verb_names_the_options_that_it_has() -> None:
    """A renamed option leaves no old name in help or in messages."""
    unknown = []
    for verb in every_verb():
        declared_here = {spelling for each in declared(find(verb)) for spelling in each.spellings}
        lines = Path(inspect.getsourcefile(find(verb)) or "").read_text("utf-8").splitlines()
        words = {word for line in lines if not line.startswith("cranfield ") for word in NAMED.findall(line)}
        unknown += [f"{verb}: {word}" for word in sorted(words - declared_here - {"--help", "--help-all"} - OF_OTHERS)]
    assert unknown == []
