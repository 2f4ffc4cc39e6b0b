"""The options that several verbs share: `Source` has all that say what is read; other files declare the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from cranfield.cli.declare import MORE, READING, argument, flag, option
from cranfield.cli.options.as_options import AsText
from cranfield.cli.options.option_values import chosen, score_names
from cranfield.cli.options.reading_options import Lists
from cranfield.cli.options.recurring import measures, missing, scores
from cranfield.cli.printing import Quiet
from cranfield.errors import UsageError
from cranfield.notes import caution_note
from cranfield.text import counted, listed

if TYPE_CHECKING:
    from cranfield.assessed.lists import Assessed
    from cranfield.collection.qrels import Qrels
    from cranfield.evaluation.several_collections import CollectionScores
    from cranfield.scores.scores import Scores

USUAL = "nDCG@10"
"""The measure of verbs that need one, if none is given."""
QRELS = "The judgments (qrels): which documents are relevant. - is standard input."
RUNS = "Runs, one per system: files, NAME=FILE, patterns as 'runs/*.run', or -."


class Collection(Lists, Quiet):
    """Judgments and runs, or the bundled sample collection."""

    qrels: str | None = argument("QRELS", QRELS, reads=True)
    runs: list[str] | None = argument("RUN", RUNS, reads=True)
    sample: bool = flag("--sample", "Use the bundled sample collection.")

    def given(self) -> bool:
        return self.qrels is not None or self.sample

    def files(self) -> tuple[str, list[str]]:
        """The file of judgments and the files of runs."""
        if self.sample:
            from cranfield.samples import sample

            if self.qrels is not None:
                raise UsageError(f"--sample has its own files; leave out {self.qrels!r}")
            return sample().qrels, list(sample().runs)
        if self.qrels is None:
            raise UsageError("no judgments and no scores; give QRELS RUN..., or --scores FILE, or --sample")
        if not self.runs:
            raise UsageError(f"no run to score against {self.qrels}; add one or more files of runs")
        return self.qrels, self.runs

    def read(self) -> tuple[Qrels, Any]:
        """The judgments, and the runs: files, or with `--by` the runs on the topics of a class."""
        return self.read_whole()

    def read_whole(self) -> tuple[Qrels, Any]:
        """The judgments, and the files of runs."""
        qrels, runs = self.files()
        return self.read_qrels(qrels), runs

    def assessed(self) -> Assessed:
        """All lists with their judged documents."""
        from cranfield.assessed.join import join

        with self.progress("reading") as progress:
            return join(*self.read(), self.joining(), progress)

    def evaluate(self, wanted: Any, **more: Any) -> Scores:
        """The scores of the runs."""
        from cranfield.evaluation.evaluator import evaluate

        def make() -> Scores:
            qrels, runs = self.read_whole()
            settings = self.join_options() | more
            with self.progress("reading") as progress:
                return evaluate(qrels, runs, wanted, progress=progress, **settings)

        return self.kept(make)

    def interval_scores(self, wanted: Any, missing: str) -> Scores:
        """The scores of the runs on an interval scale."""

        def make() -> Scores:
            from cranfield.meta.scale.conclusions import interval_scores

            lists = self.assessed()
            with self.progress("enumerating lists") as progress:
                return interval_scores(lists, wanted, missing=missing, progress=progress)

        return self.kept(make)

    def kept(self, make: Callable[[], Scores]) -> Scores:
        """The scores to work on; `ByClass` makes them once and gives those of one class of topics at a time."""
        return make()


class Source(AsText, Collection):
    """What is read: judgments and runs with measures, or files of scores."""

    measures: list[str] | None = measures()
    scores: list[str] | None = scores()
    missing: str = missing()
    both: ClassVar[bool] = False
    """Whether scores of the same runs by other measures may come from files."""

    def given(self) -> bool:
        return super().given() or bool(self.scores)

    def check(self) -> None:
        super().check()
        if self.scores and (self.qrels is not None or self.sample) and not self.both:
            conflict = "--sample" if self.sample else repr(self.qrels)
            raise UsageError(f"--scores replaces judgments and runs; leave out {conflict}")

    def read_scores(self, usual: str = USUAL, wanted: Sequence[str] | None = None, **more: Any) -> Scores:
        """The scores that the verb works on.

        `wanted` names the measures, by default those of `-m`. Without any: all in the files of scores, and `usual` for
        runs.
        """
        wanted = wanted or self.measures
        if self.scores:
            files = self.scores
            return self.kept(lambda: read_score_files(files, wanted, self.missing))
        return self.evaluate(self.usual_as(chosen(wanted or [usual])), missing=self.missing, **more)

    def read_both(self, wanted: Sequence[str]) -> Scores:
        """Scores from files, and those by the measures that the files lack computed from the runs, on shared topics."""

        def make() -> Scores:
            from cranfield.evaluation.evaluator import evaluate
            from cranfield.scores.scores import Scores

            kept = read_score_files(self.scores or [], None, self.missing)
            lacking = [name for name in wanted if name not in kept.measures]
            if not lacking:
                raise UsageError(f"the files of --scores have all measures, {listed(wanted)}; leave out the runs")
            with self.progress("reading") as progress:
                new = evaluate(
                    *self.read_whole(), chosen(lacking), missing=self.missing, progress=progress, **self.join_options()
                )
            if set(kept.runs) != set(new.runs):
                odd = sorted(set(kept.runs) ^ set(new.runs))
                raise UsageError(f"--scores and the runs must be of the same runs; only one of them has {listed(odd)}")
            of_files = set(kept.topics)
            shared = [topic for topic in new.topics if topic in of_files]
            if not shared:
                raise UsageError("--scores and the judgments have no topic in common")
            parts = (part.select(runs=new.runs, topics=shared) for part in (kept, new))
            left_out = len({*kept.topics, *new.topics}) - len(shared)
            both = Scores.combine(*parts, missing=self.missing, names=("--scores", "the runs"))
            note = caution_note(f"{counted(left_out, 'topic')} left out that only the files or the judgments have")
            return replace(both, notes=(*both.notes, note)) if left_out else both

        return self.kept(make)

    def run_named(self, text: str, scores: Scores) -> str:
        """The name of a run that is given by its name or by its file."""
        import os

        if text in scores.runs or not os.path.isfile(text):
            return text  # an unknown name is an error of the library, with the nearest one
        from cranfield.collection.run import read_runs
        from cranfield.collection.source import stem

        names = {stem(text), *(run.name for run in read_runs([text], format=self.run_format))}
        known = [name for name in scores.runs if name in names]
        if len(known) != 1:
            raise UsageError(f"{text} is a file, but not one of the runs; name one of {listed(scores.runs)}")
        return known[0]

    def read_interval_scores(self, usual: str = USUAL) -> Scores:
        """As `read_scores` from runs, on an interval scale."""
        return self.interval_scores(self.usual_as(chosen(self.measures or [usual])), self.missing)

    def read_scores_by_file(self, purpose: str) -> dict[str, Scores]:
        """The scores of each file of `--scores` under its name. `purpose` begins the message if there are too few."""
        from cranfield.assessed.given_runs import distinct_names
        from cranfield.collection.source import stem
        from cranfield.scores.basis import warn_of_unlike

        if len(self.scores or []) < 2:
            raise UsageError(f"{purpose}; give --scores FILE two times or more")
        files = self.scores or []
        names = distinct_names([stem(path) for path in files], files)
        parts = [read_score_files([path], self.measures) for path in files]
        notes = warn_of_unlike(files, [part.basis for part in parts], ("measures", "rules"))  # judgments always differ
        return {name: replace(part, notes=(*part.notes, *notes)) for name, part in zip(names, parts, strict=True)}


class BinaryGrades(Source):
    """What is read, as `Source`, with grades that a threshold makes binary."""

    binary: float | None = option(
        "--binary GRADE", "Read grades of GRADE or more as 1, and all others as 0.", group=READING
    )

    def check(self) -> None:
        super().check()
        if self.binary is not None and self.scores:
            raise UsageError("--binary changes judgments, and --scores has none; leave out one of them")

    def read_qrels(self, path: str) -> Qrels:
        qrels = super().read_qrels(path)
        return qrels if self.binary is None else qrels.binary(self.binary)


class Rescaled(Source):
    """What is read, as `Source`, and what is done to scores before they are compared."""

    standardise: str | None = option(
        "--standardise METHOD",
        "First standardise the scores of each topic on those of all runs: {names} (z, a linear function of z, or the "
        "share of runs that score no higher).",
        choices=("z", "linear", "empirical"),
        group=MORE,
    )
    transform: str | None = option(
        "--transform NAME",
        "First transform scores: {names} (the arcsine of the square root), for a more even variance.",
        choices=("arcsine",),
        group=MORE,
    )

    def read_scores(self, usual: str = USUAL, wanted: Sequence[str] | None = None, **more: Any) -> Scores:
        return self.rescaled(super().read_scores(usual, wanted, **more))

    def read_scores_by_file(self, purpose: str) -> dict[str, Scores]:
        return {name: self.rescaled(scores) for name, scores in super().read_scores_by_file(purpose).items()}

    def rescaled(self, scores: Scores) -> Scores:
        """The scores as they are compared."""
        if self.standardise is not None:
            scores = scores.standardised(self.standardise)
        return scores if self.transform is None else scores.transformed(self.transform)


def read_score_files(files: Sequence[str], measures: Sequence[str] | None, missing: str = "zero") -> Scores:
    """The scores in files, by the measures named or by all."""
    from cranfield.scores.scores import Scores

    wanted = score_names(measures)
    name = wanted[0] if len(wanted) == 1 else "score"
    rule = None if missing == "zero" else missing
    parts = [Scores.read(path, measure=name, missing=rule) for path in files]
    # A score that a file lacks is not 0: only an evaluation knows that a run lacked the topic.
    rule = "skip" if missing == "zero" else missing
    scores = parts[0] if len(parts) == 1 else Scores.combine(*parts, missing=rule, names=files)
    return scores.select(measures=wanted) if wanted else scores


def shared_measures(parts: Mapping[str, Scores]) -> list[str]:
    """The measures that all files of scores have."""
    first, *others = parts.values()
    names = [name for name in first.measures if all(name in other for other in others)]
    if not names:
        raise UsageError(f"no measure is in all {len(parts)} files of scores; name the one to read: -m")
    return names


SCORE_FILES = "score-files"
"""The value of `--collections` without a file."""


class SeveralCollections(Collection):
    """Judgments and runs of one collection, or of several."""

    collection: list[str] | None = option(
        "--collection NAME=QRELS:RUNS",
        "A collection, instead of QRELS RUN...: name, judgments, and runs (a pattern or a folder). May be repeated.",
        group=MORE,
    )
    collections: str | None = option(
        "--collections FILE",
        "The collections, from a TOML file: for each a table [collections.NAME] with qrels and runs.",
        group=MORE,
    )
    missing_collections: str = option(
        "--missing-collections RULE",
        "Runs that lack a collection, {names}: no mean over collections, the mean over the others, or 0 there.",
        default="undefined",
        names="evaluation.several_collections:RULES",
        group=READING,
        solves="missing_collections",
    )

    @property
    def several(self) -> bool:
        """Are there several collections to read?"""
        return bool(self.collection) or self.collections not in (None, SCORE_FILES)

    def given(self) -> bool:
        return super().given() or bool(self.collection or self.collections)

    def check(self) -> None:
        super().check()
        if not self.several:
            if self.missing_collections != "undefined":
                raise UsageError("--missing-collections applies only to --collection and --collections")
            return
        if self.collection and self.collections:
            raise UsageError("--collection and --collections FILE do not go together; put all of them into the file")
        option = "--collection" if self.collection else "--collections"
        if self.qrels is not None or self.sample:
            what = "--sample" if self.sample else repr(self.qrels)
            raise UsageError(f"{option} names the judgments and runs; leave out {what}")

    def read_collections(self, measures: Any, **more: Any) -> CollectionScores:
        """The scores of the runs on all collections."""
        from cranfield.collection.collection_files import collections_of_words, read_collections
        from cranfield.evaluation.several_collections import evaluate_collections

        files = collections_of_words(self.collection) if self.collection else read_collections(self.collections or "")
        settings = self.join_options() | more
        with self.progress("reading") as progress:
            return evaluate_collections(
                files, measures, missing_collections=self.missing_collections, progress=progress, **settings
            )
