"""The command line: find the verb, parse its words, run it. Only the verb that is called is imported."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from cranfield.cli.declare import Verb

SECTIONS = {
    "Score search results": (
        "eval",
        "measures",
        "explain",
        "topics",
        "plot",
        "efficiency",
        "fairness",
        "simulate-time",
    ),
    "Compare systems": ("compare", "leaderboard", "report", "gate", "anova", "power"),
    "Work with files": ("validate", "convert", "fuse", "completion"),
    "Build a test collection": ("collection", "pool", "judge", "campaign", "labels", "machine"),
    "Score summaries and answers": ("answers",),
    "Evaluate with live traffic": ("log", "ab", "interleave", "clicks"),
    "Judge the measures": ("meta",),
}
"""The headings of `cranfield help all`, with the verbs and groups of verbs below each."""
FIRST = (
    "eval", "compare", "explain", "report", "power", "gate", "validate", "convert", "measures",
    "pool", "judge", "machine", "answers", "ab",
)  # fmt: skip
"""The verbs and groups of the first page of help: what people need in their first hour."""
FOLDERS = {
    "Score search results": "scoring", "Compare systems": "comparing", "Work with files": "files",
}  # fmt: skip
"""The folder of `cranfield.cli.verbs` for the verbs below each heading."""


class Group(NamedTuple):
    """A word with verbs of its own, such as `meta`; each verb is a file in the folder `cranfield.cli.verbs.WORD`."""

    title: str
    """The heading of its overview."""
    summary: str
    example: str
    verbs: tuple[str, ...]
    default: str = ""
    """The verb that is run if the next word is none of them; empty: that is an error."""
    other_names: tuple[tuple[str, str], ...] = ()
    """Other names that are accepted, each with the verb."""


GROUPS = {
    "meta": Group(
        "which measure should I trust?",
        "evaluate the measures themselves; see: cranfield meta help",
        "cranfield meta power qrels.txt runs/*.run",
        (
            "power", "swap", "correlate", "concord", "ranks", "loo", "robust", "scale", "order", "meaningful", "axioms",
            "gtheory", "inform", "predict", "users", "tests", "reproduce", "study", "online",
        ),
        other_names=(("test-tests", "tests"),),
    ),
    "gate": Group(
        "may this build be released?",
        "a gate for builds: pass or fail, and why; see: cranfield gate help",
        "cranfield gate qrels.txt --baseline prod.run candidate.run -m nDCG@10 --margin 0.01",
        ("check", "history"),
        default="check",
    ),
    "pool": Group(
        "which documents should be judged?",
        "choose the documents to judge; see: cranfield pool help",
        "cranfield pool runs/*.run --depth 100 -o pool.tsv",
        ("build", "join", "holes", "contributions", "simulate", "bias"),
        default="build",
    ),
    "judge": Group(
        "judge documents in the browser",
        "judge documents in the browser; see: cranfield judge help",
        "cranfield judge serve judgments.db --topics topics.xml --pool pool.tsv --docs docs.jsonl",
        ("demo", "serve", "account", "status", "export", "import", "backup"),
    ),
    "campaign": Group(
        "run an evaluation campaign in the browser",
        "run a whole campaign in the browser; see: cranfield campaign help",
        "cranfield campaign init notes2027 --topics topics.xml --docs docs.jsonl",
        ("init", "serve", "status", "run", "report", "export", "import"),
    ),
    "log": Group(
        "logs of live traffic",
        "check and measure logs, find sessions, simulate a log; see: cranfield log help",
        "cranfield log check log/",
        ("check", "sessions", "measures", "documents", "preferences", "satisfaction", "demo"),
    ),
    "ab": Group(
        "experiments with users: A/B tests",
        "assign users, compare arms, plan experiments; see: cranfield ab help",
        "cranfield ab analyse users.csv --metric revenue --metric clicks/impressions",
        ("assign", "analyse", "power", "aa"),
    ),
    "interleave": Group(
        "which system do users prefer?",
        "compare systems by clicks on lists that mix their results; see: cranfield interleave help",
        "cranfield interleave analyse log.jsonl",
        ("make", "simulate", "analyse", "power", "reuse", "pairs"),
    ),
    "clicks": Group(
        "models of clicks",
        "click models, and what follows from them; see: cranfield clicks help",
        "cranfield clicks fit log.parquet --model PBM",
        ("fit", "evaluate", "simulate", "judgments", "calibrate", "offpolicy"),
    ),
    "collection": Group(
        "topics, parts and sizes of a test collection",
        "choose topics, split collections, count files; see: cranfield collection help",
        "cranfield collection stats qrels.txt runs/*.run",
        ("stats", "sample-topics", "split", "shard", "design"),
    ),
    "labels": Group(
        "the labels of several assessors",
        "agreement of assessors, and merging of their labels; see: cranfield labels help",
        "cranfield labels agree labels.csv",
        ("agree", "merge", "assessors", "aware", "effect"),
        other_names=(("workers", "assessors"),),
    ),
    "machine": Group(
        "judgments by a language model",
        "label with a language model, and check it against people; see: cranfield machine help",
        "cranfield machine audit human.qrels machine.qrels runs/*.run",
        ("label", "audit", "ppi"),
    ),
    "answers": Group(
        "summaries, answers and sessions",
        "score answers by references, nuggets or citations; see: cranfield answers help",
        "cranfield answers nuggets answers.jsonl",
        ("nuggets", "citations", "rouge", "bleu", "one-click", "passages", "verticals", "labels", "preferences",
            "trailtext", "sessions",
        ),
    ),
}  # fmt: skip
"""Words that are followed by a verb of their own, in the order of the overview."""
STAND_INS = {
    "trec_eval": (
        "replaces trec_eval: the same options, the same output",
        "cranfield trec_eval -q -m map qrels.txt bm25.run",
    ),
    "ndeval": ("replaces ndeval, for queries with several intents", "cranfield ndeval -c qrels.diversity.txt bm25.run"),
    "gdeval": ("replaces gdeval, the script of TREC's Web tracks", "cranfield gdeval -k 10 qrels.txt bm25.run"),
    "ntcireval": ("replaces the main commands of NTCIREVAL", "cranfield ntcireval eval -g 1:2:3 qrels.txt bm25.run"),
}
"""Verbs that stand in for another program and get all words unchanged: a summary and an example."""
VERBS = tuple(word for words in SECTIONS.values() for word in words if word not in GROUPS)
"""The verbs in the order of the overview; each is a file in a folder of `cranfield.cli.verbs`."""
MOVED = {
    **{word: f"labels {word}" for word in ("agree", "merge", "aware")}, "workers": "labels assessors",
    **{word: f"machine {word}" for word in ("label", "audit", "ppi")},
    **{word: f"collection {word}" for word in ("sample-topics", "split", "shard", "design", "stats")},
    **{word: f"answers {word}" for word in GROUPS["answers"].verbs if word not in GROUPS},
    "calibrate": "clicks calibrate", "offpolicy": "clicks offpolicy", "pool-bias": "pool bias",
    "merge-effect": "labels effect", "test": "compare --test NAME", "demo": "eval --sample",
}  # fmt: skip
"""Words that were verbs, each with what to type now."""


LEAST_ADDRESSES = 500_000_000
"""Bytes of addresses without which numpy and scipy may fail, where the address space is limited."""


def script() -> NoReturn:
    """The program `cranfield`."""
    import gc
    import os

    from cranfield import _address_space, _start

    _start.install()
    gc.set_threshold(50_000)  # imports make many objects and little garbage
    if sys.argv[1:2] == ["eval"] or _address_space.limit() is not None:
        # Measures multiply no matrices, and the threads that numpy starts for that wait busily, and reserve addresses
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = main()
    from cranfield.cli.guard import leave

    leave(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line. Returns the exit code: 0 success, 1 the data is wrong, 2 the command is wrong."""
    try:
        from cranfield.cli.guard import guarded

        words = list(sys.argv[1:] if argv is None else argv)
        return guarded(lambda: run(words))
    except KeyboardInterrupt:  # while the modules that print messages are imported
        return 130


def run(words: list[str]) -> int:
    """Run a command line."""
    from cranfield import _address_space

    _address_space.check_limit(LEAST_ADDRESSES)
    verb, *rest = words or ["help"]
    if verb in STAND_INS:
        return int(import_module(f"cranfield.compat.{verb}").main(rest))
    if verb in ("--version", "-V"):
        from cranfield import __version__

        print(f"cranfield {__version__}")
        return 0
    if verb in GROUPS:
        return run_group(verb, rest)
    return run_verb(words, VERBS)


def run_group(word: str, words: list[str]) -> int:
    """Run a verb of a group. Without one, a group that has a default runs that."""
    group = GROUPS[word]
    words = [dict(group.other_names).get(words[0], words[0]), *words[1:]] if words else words
    if not group.default or (words and words[0] in ("help", *group.verbs)):
        return run_verb(words, group.verbs, f"{word} ")
    if words and words[0].isalpha() and not os.path.exists(words[0]) and _closest(words[0], group.verbs):
        raise unknown(words[0], group.verbs, f"{word} ")  # a misspelled verb, not the name of a file
    return execute(find(f"{word} {group.default}"), f"cranfield {word}", words)


def run_verb(words: list[str], verbs: Sequence[str], group: str = "") -> int:
    """Run one of the verbs, or print an overview of them."""
    verb, *rest = words or ["help"]
    if verb in ("help", "-h", "--help"):
        if rest and (group or rest[0] not in HELP_PAGES):
            return run([*group.split(), *rest, "--help"])
        print(group_overview(verbs, group) if group else HELP_PAGES[rest[0] if rest else "first"]())
        return 0
    if verb not in verbs:
        raise unknown(verb, verbs, group)
    return execute(find(group + verb), f"cranfield {group}{verb}", rest)


def execute(verb: type[Verb], prog: str, words: Sequence[str]) -> int:
    """Run a verb with the words after its name; return the exit code."""
    from cranfield.cli.declare import InputLost

    try:
        return _executed(verb, prog, words)
    except (BrokenPipeError, InputLost):
        raise
    except Exception as error:
        verb.failed(words, error)
        raise


def _executed(verb: type[Verb], prog: str, words: Sequence[str]) -> int:
    from cranfield.cli import progress
    from cranfield.cli.declare import declared
    from cranfield.cli.guard import OK
    from cranfield.cli.parser import parsed
    from cranfield.cli.printing import Note, say_written
    from cranfield.collection.source import files_written
    from cranfield.errors import CranfieldError, NotedWarning, UsageError
    from cranfield.notes import notes_elsewhere

    if not words and any(parameter.required for parameter in declared(verb)):
        return print_usage(verb, prog)
    command = parsed(verb, prog, words)
    if command is None:
        return OK
    if not command.given():
        return print_usage(verb, prog)
    command.check_written()
    quiet = getattr(command, "quiet", False)
    if quiet:
        warnings.simplefilter("ignore")
    elif getattr(command, "repeats_warnings", False) and getattr(command, "shows_notes", False):
        warnings.simplefilter("ignore", NotedWarning)
    shown = warnings.showwarning
    prints_notes = getattr(command, "repeats_warnings", False) and getattr(command, "prints_notes", False)
    held: list[tuple[Any, ...]] = []  # until a note repeats them, or nothing does

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if prints_notes and isinstance(message, NotedWarning):
            held.append((message, *where))
            return
        if isinstance(message, Note):
            held.clear()
        hint = way_out(str(message), verb, command)
        shown(f"{message}; {hint}" if hint else message, *where, **more)

    warnings.showwarning = show
    in_file = getattr(command, "output", None) and getattr(command, "format", "") != "html"
    every = getattr(command, "why", True) or in_file  # a file is read where nobody can ask for more
    try:
        with progress.shown(quiet), notes_elsewhere("" if every else "--why"), files_written() as written:
            command.check()
            code = command.perform() or OK
    except UsageError as error:
        hint = way_out(str(error), verb)
        raise UsageError("; ".join(filter(None, [with_options(str(error), verb), hint]))) from None
    except CranfieldError as error:
        if hint := way_out(str(error), verb):
            error.add_note(hint)
        raise
    finally:
        warnings.showwarning = shown
        for warning in held:
            shown(*warning)
    if not quiet:
        say_written(written)
    return code


def print_usage(verb: type[Verb], prog: str) -> int:
    """Print how a verb is called, if it was called without anything to work on; return the exit code."""
    from cranfield.cli.guard import USAGE
    from cranfield.cli.parser import usage

    print(usage(verb, prog), file=sys.stderr)
    return USAGE


def with_options(message: str, verb: type[Verb]) -> str:
    """A message in which the library names a parameter, with the option of the verb instead.

    >>> from cranfield.cli.verbs.scoring.eval import EvalVerb
    >>> with_options("missing == 'none', must be one of 'zero', 'skip'", EvalVerb)
    "--missing == 'none', must be one of 'zero', 'skip'"
    """
    import os
    import re

    from cranfield.cli.declare import declared

    labels = {parameter.name: parameter.label for parameter in declared(verb) if parameter.spellings}
    named = re.match(r"(?:([a-z_]+): )?([a-z_]+)(?= == )", message)
    if named is None or named[2] not in labels or (named[1] and os.path.exists(named[1])):
        return message
    return labels[named[2]] + message[named.end() :]


def way_out(message: str, verb: type[Verb], command: Verb | None = None) -> str:
    """The options that solve a problem for which the library names its own parameters; not those set in `command`.

    >>> from cranfield.cli.verbs.scoring.eval import EvalVerb
    >>> way_out("TBG needs document lengths: give lengths={doc: length}", EvalVerb)
    'on the command line: --lengths FILE'
    """
    import re

    from cranfield.cli.declare import declared

    options = [
        f"{parameter.label} {_example(message[match.end() :]) or parameter.metavar}".rstrip()
        for parameter in declared(verb)
        if parameter.solves
        and (command is None or getattr(command, parameter.name) == parameter.default)
        and parameter.label not in message
        and (match := re.search(rf"(?<!\w){parameter.solves}(?!=)", message))
    ]
    return f"on the command line: {' or '.join(options)}" if options else ""


def _example(text: str) -> str:
    """A dict or a list at the start of a text, as it is typed on the command line.

    >>> _example("{'Exact': 1, 'Bad': 0}"), _example("['topic', 'doc']"), _example("{...}")
    ('Exact=1,Bad=0', 'topic,doc', '')
    """
    import ast
    import shlex

    end = max(text.rfind("}"), text.rfind("]")) + 1
    try:
        value = ast.literal_eval(text[:end])
    except (ValueError, SyntaxError):
        return ""
    if not isinstance(value, dict | list):  # such as {...}
        return ""
    words = [f"{key}={entry}" for key, entry in value.items()] if isinstance(value, dict) else list(map(str, value))
    return shlex.quote(",".join(words)) if words else ""


def find(verb: str) -> type[Verb]:
    """The class of a verb, such as `EvalVerb` for `eval`, and `PowerVerb` in the folder `meta` for `meta power`."""
    group, _, name = verb.rpartition(" ")
    folder = group or next(FOLDERS[heading] for heading, words in SECTIONS.items() if name in words)
    module = import_module(f"cranfield.cli.verbs.{folder}.{name.replace('-', '_')}")
    kind: type[Verb] = getattr(module, name.title().replace("-", "") + "Verb")
    return kind


def group_overview(verbs: Sequence[str], group: str) -> str:
    """The verbs of a group, with an example each."""
    lines = [f"cranfield {group.strip()}: {GROUPS[group.strip()].title}", ""]
    summaries = {verb: (kind.summary, example(kind)) for verb in verbs for kind in [find(group + verb)]}
    lines += in_lines(summaries, max(10, *map(len, summaries)))
    return "\n".join([*lines, "", f"cranfield {group}VERB --help shows the options of a verb"])


def first_page() -> str:
    """What people need in their first hour, on one screen."""
    summaries = {word: summary_of(word)[0].partition("; see:")[0] for word in FIRST}
    lines = [f"  {word:<10} {summary}" for word, summary in summaries.items()]
    return "\n".join([
        "cranfield: score and compare search results", "", *lines, "",
        "A run is the results of one system; qrels are the judgments; a topic is a query.", "",
        "Start with:                   cranfield eval --sample", "Options of a verb:            cranfield VERB --help",
        "All verbs, by group:          cranfield help all", "Instead of trec_eval, ndeval: cranfield help stand-ins",
    ])  # fmt: skip


def overview() -> str:
    """All verbs and groups, with an example each."""
    lines = ["cranfield: all verbs, and groups of verbs"]
    for heading, words in SECTIONS.items():
        lines += ["", heading, *in_lines({word: summary_of(word) for word in words}, 13)]
    return "\n".join(
        [*lines, "", "cranfield VERB --help shows the options of a verb; cranfield help is the short list"]
    )


def stand_ins() -> str:
    """The verbs that stand in for other programs."""
    lines = ["cranfield: verbs that replace another program, with its options and its output", ""]
    return "\n".join([*lines, *in_lines(STAND_INS, 13)])


HELP_PAGES = {"first": first_page, "all": overview, "stand-ins": stand_ins}
"""What `cranfield help WORD` prints, if the word is no verb."""


def in_lines(summaries: dict[str, tuple[str, str]], width: int) -> list[str]:
    """Verbs with a summary and an example, as lines of the overview."""
    return [
        line
        for verb, (summary, command) in summaries.items()
        for line in (f"  {verb:<{width}} {summary}", f"  {'':<{width}} $ {command}")
    ]


def summary_of(word: str) -> tuple[str, str]:
    """The summary and the example of a verb or of a group of verbs."""
    if word in GROUPS:
        return GROUPS[word].summary, GROUPS[word].example
    verb = find(word)
    return verb.summary, example(verb)


def every_verb() -> tuple[str, ...]:
    """All verbs that take options, as they are called: `eval`, `meta power`."""
    return (*VERBS, *(f"{word} {verb}" for word, group in GROUPS.items() for verb in group.verbs))


def example(verb: type[Verb]) -> str:
    """The first example of a verb, without its comment."""
    return verb.examples.strip().partition("\n")[0].partition("  #")[0].rstrip()


def unknown(verb: str, verbs: Sequence[str], group: str = "") -> Exception:
    """The error for a verb that does not exist, with the one that was probably meant."""
    from cranfield.cli.other_words import verb_for
    from cranfield.errors import UsageError

    if not group and verb in MOVED:
        return UsageError(f"'cranfield {verb}' is now 'cranfield {MOVED[verb]}'")
    if group and os.path.exists(verb):
        there = ", ".join(verbs)
        return UsageError(f"{verb!r} is a file, expected a verb of cranfield {group}before it: {there}")
    known = verbs if group else (*verbs, *STAND_INS, *GROUPS)
    close = list(filter(None, [] if group else [verb_for(verb)])) or _closest(verb, known)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    return UsageError(f"no verb '{group}{verb}'; {hint} (cranfield {group}help lists them)")


def _closest(word: str, known: Sequence[str]) -> list[str]:
    """The known words that may be meant."""
    from cranfield.check import similar

    return similar(word, known)
