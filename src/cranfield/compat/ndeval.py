"""The command line of ndeval: the same options, the same CSV on standard output, byte for byte.

`main(["-c", "qrels", "run"])` prints the output of `ndeval -c qrels run`, version 4.5 (2013) on x86-64. Sums are
computed term by term in the order of ndeval, since the sixth decimal can depend on the last bit; otherwise the values
are those of `cranfield.measures`.

docs/coming_from/trec_eval.md lists the differences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import IO

import numpy as np

from cranfield import __version__
from cranfield.collection.doors import load_lines
from cranfield.collection.source import Buffer, unmarked
from cranfield.compat.output import run_program
from cranfield.errors import DataError, UsageError
from cranfield.text import counted

USAGE = "usage: ndeval [options] qrels run"
HELP = f"""{USAGE}

  -alpha a          how much less a second document on an intent is worth (0.5): alpha-DCG, NRBP, ERR-IA
  -beta b           patience (0.5): NRBP
  -traditional      order documents by score, then by name; without it, by the rank column
  -baseline run     print gains and losses against this run
  -riskAlpha a      losses count 1 + a times (0)
  -c                average over all judged topics, and also print topics that only the baseline has
  -M depth          evaluate this many documents of a topic
  -version, -help

Prints the output of ndeval 4.5 (cranfield {__version__}).
"""
VERSION = "ndeval: version 4.5, reimplemented by cranfield"

CUTOFFS = (5, 10, 20)
DEPTH = CUTOFFS[-1]
AT_CUTOFFS = ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG")
COLUMNS = (
    *(f"{name}@{k}" for name in AT_CUTOFFS for k in CUTOFFS),
    *("NRBP", "nNRBP", "MAP-IA"),
    *(f"{name}@{k}" for name in ("P-IA", "strec") for k in CUTOFFS),
)
NOTHING = (0.0,) * len(COLUMNS)
NAN = math.copysign(math.nan, -1.0)
"""The value of 0/0 on x86-64."""


LIMITS = {
    "-alpha": ("between 0 and 1", 0, 1),
    "-beta": ("between 0 and 1", 0, 1),
    "-M": ("1 or more", 1, math.inf),
    "-riskAlpha": ("0 or more", 0, math.inf),
}
"""The values that numeric options allow, as messages call them, and the lowest and the highest."""


@dataclass
class Options:
    """The options and files of the command line."""

    files: tuple[str, str] = ("", "")
    alpha: float = 0.5
    beta: float = 0.5
    traditional: bool = False
    depth: int | None = None
    complete: bool = False
    baseline: str | None = None
    risk: float = 0.0
    risk_text: str = "0"
    """The text of the option: it becomes part of the name of the run."""


def main(argv: Sequence[str], stdout: IO[str] | None = None, stderr: IO[str] | None = None) -> int:
    """Run ndeval with these arguments (without the name of the program) and return the exit code.

    >>> main(["-version"])
    ndeval: version 4.5, reimplemented by cranfield
    0
    """

    def output() -> str:
        words = list(argv)
        if len(words) != 2 and words[:1] and words[0] in ("-help", "--help", "-h"):
            return HELP
        if len(words) != 2 and words[:1] == ["-version"]:
            return f"{VERSION}\n"
        return evaluated(read_options(words))

    return run_program("ndeval", output, stdout, stderr)


def read_options(words: list[str]) -> Options:
    """Parse the command line: the last two words are files, options come before them."""
    options = Options()
    rest = list(words)
    while len(rest) != 2:
        word = rest.pop(0) if rest else ""
        if word == "-traditional":
            options.traditional = True
        elif word in (*LIMITS, "-baseline") and len(rest) >= 3:
            _set(options, word, rest.pop(0))
        elif len(word) > 1 and word[0] == "-" and set(word[1:]) <= set("ca") and len(rest) >= 2:
            options.complete |= "c" in word
        elif len(rest) < 2:
            files = sum(word[:1] != "-" for word in words)
            raise UsageError(f"{counted(files, 'file')}, must be 2: qrels run\n{USAGE}")
        else:
            raise UsageError(f"no option {word}\n{USAGE}")
    options.files = (rest[0], rest[1])
    return options


def _set(options: Options, name: str, text: str) -> None:
    if name == "-baseline":
        options.baseline = text
        return
    try:
        value = int(text) if name == "-M" else float(text)
    except ValueError:
        value = math.nan
    expected, low, high = LIMITS[name]
    if not low <= value <= high:
        raise UsageError(f"{name} {text}: must be {'a number, ' if math.isnan(value) else ''}{expected}")
    if name == "-M":
        options.depth = int(value)
    elif name == "-riskAlpha":
        options.risk, options.risk_text = value, text
    else:
        setattr(options, name[1:], value)


# -- reading


def _lines(data: Buffer) -> Iterator[tuple[int, list[bytes]]]:
    text = unmarked(bytes(data))
    for number, line in enumerate(text.split(b"\n"), 1):
        cells = line.split()
        if cells and not cells[0].startswith(b"#"):
            yield number, cells


def _shown(cell: bytes) -> str:
    return repr(cell.decode("utf-8", "replace"))


def _whole(path: str, line: int, noun: str, cell: bytes, digits: bytes | None = None) -> int:
    """The whole number in a cell. A grade may be below 0, like -2 for junk pages in TREC's Web tracks."""
    text = cell if digits is None else digits
    if not (text.removeprefix(b"-") if noun == "grade" else text).isdigit():
        expected = "" if noun == "grade" else ", such as 51 or wt09-51" if digits is not None else ", 0 or more"
        raise DataError(path, line, f"the {noun} is {_shown(cell)}, expected a whole number{expected}")
    return int(text)


@dataclass(frozen=True)
class Topic:
    """The judgments of a topic: the intents of each relevant document, ascending."""

    relevant: dict[bytes, tuple[int, ...]]

    @cached_property
    def documents_of(self) -> dict[int, int]:
        """The number of relevant documents of each intent that has any."""
        return dict(sorted(Counter(intent for intents in self.relevant.values() for intent in intents).items()))


def read_qrels(path: str) -> dict[int, Topic]:
    """Judgments by topic; any grade above 0 counts as 1."""
    read = partial(_parsed_qrels, path)
    return read(load_lines(path, "topic intent doc grade", read))


def _parsed_qrels(path: str, data: Buffer) -> dict[int, Topic]:
    grades: dict[int, dict[tuple[bytes, int], bool]] = {}
    for line, cells in _lines(data):
        if len(cells) < 4:
            raise DataError(path, line, f"{counted(len(cells), 'column')}, expected 4: topic intent doc grade")
        topic, intent = _whole(path, line, "topic", cells[0]), _whole(path, line, "intent", cells[1])
        row = grades.setdefault(topic, {})
        if (cells[2], intent) in row:
            message = f"document {_shown(cells[2])} appears twice for intent {intent} of topic {topic}"
            raise DataError(path, line, message)
        row[cells[2], intent] = _whole(path, line, "grade", cells[3]) > 0
    if not grades:
        raise DataError(path, None, "is empty, expected lines of topic intent doc grade")
    topics = {}
    for topic, row in sorted(grades.items()):
        relevant: dict[bytes, tuple[int, ...]] = {}
        for doc, intent in sorted(pair for pair, is_relevant in row.items() if is_relevant):
            relevant[doc] = (*relevant.get(doc, ()), intent)
        topics[topic] = Topic(relevant)
    return topics


@dataclass(frozen=True)
class Ranking:
    """A run: its name, and the ranked documents of each topic."""

    name: str
    lists: dict[int, list[bytes]]


def read_run(path: str, options: Options) -> Ranking:
    """Documents by rank or, with -traditional, by score and then by name, both descending."""
    read = partial(_parsed_run, path, options)
    return read(load_lines(path, "topic Q0 doc rank score tag", read))


def _parsed_run(path: str, options: Options, data: Buffer) -> Ranking:
    entries: dict[int, dict[bytes, tuple[int, float]]] = {}
    ranks: set[tuple[int, int]] = set()
    name = ""
    for line, cells in _lines(data):
        if len(cells) < 6:
            raise DataError(path, line, f"{counted(len(cells), 'column')}, expected 6: topic Q0 doc rank score tag")
        # A topic may begin with the name of the task, as in wt09-51.
        digits = cells[0] if cells[0][:1].isdigit() else cells[0].partition(b"-")[2]
        topic, rank = _whole(path, line, "topic", cells[0], digits), _whole(path, line, "rank", cells[3])
        try:
            score = float(cells[4])
        except ValueError:
            score = math.nan
        if math.isnan(score):
            raise DataError(path, line, f"the score is {_shown(cells[4])}, expected a number")
        documents = entries.setdefault(topic, {})
        if cells[2] in documents:
            raise DataError(path, line, f"document {_shown(cells[2])} appears twice for topic {topic}")
        if not options.traditional and (topic, rank) in ranks:
            raise DataError(path, line, f"rank {rank} appears twice for topic {topic}; -traditional orders by score")
        ranks.add((topic, rank))
        documents[cells[2]] = (rank, score)
        name = name or cells[5].decode("utf-8", "surrogateescape")
    if not entries:
        raise DataError(path, None, "is empty, expected lines of topic Q0 doc rank score tag")
    lists = {}
    for topic, documents in sorted(entries.items()):
        if options.traditional:
            order = sorted(((score, doc) for doc, (_, score) in documents.items()), reverse=True)
        else:
            order = sorted((rank, doc) for doc, (rank, _) in documents.items())
        lists[topic] = [doc for _, doc in order[: options.depth]]
    return Ranking(name, lists)


# -- measuring


Hits = list[tuple[int, tuple[int, ...]]]
"""(place from 0, intents) of every relevant document of a list."""


def _divided(a: float, b: float) -> float:
    return a / b if b else NAN


@dataclass(frozen=True)
class Cascade:
    """Gains if each further document on an intent is worth 1 - alpha times the previous one."""

    alpha: float
    beta: float
    intents: int
    """The number of intents with relevant documents."""

    def gains(self, hits: Hits) -> list[tuple[int, float]]:
        worth: dict[int, float] = {}
        out = []
        for place, intents in hits:
            total = 0.0
            for intent in intents:
                total += worth.get(intent, 1.0)
                worth[intent] = worth.get(intent, 1.0) * (1.0 - self.alpha)
            out.append((place, total))
        return out

    def nrbp(self, gains: list[tuple[int, float]]) -> float:
        total, decay, at = 0.0, 1.0, 0
        for place, gain in gains:
            for _ in range(place - at):  # step by step: a power can differ in the last bit
                decay *= self.beta
            at = place
            total += gain * decay
        return total * ((1 - (1 - self.alpha) * self.beta) / self.intents)

    def cumulated(self, gains: list[tuple[int, float]], discounted: Callable[[float, int], float]) -> list[float]:
        """Down to each rank, divided by the value if every document were relevant to every intent."""
        at = dict(gains)
        total, best, share = 0.0, 0.0, float(self.intents)
        out = []
        for place in range(DEPTH):
            total += discounted(at.get(place, 0.0), place)
            best += discounted(share, place)
            share *= 1.0 - self.alpha
            out.append(total / best)
        return out


def _by_rank(gain: float, place: int) -> float:
    return gain / (place + 1)


def _by_log(gain: float, place: int) -> float:
    return gain * (math.log(2.0) / math.log(place + 2.0) if place else 1.0)


def ideal_order(topic: Topic, alpha: float) -> Hits:
    """The relevant documents, at each rank the one that adds most; the last by name if several do."""
    groups: dict[tuple[int, ...], list[bytes]] = {}
    for doc in sorted(topic.relevant):
        groups.setdefault(topic.relevant[doc], []).append(doc)
    patterns = list(groups)
    number = {intent: place for place, intent in enumerate(topic.documents_of)}
    holds = np.zeros((len(patterns), len(number)))
    for row, pattern in enumerate(patterns):
        holds[row, [number[intent] for intent in pattern]] = 1.0
    worth = np.ones(len(number))
    spent = np.zeros(len(patterns), dtype=bool)
    order: Hits = []
    while len(order) < len(topic.relevant):
        # Add from left to right, like a loop: another order may break or make ties.
        gain = np.cumsum(holds * worth, axis=1)[:, -1]
        gain[spent] = -1.0
        best = max(np.flatnonzero(gain == gain.max()).tolist(), key=lambda row: groups[patterns[row]][-1])
        groups[patterns[best]].pop()
        spent[best] = not groups[patterns[best]]
        order.append((len(order), patterns[best]))
        worth[holds[best] > 0] *= 1.0 - alpha
    return order


def values(topic: Topic, documents: list[bytes], options: Options) -> tuple[float, ...]:
    """The values of COLUMNS for one list."""
    intents = len(topic.documents_of)
    if not intents:
        return tuple(NAN if name == "nNRBP" else 0.0 for name in COLUMNS)
    hits = [(place, topic.relevant[doc]) for place, doc in enumerate(documents) if doc in topic.relevant]
    cascade = Cascade(options.alpha, options.beta, intents)
    gains, best = cascade.gains(hits), cascade.gains(ideal_order(topic, options.alpha))
    dcg, ideal_dcg = cascade.cumulated(gains, _by_log), cascade.cumulated(best, _by_log)
    err, ideal_err = cascade.cumulated(gains, _by_rank), cascade.cumulated(best, _by_rank)
    nrbp = cascade.nrbp(gains)
    places = [k - 1 for k in CUTOFFS]
    above = {k: [intents for place, intents in hits if place < k] for k in CUTOFFS}
    return (
        *(err[p] for p in places),
        *(err[p] / ideal_err[p] if dcg[p] else 0.0 for p in places),
        *(dcg[p] for p in places),
        *(dcg[p] / ideal_dcg[p] if dcg[p] else 0.0 for p in places),
        *(nrbp, _divided(nrbp, cascade.nrbp(best)), _map(topic, hits)),
        *(sum(map(len, above[k])) / (k * intents) for k in CUTOFFS),
        *(len({intent for each in above[k] for intent in each}) / intents for k in CUTOFFS),
    )


def _map(topic: Topic, hits: Hits) -> float:
    seen, total = dict.fromkeys(topic.documents_of, 0), dict.fromkeys(topic.documents_of, 0.0)
    for place, intents in hits:
        for intent in intents:
            seen[intent] += 1
            total[intent] += seen[intent] / (place + 1)
    mean = 0.0  # without `sum`, which may keep more digits than C does
    for intent, documents in topic.documents_of.items():
        mean += total[intent] / documents
    return mean / len(total)


# -- printing


def evaluated(options: Options) -> str:
    """The text for standard output."""
    qrels = read_qrels(options.files[0])
    run = read_run(options.files[1], options)
    mine = _scored(qrels, run, options)
    name, base = run.name, None
    if options.baseline is not None:
        other = read_run(options.baseline, options)
        base = _scored(qrels, other, options)
        name = f"{run.name} (rel to. {other.name}; rs=1+a; a={options.risk_text})"
    rows = _against(mine, base or {}, options)
    count = len(qrels) if options.complete else len(qrels.keys() & mine.keys())
    if base is not None:
        count = max(count, len(rows))
    totals = NOTHING  # added topic by topic, as in ndeval
    for row in rows.values():
        totals = tuple(map(float.__add__, totals, row))
    lines = [f"{name},{topic},{_cells(row)}" for topic, row in rows.items()]
    mean = [_divided(total, count) for total in totals]
    return "\n".join([f"runid,topic,{','.join(COLUMNS)}", *lines, f"{name},amean,{_cells(mean)}", ""])


def _scored(qrels: dict[int, Topic], run: Ranking, options: Options) -> dict[int, tuple[float, ...]]:
    """The values of every topic of the run; 0 for topics without judgments."""
    return {
        topic: values(qrels[topic], documents, options) if topic in qrels else NOTHING
        for topic, documents in run.lists.items()
    }


def _against(
    mine: dict[int, tuple[float, ...]], base: dict[int, tuple[float, ...]], options: Options
) -> dict[int, tuple[float, ...]]:
    """Gains and losses against the baseline, with losses counted 1 + riskAlpha times."""

    def risk(value: float, other: float) -> float:
        return value - other if value >= other else (options.risk + 1) * (value - other)

    topics = sorted(mine.keys() | base.keys()) if options.complete else list(mine)
    return {topic: tuple(map(risk, mine.get(topic, NOTHING), base.get(topic, NOTHING))) for topic in topics}


def _cells(row: Sequence[float]) -> str:
    return ",".join(f"{value:.6f}" if not math.isnan(value) else "-nan" for value in row)
