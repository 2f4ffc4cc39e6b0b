"""The command line: one file a verb (parse, call, print). Only the verb that is asked for is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

VERBS = {
    "eval": ("score runs against judgments", "cranfield eval qrels.txt bm25.run dense.run -m nDCG@10 -m AP"),
    "demo": ("the same, on a small collection that comes along", "cranfield demo"),
    "compare": ("which systems differ, by how much, how surely", "cranfield compare qrels.txt runs/*.run -m nDCG@10"),
    "anova": ("how much is due to topics, systems, components", "cranfield anova qrels.txt runs/*.run -m AP"),
    "power": ("how many topics are needed, and what can be found", "cranfield power qrels.txt runs/*.run -d 0.05"),
    "plot": ("box plots, precision and recall, diversity", "cranfield plot boxes qrels.txt runs/*.run -o boxes.pdf"),
    "explain": ("where a score comes from, rank by rank", "cranfield explain qrels.txt bm25.run --topic 301 -m AP"),
    "fairness": ("who gets the attention", "cranfield fairness qrels.txt bm25.run --groups regions.tsv"),
    "measures": ("what there is to measure: list, search, one page each", "cranfield measures nDCG"),
    "stats": ("what is in a collection", "cranfield stats qrels.txt bm25.run"),
    "pool-bias": (
        "what runs lose that were not pooled, and scores adjusted for it",
        "cranfield pool-bias qrels.txt pooled/*.run --pool-depth 100 --adjust new.run",
    ),
    "validate": ("everything that is wrong with files, at once", "cranfield validate qrels.txt runs/*.run"),
    "convert": ("from one file format to another", "cranfield convert qrels.txt qrels.parquet"),
    "trec_eval": ("trec_eval's own command line and output", "cranfield trec_eval -q -m map qrels.txt bm25.run"),
    "ndeval": ("ndeval's, for qrels with intents", "cranfield ndeval -c qrels.diversity.txt bm25.run"),
    "ntcireval": ("NTCIREVAL's, for one topic or all", "cranfield ntcireval eval -g 1:2:3 qrels.txt bm25.run"),
}
"""What each verb does, and an example."""
GROUPS = {
    "meta": (
        "which measure should I trust? Its verbs: cranfield meta help",
        "cranfield meta power qrels.txt runs/*.run",
    )
}
"""Words that are followed by a verb of their own: a package each, with a list like this one."""
STAND_INS = ("trec_eval", "ndeval", "ntcireval")
"""Verbs that are another program: they get all words untouched."""


def main(argv: Sequence[str] | None = None) -> int:
    """The console script; gives the exit code: 0 fine, 1 the data is wrong, 2 the command is."""
    from cranfield.cli.guard import guarded

    args = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: run(args))


def run(args: list[str]) -> int:
    """Do what the words say."""
    verb = args[0] if args else "help"
    if verb in ("help", "-h", "--help"):
        if args[1:] and args[1] in (*VERBS, *GROUPS):
            return run([args[1], "--help"])
        if args[1:]:
            raise unknown(args[1])
        print(overview())
        return 0
    if verb in ("--version", "-V"):
        from cranfield import __version__

        print(f"cranfield {__version__}")
        return 0
    if verb in STAND_INS:
        return int(import_module(f"cranfield.compat.{verb}").main(args[1:]))
    if verb in GROUPS:
        return int(import_module(f"cranfield.cli.verbs.{verb}").main(args[1:]))
    if verb not in VERBS:
        raise unknown(verb)
    module, function = found(verb)
    from cranfield.cli.parser import parsed

    prepare = getattr(module, "prepare", list)
    return int(parsed(verb, function, module.EXAMPLES, prepare(args[1:]))())


def found(verb: str) -> tuple[ModuleType, Callable[..., int]]:
    """The file of a verb, and the function in it."""
    name = verb.replace("-", "_")
    module = import_module(f"cranfield.cli.verbs.{name}")
    return module, getattr(module, f"{name}_verb")


def overview() -> str:
    """All verbs, with an example each."""
    lines = ["cranfield: evaluate search", ""]
    for verb, (what, example) in {**VERBS, **GROUPS}.items():
        lines += [f"  {verb:<10} {what}", f"  {'':<10} $ {example}"]
    return "\n".join([*lines, "", "cranfield VERB --help says more; begin with: cranfield demo"])


def unknown(verb: str) -> Exception:
    """The complaint about a verb that is none, with the one that was probably meant."""
    import difflib

    from cranfield.errors import UsageError

    also = {"evaluate": "eval", "score": "eval", "list": "measures", "lint": "validate", "check": "validate"}
    close = [also[verb]] if verb in also else difflib.get_close_matches(verb[:20], (*VERBS, *GROUPS), n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(VERBS)}"
    return UsageError(f"no verb {verb!r}; {hint} (cranfield help tells more)")
