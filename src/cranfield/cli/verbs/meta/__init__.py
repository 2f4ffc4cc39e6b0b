"""`cranfield meta VERB`: which measure should I trust? One file a verb."""

from __future__ import annotations

from importlib import import_module

VERBS = {
    "power": ("how many pairs of systems a measure tells apart", "cranfield meta power qrels.txt runs/*.run -m AP,Q"),
    "swap": ("how often another topic set would turn a difference", "cranfield meta swap qrels.txt runs/*.run -m AP"),
    "correlate": ("do measures rank systems alike?", "cranfield meta correlate qrels.txt runs/*.run -m AP,Q,nDCG"),
    "concord": ("which measure agrees with a simpler one", "cranfield meta concord q.txt *.run -m Q,RR --gold P"),
    "ranks": ("how deep the first and the best relevant document is", "cranfield meta ranks qrels.txt runs/*.run"),
    "loo": ("what runs lose that were not pooled", "cranfield meta loo qrels.txt runs/*.run --teams teams.txt"),
    "robust": ("how scores stand fewer judgments or topics", "cranfield meta robust qrels.txt runs/*.run -m AP,bpref"),
    "scale": ("is a measure on an interval scale?", "cranfield meta scale -m AP --length 4"),
    "axioms": ("what a measure rewards, with counter-examples", "cranfield meta axioms -m nDCG@10"),
    "gtheory": ("how far scores generalise to other topics", "cranfield meta gtheory qrels.txt runs/*.run -m AP"),
    "inform": ("how much a score tells of the list", "cranfield meta inform qrels.txt runs/*.run -m AP,Rprec,P@10"),
    "reproduce": ("is a run a reproduction of another?", "cranfield meta reproduce qrels.txt original.run again.run"),
    "study": ("all of it for a paper, from one file", "cranfield meta study study.toml"),
}
"""What each verb does, and an example."""


def main(args: list[str]) -> int:
    """Do what the words after `meta` say."""
    verb = args[0] if args else "help"
    if verb in ("help", "-h", "--help"):
        if args[1:]:
            return main([args[1], "--help"])
        print(overview())
        return 0
    if verb not in VERBS:
        from cranfield.check import nearest

        raise nearest(verb, list(VERBS), "verb meta")
    from cranfield.cli.parser import parsed

    module = import_module(f"cranfield.cli.verbs.meta.{verb}")
    return int(parsed(f"meta {verb}", getattr(module, f"{verb}_verb"), module.EXAMPLES, args[1:])())


def overview() -> str:
    """All verbs, with an example each."""
    lines = ["cranfield meta: which measure should I trust?", ""]
    for verb, (what, example) in VERBS.items():
        lines += [f"  {verb:<10} {what}", f"  {'':<10} $ {example}"]
    return "\n".join([*lines, "", "cranfield meta VERB --help says more"])
