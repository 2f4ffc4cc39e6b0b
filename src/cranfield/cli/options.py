"""The options that several verbs share: one declaration each, and `Source`, all options that say what is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cranfield.cli.declare import MORE, OPTIONS, RANKING, READING, RESULT, SIDE, Verb, argument, declared, flag, option
from cranfield.cli.measure_names import chosen, score_names
from cranfield.cli.printing import Quiet
from cranfield.errors import UsageError
from cranfield.text import listed

if TYPE_CHECKING:
    from cranfield.assessed.join_options import JoinOptions
    from cranfield.assessed.lists import Assessed
    from cranfield.collection.qrels import Qrels
    from cranfield.collection.run import Run
    from cranfield.scores.scores import Scores

USUAL = "nDCG@10"
"""The measure of verbs that need one, if none is given."""
QRELS = "The judgments (qrels): which documents are relevant. - is standard input."
RUNS = "Runs, one per system: files, NAME=FILE, patterns as 'runs/*.run', or -."

TESTS = "comparison.registry:known_tests"
RUN_FORMATS = "collection.formats:RUNS collection.formats:STRUCTURED"
QRELS_FORMATS = "collection.formats:QRELS collection.formats:STRUCTURED"

# -- options that recur, with the default and the purpose of the verb


def measures() -> Any:
    return option(
        "--measure, -m MEASURE",
        "A measure, or several: nDCG@10,AP. May be repeated. cranfield measures lists all.",
    )


def scores() -> Any:
    return option(
        "--scores, -s FILE",
        "Read scores instead of runs: the output of eval -q or trec_eval -q, or a table of topics by runs. May be "
        "repeated.",
        reads=True,
    )


def missing() -> Any:
    return option(
        "--missing RULE",
        "Judged topics that a run does not contain: {names} (score them as an empty list, or leave them out).",
        default="zero",
        names="scores.score_files:MISSING_RULES",
        solves="missing='skip'",
        group=READING,
    )


def significance_test(default: str | None, help: str = "The significance test: {names}.", names: str = TESTS) -> Any:
    return option("--test, -t TEST", help, default=default, names=names)


def alpha(default: float | None = 0.05, help: str = "Significance level.") -> Any:
    return option("--alpha A", help, default=default)


def topic_texts() -> Any:
    return option("--topics FILE", "Show the text of topics: a file of topics (XML, SGML, TSV, JSON).", reads=True)


def level() -> Any:
    return option("--level L", "Confidence level of the intervals.", default=0.95, group=MORE)


def resamples(default: int | None, help: str) -> Any:
    return option("--resamples, -B N", help, default=default)


def seed() -> Any:
    return option("--seed N", "Seed of the random numbers.", default=0)


def nan(default: str) -> Any:
    return option(
        "--nan RULE",
        "Topics on which a run has no score: {names} (left out for all runs, or only for this run).",
        default=default,
        names="comparison.data:NAN_RULES",
        group=MORE,
    )


def threads() -> Any:
    return option("--threads N", "Number of threads; the result does not depend on it.", group=READING)


def depth() -> Any:
    return option("--depth N", "Use only the first N documents of each list.", group=RANKING)


def rel(group: str = OPTIONS) -> Any:
    return option("--rel GRADE", "The lowest grade that counts as relevant.", default=1.0, group=group)


def pool_depth(help: str, *, required: bool = False) -> Any:
    return option("--pool-depth N", help, required=required)


def condensed() -> Any:
    return flag("--condensed", "Also score each measure without unjudged documents, as AP' for AP.")


def per_topic(help: str) -> Any:
    return flag("--per-topic, -q", help, group=RESULT)


def show(*choices: str, help: str) -> Any:
    """`--show`; the first choice is the default."""
    return option("--show WHAT", help, default=choices[0], choices=choices, group=RESULT)


class Sized(Verb):
    """How much is read."""

    max_size: str | None = option(
        "--max-size SIZE",
        "The most to read from a pipe or to unpack from a compressed file, such as 500M or 20G; default: 4G.",
        group=READING,
        solves="size_limit=",
    )

    def check(self) -> None:
        super().check()
        from cranfield.collection.source import MOST_BYTES, set_size_limit

        set_size_limit(MOST_BYTES if self.max_size is None else bytes_of(self.max_size))


def bytes_of(text: str) -> int:
    """The value of `--max-size`.

    >>> bytes_of("20G"), bytes_of("1.5k"), bytes_of("100")
    (21474836480, 1536, 100)
    """
    size = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", text.strip().upper())
    if size is None:
        raise UsageError(f"--max-size {text}: expected a number of bytes, such as 500M or 20G")
    return int(float(size[1]) * 1024 ** (" KMGT".index(size[2]) if size[2] else 0))


def split_tags() -> Any:
    return flag(
        "--split-tags",
        "Read a run for each tag (last column) of a file of runs; without this, a file is one run.",
        group=READING,
        solves="split_tags=",
    )


# -- what is read


class Files(Sized):
    """How files of judgments and runs are read."""

    run_format: str | None = option(
        "--input-format, --run-format FORMAT",
        "Format of the runs: {names}; default: detected.",
        group=READING,
        names=RUN_FORMATS,
    )
    qrels_format: str | None = option(
        "--qrels-format FORMAT",
        "Format of the judgments: {names}; default: detected. With diversity, column 2 is always the intent; with "
        "trec, it never has a meaning.",
        group=READING,
        names=QRELS_FORMATS,
        solves="'(diversity|trec)'",
    )
    split_tags: bool = split_tags()
    columns: str | None = option(
        "--columns ROLE=NAME,...",
        "Columns of tables that have unusual names: topic=search_term,doc=sku,grade=stars. Roles: topic, doc, grade, "
        "score, rank, name and label.",
        group=READING,
        solves="columns=",
    )
    on_duplicate: str = option(
        "--on-duplicate RULE",
        "A document that appears twice in a list: {names} (stop with an error, keep the first, or keep the highest "
        "score or grade).",
        default="error",
        choices=("error", "first", "max"),
        group=READING,
        solves="on_duplicate=",
    )

    def check(self) -> None:
        super().check()
        columns_of(self.columns)
        for parameter in declared(type(self)):
            value = getattr(self, parameter.name)
            if parameter.name in ("run_format", "qrels_format") and value not in (None, *parameter.values()):
                formats = ", ".join(parameter.values())
                raise UsageError(f"{parameter.spellings[-1]} == {value!r}, must be one of {formats}")

    def perform(self) -> int | None:
        from cranfield.collection.column_names import named_columns

        with named_columns(columns_of(self.columns)):
            return super().perform()

    def read_qrels(self, path: str) -> Qrels:
        """The judgments in a file."""
        from cranfield.collection.qrels import Qrels

        return Qrels.read(path, format=self.qrels_format, on_duplicate=self.on_duplicate)

    def read_runs(self, paths: Sequence[str]) -> dict[str, Run]:
        """The runs in files, each under a name of its own."""
        from cranfield.assessed.joined_runs import distinct_names
        from cranfield.collection.run import read_runs

        runs = read_runs(paths, format=self.run_format, **self.values("on_duplicate", "split_tags"))
        names = distinct_names([run.name for run in runs], [run.path or "" for run in runs])
        return dict(zip(names, runs, strict=True))


def order() -> Any:
    return option(
        "--order RULE",
        "Rank documents by {names}: by score (ties by document id, descending, as in trec_eval), by the rank column, "
        "or in the order of the file; default: score if there are scores, else rank.",
        choices=("score", "rank", "file"),
        group=RANKING,
        solves="order=",
    )


def intent_types() -> Any:
    return option(
        "--intent-types FILE",
        "Types of intents: lines of topic, intent, and inf (informational) or nav (navigational); default: all inf.",
        group=SIDE,
    )


class Ranked(Files):
    """How files are read and lists are ranked."""

    order: str | None = order()
    precision: int = option(
        "--precision BITS",
        "Compare scores as 64-bit numbers, or as 32-bit numbers like trec_eval 9.",
        default=64,
        group=RANKING,
    )


class Lists(Ranked):
    """How files are read and lists are ranked, and further files that some measures need."""

    memory: str | None = option(
        "--memory SIZE",
        "The most memory to use while runs are read, such as 500MB or 1GB; default: what is fast. The result does not "
        "depend on it.",
        group=READING,
        solves="memory=",
    )
    intent_probabilities: str | None = option(
        "--intent-probabilities FILE",
        "Probabilities of intents: a file with lines of topic, intent, probability (and perhaps the type); or uniform "
        "(the default); or nonuniform (each intent is half as likely as the one before).",
        group=SIDE,
    )
    intent_types: str | None = intent_types()
    empty_intents: str = option(
        "--empty-intents RULE",
        "Intents without relevant documents, {names}: the other intents share their probability, or they keep it, as "
        "in NTCIREVAL.",
        default="renormalise",
        names="assessed.join_options:EMPTY_INTENTS",
        group=SIDE,
    )
    topic_numbers: str | None = option(
        "--topic-numbers FILE",
        "Parameters by topic: topic and N, the documents to read or in the collection, for WSS, LastRel, ESL, "
        "Accuracy and others; or a header line topic,N,alpha "
        '(alpha for alpha-nDCG(alpha="topic")).',
        group=SIDE,
    )
    lengths: str | None = option(
        "--lengths FILE",
        "Document lengths for TBG (words) and U (characters): lines of doc, length and optionally length of the "
        'snippet; or a table with the header doc, words, characters, snippet, cost (for C/W/L with cost="cost").',
        group=SIDE,
    )
    missing_length: str | None = option(
        "--missing-length N",
        "Length of documents that are not in the file of lengths: a number, or mean; default: stop with an error.",
        group=SIDE,
    )
    strata: bool = flag(
        "--strata",
        "Column 2 of the judgments is the stratum a document was drawn from, for xinfAP and infNDCG; grade -1: it was "
        "not drawn. Without this, it is if most grades are -1 or such a measure is asked for.",
        group=RANKING,
    )
    inclusion: str | None = option(
        "--inclusion FILE",
        "Sampling probabilities of judged documents, for statAP: lines of topic, doc, probability; or files of TREC's "
        "Legal (.probs) and Million Query (prels) tracks.",
        group=SIDE,
    )
    together: str | None = option(
        "--together FILE",
        "Documents that are relevant only together: lines of topic, set and doc. A set counts once, at the rank of its "
        "last document.",
        group=SIDE,
    )
    dimensions: list[str] | None = option(
        "--dimension NAME=FILE",
        "Judgments of another dimension of relevance, for uRBP (understandability), cRBP (credibility), CAM, "
        "MM and TOMA. May be repeated.",
        group=SIDE,
    )

    def join_options(self) -> dict[str, Any]:
        """The options under the names that `evaluate` and `JoinOptions` use."""
        return {
            "order": self.order,
            "precision": self.precision,
            "on_duplicate": self.on_duplicate,
            "format": self.run_format,
            "split_tags": self.split_tags,
            "memory": self.memory,
            "intent_probabilities": self.intent_probabilities,
            "intent_types": self.intent_types,
            "empty_intents": self.empty_intents,
            "topic_numbers": self.topic_numbers,
            "together": self.together,
            "lengths": self.lengths,
            "strata": self.strata,
            "inclusion": self.inclusion,
            "missing_length": assumed_length(self.missing_length),
            "dimensions": named_files(self.dimensions),
        }

    def joining(self) -> JoinOptions:
        """The options as one record."""
        from cranfield.assessed.join_options import JoinOptions

        return JoinOptions(**self.join_options())


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

    def read_whole(self) -> tuple[Qrels, list[str]]:
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
            from cranfield.meta.scale.transformed_scores import interval_scores

            lists = self.assessed()
            with self.progress("enumerating lists") as progress:
                return interval_scores(lists, wanted, missing=missing, progress=progress)

        return self.kept(make)

    def kept(self, make: Callable[[], Scores]) -> Scores:
        """The scores to work on; `ByClass` makes them once and gives those of one class of topics at a time."""
        return make()


class Source(Collection):
    """What is read: judgments and runs with measures, or files of scores."""

    measures: list[str] | None = measures()
    scores: list[str] | None = scores()
    missing: str = missing()

    def given(self) -> bool:
        return super().given() or bool(self.scores)

    def check(self) -> None:
        super().check()
        if self.scores and (self.qrels is not None or self.sample):
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
        return self.evaluate(chosen(wanted or [usual]), missing=self.missing, **more)

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
        return self.interval_scores(chosen(self.measures or [usual]), self.missing)

    def read_scores_by_file(self, purpose: str) -> dict[str, Scores]:
        """The scores of each file of `--scores` under its name. `purpose` begins the message if there are too few."""
        from cranfield.assessed.joined_runs import distinct_names
        from cranfield.collection.source import stem

        if len(self.scores or []) < 2:
            raise UsageError(f"{purpose}; give --scores FILE two times or more")
        files = self.scores or []
        names = distinct_names([stem(path) for path in files], files)
        return {name: read_score_files([path], self.measures) for name, path in zip(names, files, strict=True)}


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
    scores = parts[0] if len(parts) == 1 else Scores.combine(*parts, missing="skip" if missing == "zero" else missing)
    return scores.select(measures=wanted) if wanted else scores


def shared_measures(parts: Mapping[str, Scores]) -> list[str]:
    """The measures that all files of scores have."""
    first, *others = parts.values()
    names = [name for name in first.measures if all(name in other for other in others)]
    if not names:
        raise UsageError(f"no measure is in all {len(parts)} files of scores; name the one to read: -m")
    return names


# -- values


def assumed_length(text: str | None) -> float | str | None:
    """The value of `--missing-length`.

    >>> assumed_length("500"), assumed_length("mean")
    (500.0, 'mean')
    """
    return float(text) if text is not None and re.fullmatch(r"\d+(\.\d*)?", text) else text


def columns_of(text: str | None) -> dict[str, str]:
    """The value of `--columns`.

    >>> columns_of("topic=search term, doc=sku")
    {'topic': 'search term', 'doc': 'sku'}
    """
    columns: dict[str, str] = {}
    for pair in (text or "").split(",") if text else ():
        role, sign, name = (part.strip() for part in pair.partition("="))
        if not (role and sign and name):
            raise UsageError(f"--columns {text}: expected roles and columns, such as topic=search_term,doc=sku")
        if role in columns:
            raise UsageError(f"--columns {text}: {role} is given twice")
        columns[role] = name
    return columns


def baseline_file(runs: list[str] | None, baseline: str | None) -> tuple[list[str] | None, str | None]:
    """The runs and the name of the baseline, if `--baseline` is a file or NAME=FILE instead of a name.

    >>> baseline_file(["a.run", "b.run"], "a")
    (['a.run', 'b.run'], 'a')
    """
    import os

    from cranfield.collection.source import named_paths, stem

    if baseline is None or runs is None:
        return runs, baseline
    is_file = os.path.isfile(baseline)
    if not is_file and not ("=" in baseline and os.path.isfile(baseline.partition("=")[2])):
        return runs, baseline
    (name, path), *_ = named_paths([baseline])
    name = name or stem(path)
    others = [run for run in runs if not (os.path.exists(run) and os.path.samefile(run, path))]
    return [*others, f"{name}={path}"], name


def named_files(texts: Iterable[str] | None) -> dict[str, str] | None:
    """The values of `--dimension`.

    >>> named_files(["credibility=cred.qrels"])
    {'credibility': 'cred.qrels'}
    """
    files: dict[str, str] = {}
    for text in texts or ():
        name, sign, path = text.partition("=")
        if not (name and sign and path):
            raise UsageError(f"--dimension {text}: expected a name and a file, such as credibility=FILE")
        if name in files:
            raise UsageError(f"--dimension {name}: given twice, as {files[name]} and {path}")
        files[name] = path
    return files or None


def numbers(label: str, text: str | None) -> list[float] | None:
    """Numbers separated by commas or blanks; None if the option was not given.

    >>> numbers("--rates", "0.5,0.1")
    [0.5, 0.1]
    """
    if text is None:
        return None
    try:
        values = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        values = []
    if not values:
        raise UsageError(f"{label} {text}: expected numbers separated by commas")
    return values


def whole_numbers(label: str, text: str | None) -> list[int] | None:
    """As `numbers`, for whole numbers from 1 on."""
    values = numbers(label, text)
    if any(value < 1 or value != int(value) for value in values or ()):
        raise UsageError(f"{label} {text}: expected whole numbers from 1 on, separated by commas")
    return None if values is None else [int(value) for value in values]
