"""What people type who know another tool, and what it is here: other words for options, and for verbs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from cranfield.check import similar

OPTIONS: dict[str, tuple[str, ...]] = {
    "--measure": ("metric", "metrics", "measures", "eval-metric", "score", "scoring"),
    "--topic": ("query", "query-id", "qid", "topic-id", "topics", "queries"),
    "--topics": ("topic", "query", "queries", "query-file", "topic-file"),
    "--per-topic": ("per-query", "by-query", "by-topic", "each-topic", "each-query", "all-topics"),
    "--unit": ("user", "users", "user-id", "user-column", "id-column", "subject"),
    "--baseline": ("base", "control-run", "reference", "reference-run", "against", "baselines"),
    "--control": ("baseline", "base", "reference", "control-arm"),
    "--scores": ("score-file", "results", "input-scores", "from-scores"),
    "--level": ("confidence", "confidence-level", "conf", "conf-level", "interval", "ci", "coverage"),
    "--ci": ("interval", "intervals", "confidence-interval", "confidence-intervals", "conf", "confidence"),
    "--alpha": ("significance", "significance-level", "sig", "p-value", "pvalue", "threshold", "sig-level"),
    "--output": ("out", "outfile", "out-file", "output-file", "output-path", "save-to", "file", "write", "export"),
    "--format": ("output-format", "out-format", "fmt", "style", "json", "csv", "latex", "tex", "markdown", "html"),
    "--correction": ("adjust", "adjustment", "p-adjust", "multiple-testing", "bonferroni", "holm"),
    "--test": ("statistical-test", "significance-test", "stat-test", "ttest", "t-test", "wilcoxon", "stat-tests"),
    "--resamples": ("iterations", "bootstrap", "bootstraps", "permutations", "n-boot", "n-resamples", "num-samples"),
    "--seed": ("random-seed", "random-state", "rng", "rng-seed"),
    "--rel": ("relevance-level", "relevance-threshold", "rel-level", "min-rel", "min-grade", "relevant", "l"),
    "--depth": ("M", "max-depth", "pool-depth", "top-k", "topk", "k", "top", "limit", "cutoff", "max-docs", "max-rank"),
    "--cutoff": ("k", "top-k", "topk", "depth", "at"),
    "--size": ("n-topics", "num-topics", "number-of-topics", "sizes", "sample-size", "topics"),
    "--assessors": ("workers", "worker", "annotators", "annotator", "raters", "judges"),
    "--next": ("recommend", "suggest"),
    "--gold": ("gold-qrels", "truth", "ground-truth", "gold-labels", "expert"),
    "--groups": ("group", "group-file", "protected-groups", "attributes", "providers"),
    "--plot": ("figure", "chart", "graph", "fig", "draw"),
    "--digits": ("precision", "decimals", "decimal-places", "round", "ndigits"),
    "--threads": ("jobs", "n-jobs", "num-threads", "processes", "num-workers", "parallel", "cores"),
    "--quiet": ("silent", "no-warnings", "no-progress"),
    "--run-format": ("run-type", "format-run"),
    "--qrels-format": ("qrel-format", "format-qrels"),
    "--columns": ("column-names", "mapping", "schema", "fields"),
    "--endpoint": ("base-url", "api-base", "api-url", "url", "server"),
    "--key-variable": ("api-key", "key", "token"),
    "--reference": ("ref", "refs", "references", "gold-summaries", "models"),
    "--sample": ("demo", "example", "sample-data"),
    "--share": ("traffic-split", "allocation", "split", "ratio", "weights", "arms"),
    "--difference": ("delta", "min-difference", "mde", "effect", "effect-size", "minimum-difference"),
    "--effect": ("mde", "lift", "uplift", "difference", "minimum-effect"),
    "--missing": ("missing-topics",),
}  # fmt: skip
"""Each option with words of others for it; those of the options that a verb has are understood."""
NOTES = {
    "a cutoff is part of the measure: -m nDCG@10": ("k", "cutoff", "top-k", "topk", "top", "at", "cut-off"),
    "the lowest relevant grade is part of the measure: -m 'AP(rel=2)'": (
        "l", "rel", "relevance-level", "relevance-threshold", "rel-level", "min-rel", "min-grade", "relevant",
    ),
    "topics that a run lacks count 0, unless --missing skip leaves them out": ("c", "complete", "complete-qrels"),
    "runs are named without an option, after the judgments": (
        "run", "runs", "system", "systems", "results", "run-file", "predictions", "recommendations",
    ),
    "judgments are named without an option, before the runs": (
        "qrels", "qrel", "judgments", "judgements", "qrels-file", "ground-truth", "gold", "labels", "truth",
    ),
}  # fmt: skip
"""Sentences for words that are no option of a verb in any spelling."""
VERBS = {
    "eval": ("evaluate", "score", "trec-eval", "evaluation", "run"),
    "measures": ("list", "metrics", "measure", "metric", "list-measures"),
    "validate": ("lint", "check", "verify"),
    "compare": ("significance", "ttest", "t-test", "significance-test", "diff", "comparison"),
    "labels agree": ("kappa", "agreement", "iaa", "krippendorff"),
    "labels merge": ("aggregate", "majority-vote", "dawid-skene"),
    "ab analyse": ("abtest", "ab-test", "experiment", "analyse", "analyze"),
    "power": ("sample-size", "topic-set-size"),
    "pool": ("pooling", "depth-pool"),
    "judge": ("annotate", "annotation", "assess", "judging"),
    "machine label": ("llm-judge", "llm", "umbrela"),
    "log measures": ("ctr", "clickthrough"),
    "fuse": ("fusion", "rrf", "ensemble", "combine"),
    "plot": ("draw", "figure", "chart"),
}
"""Each verb with words of others for it."""


def suggested(word: str, known: Iterable[str], arguments: Collection[str] = ()) -> str:
    """What is said about a word that is no option: the one that is meant, what to do instead, or nothing.

    known: the options of the verb. arguments: its words without a name, such as QRELS.

    >>> suggested("--metric", ["--measure", "-m", "--quiet"]), suggested("--queries", ["--quiet", "--topic"])
    (" (did you mean '--measure'?)", " (did you mean '--topic'?)")
    >>> suggested("--k", ["--measure"], ["QRELS", "RUN"]), suggested("--colour", ["--columns"])
    ('; a cutoff is part of the measure: -m nDCG@10', '')
    """
    options, plain = list(known), word.lstrip("-")
    if not {"--cutoff", "--rel", "--runs", "--qrels"} & {*options}:
        for note, words in NOTES.items():
            needed = "--measure" in options if "measure:" in note else {"QRELS", "RUN"} <= {*arguments}
            if needed and _is(plain, words):
                return f"; {note}"
    for option, words in OPTIONS.items():
        if option in options and option.lstrip("-") != plain and _is(plain, words):
            return f" (did you mean {option!r}?)"
    if len(plain) < 2:
        return ""
    names = {option.lstrip("-"): option for option in options if option.startswith("--")}
    close = similar(plain, names)
    return f" (did you mean {names[close[0]]!r}?)" if len(close) == 1 else ""


def _is(word: str, words: Collection[str]) -> bool:
    return (word if len(word) == 1 else word.lower().replace("_", "-")) in words


def verb_for(word: str) -> str:
    """The verb that a word of others means; empty if none.

    >>> verb_for("kappa"), verb_for("evaluate"), verb_for("bake")
    ('labels agree', 'eval', '')
    """
    return next((verb for verb, words in VERBS.items() if word.lower().replace("_", "-") in words), "")
