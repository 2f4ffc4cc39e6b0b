"""The command line of NTCIREVAL: the same options, the same lines on standard output.

The output is that of version 190111. Lists are in the order of the file; scores in it are ignored. `eval` scores whole
files, in any format that cranfield reads. The commands and the differences are in
docs/coming_from/trec_eval.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import IO, NamedTuple

from cranfield import __version__
from cranfield.collection.doors import load_lines
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.source import Buffer
from cranfield.compat.ntcireval_files import (
    fields,
    gain_of,
    is_separated,
    level_of,
    levels_of_classes,
    read_classes,
    read_judged,
    separated_judgments,
    separated_run,
    text_lines,
    too_few,
)
from cranfield.compat.ntcireval_scores import Curves, Parameters, Ranked, scores
from cranfield.compat.output import run_program
from cranfield.errors import DataError, UsageError
from cranfield.text import counted

FORMS = {
    "label": "label -r REL [-j] [-ec] [-truncate RANK] [-sep CHARS] [LIST]",
    "compute": "compute -r REL -g GAIN1:... [-s STOP1:...] [scoring] [-j] [-ec] [-out TEXT] [-sep CHARS] [LABELLED]",
    "glabel": "glabel -I IDEAL [-j] [-truncate RANK] [-sep CHARS] [LIST]",
    "dinlabel": "dinlabel -din DIN [-j] [-truncate RANK] [-sep CHARS] [LIST]",
    "gcompute": "gcompute -I IDEAL [scoring] [-j] [-out TEXT] [-sep CHARS] [LABELLED]",
    "1click": "1click -N NUGGETS -L LENGTH [-beta B] [-out TEXT] [-sep CHARS] [MATCHED]",
    "irec": "irec [-cutoffs K,...] [-out TEXT] [-sep CHARS] LIST REL...",
    "eval": "eval -g GAIN1:GAIN2... [-s STOP1:...] [scoring] [-j] [-truncate RANK] [-sep CHARS] QRELS RUN",
}
USAGE = "usage: ntcireval COMMAND ...; see ntcireval -h"
HELP = f"""usage: ntcireval COMMAND ...

{chr(10).join(f"  {form}" for form in FORMS.values())}

  -j             leave out documents that are not judged; also print bpref and its variants
  -ec            REL has a third column, the equivalence class; only the first document of a class counts
  -g 1:2:3       gains of the levels L1, L2, L3          -s 1:2:3       stop values for NCUgu (as -g)
  -truncate 100  evaluate this many documents            -sep ;         column separators (default: blank)
  -out 0001      begin every line with this
  scoring: -cutoffs 10,20 (1000)   -beta 1 (Q-measure)   -gamma 0.95 (NCUrb)   -logb 2 (nDCG; 0: natural)
           -rbp 0.95 (RBP)   -rbup 0.99 (also iRBU)   -gap (also GAP)

eval is only in cranfield: all topics of whole files at once, in any format that cranfield reads.
Prints the output of NTCIREVAL 190111 (cranfield {__version__}), but not the traces of -v.
"""

SCORING = "[-cutoffs K] [-beta B] [-gamma G] [-logb B] [-rbp P] [-gap]"


def _options(command: str) -> tuple[list[str], list[str], list[str]]:
    """The options of a command, from its form: those with a value, those without, and those that are required.

    >>> _options("glabel")
    (['-I', '-truncate', '-sep'], ['-j'], ['-I'])
    """
    form = FORMS[command].replace("[scoring]", SCORING if command == "gcompute" else f"{SCORING} [-rbup P]")
    return re.findall(r"(-\w+) [A-Z]", form), re.findall(r"\[(-\w+)\]", form), re.findall(r" (-\w+)", form)


MOST_LEVELS = 15


@dataclass
class Call:
    """The command, options and files of the command line."""

    command: str
    values: dict[str, str] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)

    @property
    def out(self) -> str:
        return self.values.get("-out", "")

    @property
    def separator(self) -> str:
        return self.values.get("-sep", " ")

    @property
    def condensed(self) -> bool:
        return "-j" in self.flags

    @property
    def depth(self) -> int | None:
        return _whole("-truncate", self.values["-truncate"]) if "-truncate" in self.values else None

    @property
    def cutoffs(self) -> tuple[int, ...]:
        return tuple(_whole("-cutoffs", text) for text in self.values.get("-cutoffs", "1000").split(","))

    def number(self, name: str, default: float, high: float | None = None) -> float:
        text = self.values.get(name)
        if text is None:
            return default
        value = _number(name, text)
        if not 0 <= value <= (value if high is None else high):
            raise UsageError(f"{name} {text}: must be {'0 or more' if high is None else f'between 0 and {high:g}'}")
        return value

    def ladder(self, name: str) -> list[float]:
        """A value for each level, from L1 on."""
        steps = [_number(name, text) for text in self.values[name].split(":")]
        if len(steps) > MOST_LEVELS:
            raise UsageError(f"{name} {self.values[name]}: {len(steps)} levels, must be {MOST_LEVELS} at most")
        if steps != sorted(steps) or steps[0] < 0:
            raise UsageError(f"{name} {self.values[name]}: must not be negative, nor lower for a higher level")
        return steps

    @property
    def parameters(self) -> Parameters:
        return Parameters(
            cutoffs=self.cutoffs,
            beta=self.number("-beta", 1.0),
            gamma=self.number("-gamma", 0.95, 1),
            log_base=self.number("-logb", 2.0),
            persistence=self.number("-rbp", 0.95, 1),
            irbu_persistence=self.number("-rbup", 0.0, 1) or None,
            gap="-gap" in self.flags,
            condensed=self.condensed,
        )

    def the_list(self) -> str:
        if len(self.files) > 1:
            raise UsageError(f"{self.command}: {len(self.files)} lists, must be 1: {FORMS[self.command]}")
        return self.files[0] if self.files else "-"


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{name} {text}: must be a number") from None


def _whole(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{name} {text}: must be 1 or more")
    return int(text)


def main(argv: Sequence[str], stdout: IO[str] | None = None, stderr: IO[str] | None = None) -> int:
    """Run NTCIREVAL with these arguments (without the name of the program) and return the exit code."""

    def output() -> str:
        if not argv:
            raise UsageError(f"no command given\n{USAGE}")
        if "-h" in argv or argv[0] in ("--help", "-help"):
            return HELP
        call = read_call(argv)
        lines = evaluated(call, stderr or sys.stderr) if call.command == "eval" else COMMANDS[call.command](call)
        return "".join(f"{line}\n" for line in lines)

    return run_program("ntcireval", output, stdout, stderr)


def read_call(words: Sequence[str]) -> Call:
    command = words[0]
    if command not in FORMS:
        raise UsageError(f"no command {command!r}, must be one of {', '.join(FORMS)}\n{USAGE}")
    call = Call(command)
    takes, flags, required = _options(command)
    rest = iter(words[1:])
    for word in rest:
        if word in takes:
            value = next(rest, None)
            if value is None:
                raise UsageError(f"{command}: {word} needs a value")
            call.values[word] = value
        elif word in flags:
            call.flags.add(word)
        elif word == "-v":
            raise UsageError(f"{command}: -v, which traces the computation, is not supported; leave it out")
        elif word.startswith("-") and word != "-":
            raise UsageError(f"{command}: no option {word}: {FORMS[command]}")
        else:
            call.files.append(word)
    for name in required:
        if name not in call.values:
            raise UsageError(f"{command}: {name} is missing: {FORMS[command]}")
    return call


# -- reading


def _read_gains(call: Call) -> dict[str, float]:
    path = call.values["-I"]
    return read_judged(path, call.separator, "doc gain", partial(gain_of, path))


# -- labelling


def _documents(call: Call) -> list[str]:
    documents = [doc for _, doc in text_lines(call.the_list())]
    return documents[: call.depth]


def labelled(call: Call, labels: Mapping[str, str]) -> Iterator[str]:
    """The list with the labels of its documents."""
    for doc in _documents(call):
        if doc in labels:
            yield f"{doc}{call.separator}{labels[doc]}"
        elif not call.condensed:
            yield doc


def label(call: Call) -> Iterator[str]:
    if "-ec" in call.flags:
        return _labelled_once(call)
    return labelled(call, read_judged(call.values["-r"], call.separator, "doc level", lambda _, level: level))


def _labelled_once(call: Call) -> Iterator[str]:
    """The list with levels and classes; a document of a class that came before has none, with `-j` too."""
    judged = read_classes(call.values["-r"], call.separator)
    seen: set[int] = set()
    for doc in _documents(call):
        if doc not in judged:
            if not call.condensed:
                yield doc
        elif int(judged[doc].number) in seen:
            yield doc
        else:
            seen.add(int(judged[doc].number))
            yield call.separator.join((doc, *judged[doc]))


def glabel(call: Call) -> Iterator[str]:
    return labelled(call, {doc: f"{gain:.4f}" for doc, gain in _read_gains(call).items()})


def dinlabel(call: Call) -> Iterator[str]:
    """Gains summed over intents; only the first document on a navigational intent gains from it."""
    path = call.values["-din"]
    expected = "intent inf/nav doc gain"

    def read(data: Buffer) -> dict[str, list[tuple[str, bool, float]]]:
        entries: dict[str, list[tuple[str, bool, float]]] = {}
        for number, cells in fields(path, call.separator, data):
            if len(cells) < 4:
                raise too_few(path, number, cells, 4, expected)
            if cells[1] not in ("inf", "nav"):
                raise DataError(path, number, f"the type is {cells[1]!r}, must be inf or nav")
            gain = gain_of(path, number, cells[3])
            entries.setdefault(cells[2], []).append((cells[0], cells[1] == "nav", gain))
        return entries

    entries = read(load_lines(path, expected, read))
    served: set[str] = set()
    for doc in _documents(call):
        if doc in entries:
            total = 0.0
            for intent, navigational, gain in entries[doc]:
                total += 0.0 if navigational and intent in served else gain
                served.add(intent)
            yield f"{doc}{call.separator}{total:.4f}"
        elif not call.condensed:
            yield doc


# -- scoring


def _line(out: str, name: str, value: float) -> str:
    return f"{out} {name + '=':<21}{value:.4f}"


def _printed(out: str, ranked: Ranked, parameters: Parameters) -> list[str]:
    curves = Curves(ranked, parameters)
    return [
        f"{out} # syslen={curves.length} jrel={curves.rel} jnonrel={ranked.nonrelevant}",
        f"{out} # r1={curves.first} rp={curves.preferred}",
        *(_line(out, name, value) for name, value in scores(ranked, parameters, curves)),
    ]


def _check_judged(path: str, gains: Collection[float], condensed: bool) -> None:
    if not any(gains):
        raise DataError(path, None, "no document is relevant, so nothing can be computed")
    if condensed and 0 not in gains:
        raise DataError(path, None, "no document is judged nonrelevant, which -j needs for bpref")


def _by_levels(listed: Iterable[int | None], judged: Iterable[int], call: Call) -> Ranked:
    """A list beside the ideal one, from the levels of its documents (None: not judged) and of all judged documents."""
    gains = [0.0, *call.ladder("-g")]
    stops = [0.0, *call.ladder("-s")] if "-s" in call.values else gains
    if len(stops) != len(gains):
        raise UsageError(f"-s {call.values['-s']}: {len(stops) - 1} levels, -g has {len(gains) - 1}")
    levels = [level or 0 for level in listed]
    best = sorted((level for level in judged if level), reverse=True)
    return Ranked(
        gains=[gains[level] for level in levels],
        relevant=[level > 0 for level in levels],
        ideal=[gains[level] for level in best],
        weights=list(map(float, levels)),
        ideal_weights=list(map(float, best)),
        highest=gains[-1],
        nonrelevant=sum(not level for level in judged),
        stops=[stops[level] for level in levels],
        all_stops=sum(best.count(level) * stop for level, stop in enumerate(stops)),
    )


def compute(call: Call) -> list[str]:
    path, levels = call.values["-r"], len(call.ladder("-g"))
    read_level = partial(level_of, levels)
    if "-ec" in call.flags:
        judged: Collection[int] = levels_of_classes(read_classes(path, call.separator), partial(read_level, path, 0))
    else:
        judged = read_judged(path, call.separator, "doc level", partial(read_level, path)).values()
    _check_judged(path, judged, call.condensed)
    where = call.the_list()
    listed = [
        read_level(where, number, cells[1]) if len(cells) > 1 else None
        for number, cells in fields(where, call.separator)
    ]
    return _printed(call.out, _by_levels(listed, judged, call), call.parameters)


def gcompute(call: Call) -> list[str]:
    judged = list(_read_gains(call).values())
    _check_judged(call.values["-I"], judged, call.condensed)
    where = call.the_list()
    gains = [
        gain_of(where, number, cells[1]) if len(cells) > 1 else 0.0
        for number, cells in fields(where, call.separator)
        if len(cells) > 1 or not call.condensed
    ]
    ideal = judged[: sum(gain > 0 for gain in judged)]
    ranked = Ranked(
        gains, [gain > 0 for gain in gains], ideal, gains, ideal, highest=max(judged), nonrelevant=judged.count(0.0)
    )
    return _printed(call.out, ranked, call.parameters)


def irec(call: Call) -> Iterator[str]:
    """The share of intents with a relevant document above each cutoff, and above rank n, the number of intents."""
    if len(call.files) < 2:
        raise UsageError(f"irec: {counted(len(call.files), 'file')}, must be 2 or more: {FORMS['irec']}")
    documents = [doc for _, doc in text_lines(call.files[0])]
    intents = [{cells[0] for _, cells in fields(path, call.separator)} for path in call.files[1:]]
    yield f"{call.out} #intent_num={len(intents)}"
    depths = [(f"I-rec@{cutoff:04d}", cutoff) for cutoff in call.cutoffs] + [("I-rec@n", len(intents))]
    # By rank, but those beyond the list come in the order of the options.
    for name, depth in sorted(depths, key=lambda entry: min(entry[1], len(documents) + 1)):
        served = sum(any(doc in intent for doc in documents[:depth]) for intent in intents)
        yield _line(call.out, name, served / len(intents))


def evaluated(call: Call, err: IO[str]) -> list[str]:
    """`label` and `compute` for every judged topic, which begins each line; a missing topic is an empty list."""
    if len(call.files) != 2:
        raise UsageError(f"eval: {counted(len(call.files), 'file')}, must be 2: {FORMS['eval']}")
    path, run_path = call.files
    sep = call.values.get("-sep", "")
    qrels = Qrels.of(separated_judgments(path, sep) if sep and is_separated(path, sep) else path)
    run = Run.of(separated_run(run_path, sep) if sep and is_separated(run_path, sep) else run_path)
    if qrels.has_intents:
        message = (
            "is judged by intent, which eval does not support; use glabel and gcompute, or D#-nDCG in cranfield eval"
        )
        raise DataError(call.files[0], None, message)
    levels = len(call.ladder("-g"))
    lines: list[str] = []
    for topic in qrels.topics:
        judged = {doc: _whole_level(call.files[0], topic, grade, levels) for doc, grade in qrels.grades(topic).items()}
        try:
            _check_judged(f"topic {topic}", judged.values(), call.condensed)
        except DataError as error:
            print(f"ntcireval: {error}", file=err)
            continue
        documents = [place.doc for place in run.ranking(topic, "file")] if topic in run else []
        listed = [judged.get(doc) for doc in documents[: call.depth] if not call.condensed or doc in judged]
        lines += _printed(topic, _by_levels(listed, judged.values(), call), call.parameters)
    return lines


def _whole_level(path: str, topic: str, grade: float, levels: int) -> int:
    if grade != int(grade) or not 0 <= grade <= levels:
        raise DataError(path, None, f"topic {topic!r} has the grade {grade:g}, but -g gives gains for 1 to {levels}")
    return int(grade)


class Nugget(NamedTuple):
    """The weight of a nugget, and the length of its vital string."""

    weight: float
    length: float


def one_click(call: Call) -> Iterator[str]:
    """Recall, S-measure, T-measure and F of one output; the first line of its file is `syslen= LENGTH`."""
    limit, beta = call.number("-L", 0.0), call.number("-beta", 1.0)
    if limit < 1:
        raise UsageError(f"-L {call.values['-L']}: must be 1 or more")
    nuggets = _read_nuggets(call.values["-N"], call.separator)
    length, matched = _read_matches(call.the_list(), call.separator, nuggets)
    ideal = end = 0.0
    for nugget in sorted(nuggets.values(), key=lambda nugget: (-nugget.weight, nugget.length)):
        end += nugget.length
        ideal += nugget.weight * max(0.0, limit - end)
    if not ideal:
        raise UsageError(f"-L {call.values['-L']}: no nugget fits into so few characters, so S-measure is undefined")
    gained = sum(nuggets[name].weight * max(0.0, limit - offset) for name, offset in matched)
    vital = sum(nuggets[name].length for name, _ in matched)
    s, t = gained / ideal, vital / length if length else 0.0
    s_flat, t_flat = min(1.0, s), min(1.0, t)
    below = beta * beta * t_flat + s_flat
    weight = sum(nugget.weight for nugget in nuggets.values())
    yield f"{call.out} #nuggets= {len(nuggets)} #matched= {len(matched)} #syslen= {length:.0f}"
    for name, value in {
        "Recall": len(matched) / len(nuggets),
        "W-recall": sum(nuggets[name].weight for name, _ in matched) / weight,
        "S-measure": s,
        "S-flat": s_flat,
        "T-measure": t,
        "T-flat": t_flat,
        "F-flat": (1 + beta * beta) * t_flat * s_flat / below if below else 0.0,
    }.items():
        yield f"{call.out} {name + '=':<21}{value:.3f}"


def _read_nuggets(path: str, separator: str) -> dict[str, Nugget]:
    nuggets: dict[str, Nugget] = {}
    for number, cells in fields(path, separator):
        if len(cells) < 3:
            raise too_few(path, number, cells, 3, "nugget weight length")
        nugget = Nugget(gain_of(path, number, cells[1], "weight"), gain_of(path, number, cells[2], "length"))
        if not (nugget.weight and nugget.length):
            raise DataError(path, number, "a weight or a length is 0, must be above 0")
        if cells[0] in nuggets:
            raise DataError(path, number, f"nugget {cells[0]!r} appears twice")
        nuggets[cells[0]] = nugget
    if not nuggets:
        raise DataError(path, None, "is empty, expected lines of nugget weight length")
    return nuggets


def _read_matches(path: str, separator: str, nuggets: dict[str, Nugget]) -> tuple[float, list[tuple[str, float]]]:
    """The length of the output, and the nuggets in it with their offsets; an empty file is an empty output."""
    length, matched = 0.0, []
    for place, (number, cells) in enumerate(fields(path, separator)):
        if len(cells) < 2:
            raise too_few(path, number, cells, 2, "nugget offset, after a line syslen= LENGTH")
        value = gain_of(path, number, cells[1], "offset" if place else "length")
        if place == 0:
            length = value
        elif cells[0] in nuggets:
            matched.append((cells[0], value))
        else:
            raise DataError(path, number, f"nugget {cells[0]!r} is not in the file of nuggets")
    return length, matched


COMMANDS: dict[str, Callable[[Call], Iterable[str]]] = {
    "1click": one_click,
    **{command.__name__: command for command in (label, compute, glabel, dinlabel, gcompute, irec)},
}
