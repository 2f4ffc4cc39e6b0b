"""Scores: a number for each measure, run and topic, with labels."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield import check
from cranfield.collection.accepted_inputs import FrameLike
from cranfield.collection.source import PathLike, write_bytes
from cranfield.errors import DataError, UsageError
from cranfield.frames import need
from cranfield.notes import caution_note, method_note
from cranfield.record import Shown
from cranfield.scores import score_input, score_text
from cranfield.scores import summary as summaries
from cranfield.scores.basis import Basis, warn_of_unlike
from cranfield.scores.labels import label, positions, repeated, same_measure
from cranfield.scores.score_input import AXES, FORMATS, MISSING_RULES, Cells, Mask, ScoreFile, format_of
from cranfield.scores.standardisation import TRANSFORMATIONS, arcsine, standardise
from cranfield.scores.summary import Risk, Summary
from cranfield.scores.topic_classes import Classes, topics_by_class
from cranfield.table import Estimate, Table
from cranfield.text import counted, listed
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.scores.labels import MeasureLike


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Scores(Shown):
    """The scores of runs on topics by measures.

    NaN is undefined: the measure has no value on that topic, like AP for a topic without relevant documents. A topic
    that a run lacks is *missing*, which is different: with the rule `zero` it has the score of an empty list, with
    `skip` it has none. `missing` marks these topics. Means are over the topics with a value.

    >>> scores = Scores.from_matrix([[0.2, 0.4], [0.6, 0.4]], runs=["a", "b"], topics=["301", "302"], measure="AP")
    >>> scores
    Scores: 1 measure × 2 runs × 2 topics
           AP
    a  0.4000
    b  0.4000
    >>> scores["AP"].to_dict()
    {'a': {'301': {'AP': 0.2}, '302': {'AP': 0.6}}, 'b': {'301': {'AP': 0.4}, '302': {'AP': 0.4}}}
    """

    figure = "describe_boxes"

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    values: Array
    """measures × runs × topics."""
    missing: Mask
    """runs × topics: the run lacks the topic."""
    missing_rule: str
    """`zero`: a missing topic has the score of an empty list; `skip`: it has none."""
    notes: tuple[str, ...]
    """What readers of the scores must know, such as the rule that ordered the documents."""
    basis: Basis | None
    """What the scores were computed from; None if that is not known. Equal scores may have different ones."""

    def __init__(
        self,
        measures: Iterable[MeasureLike],
        runs: Iterable[str],
        topics: Iterable[str],
        values: ArrayLike,
        missing: ArrayLike | None = None,
        missing_rule: str = "zero",
        notes: Iterable[str] = (),
        basis: Basis | None = None,
    ) -> None:
        check.one_of("Scores", MISSING_RULES, missing_rule=missing_rule)
        axes = {
            "measures": tuple(map(label, measures)),
            "runs": tuple(map(str, runs)),
            "topics": tuple(map(str, topics)),
        }
        for kind, names in axes.items():
            if position := repeated(names):
                raise UsageError(f"Scores: {kind} has {names[position]!r} twice, labels must differ")
            object.__setattr__(self, kind, names)
        shape = tuple(map(len, axes.values()))
        numbers = np.array(values, dtype=np.float64)
        if numbers.shape != shape:
            raise UsageError(f"Scores: values.shape == {numbers.shape}, must be measures × runs × topics: {shape}")
        lacks = np.zeros(shape[1:], dtype=bool) if missing is None else np.array(missing, dtype=bool)
        if lacks.shape != shape[1:]:
            raise UsageError(f"Scores: missing.shape == {lacks.shape}, must be runs × topics: {shape[1:]}")
        if missing_rule == "skip":
            numbers[:, lacks] = np.nan
        numbers.setflags(write=False)
        lacks.setflags(write=False)
        object.__setattr__(self, "values", numbers)
        object.__setattr__(self, "missing", lacks)
        object.__setattr__(self, "missing_rule", missing_rule)
        object.__setattr__(self, "notes", tuple(notes))
        object.__setattr__(self, "basis", basis)

    # -- the value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scores):
            return NotImplemented
        return (
            self._facts() == other._facts()
            and np.array_equal(self.values, other.values, equal_nan=True)
            and np.array_equal(self.missing, other.missing)
        )

    def __hash__(self) -> int:
        return hash((self.measures, self.runs, self.topics))

    def _facts(self) -> tuple[object, ...]:
        return self.measures, self.runs, self.topics, self.missing_rule, self.notes

    def __len__(self) -> int:
        return len(self.measures)

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __contains__(self, measure: MeasureLike) -> bool:
        name = label(measure)
        return name in self.measures or same_measure(name, self.measures) is not None

    def __getitem__(self, measure: MeasureLike) -> Scores:
        """The scores of one measure, given as a measure or by any of its names."""
        return self.select(measures=[measure])

    def select(
        self,
        measures: Iterable[MeasureLike] | MeasureLike | None = None,
        runs: Iterable[str] | str | None = None,
        topics: Iterable[str] | str | None = None,
    ) -> Scores:
        """Some of the measures, runs and topics, in the order given.

        >>> Scores.from_matrix([[0.2, 0.4]], runs=["a", "b"]).select(runs="c")
        Traceback (most recent call last):
        cranfield.errors.UsageError: no run 'c'; there are 'a', 'b'
        """
        m, r = positions(measures, self.measures, "measure"), positions(runs, self.runs, "run")
        t = positions(topics, self.topics, "topic")
        return replace(
            self,
            measures=tuple(self.measures[i] for i in m),
            runs=tuple(self.runs[i] for i in r),
            topics=tuple(self.topics[i] for i in t),
            values=self.values[np.ix_(m, r, t)],
            missing=self.missing[np.ix_(r, t)],
        )

    def by_class(self, classes: Classes) -> dict[str, Scores]:
        """The scores of each class of topics.

        `classes` is {topic: class} or a file with lines of topic and class. Topics without a class are left out, and a
        warning counts them.

        >>> scores = Scores.from_matrix([[0.2], [0.4], [0.9]], runs=["a"], topics=["301", "302", "303"], measure="AP")
        >>> parts = scores.by_class({"301": "hard", "302": "hard", "303": "easy"})
        >>> {name: (len(part.topics), round(part.mean()["a"]["AP"], 2)) for name, part in parts.items()}
        {'hard': (2, 0.3), 'easy': (1, 0.9)}
        """
        return {name: self.select(topics=topics) for name, topics in topics_by_class(self.topics, classes).items()}

    @property
    def undefined(self) -> Mask:
        """measures × runs × topics: NaN, but not because the topic is missing and skipped."""
        return np.asarray(np.isnan(self.values) & ~(self.missing & (self.missing_rule == "skip")))

    def lacking(self) -> list[str]:
        """The runs with missing topics, each with these topics, for messages."""
        runs = np.flatnonzero(self.missing.any(axis=1)).tolist()
        return [f"{self.runs[r]} ({listed(compress(self.topics, self.missing[r].tolist()), 3)})" for r in runs]

    # -- one number per run

    def means(self) -> Array:
        """The mean over topics, measures × runs; NaN where no topic has a value."""
        return summaries.mean(self.values)

    def mean(self) -> dict[str, dict[str, float]]:
        """The mean over topics as {run: {measure: mean}}."""
        by_run = self.means().T.tolist()
        return {run: dict(zip(self.measures, row, strict=True)) for run, row in zip(self.runs, by_run, strict=True)}

    def summary(
        self,
        statistic: str = "mean",
        *,
        level: float | None = 0.95,
        method: str | None = None,
        resamples: int = 10_000,
        seed: int = 0,
        rng: np.random.Generator | None = None,
        worst: int | None = None,
    ) -> Summary:
        """One number per measure and run, with an interval and the number of topics.

        `statistic` is `mean`, `gmean` (trec_eval's geometric mean), `median`, `std`, `min`, `max` or `area`, the area
        under the curve of the mean of the x worst topics, up to x = `worst`, by default a quarter of the topics (see
        `area_of_worst`). `method` is `range` (mean, gmean; see `mean_intervals`), `t` (Student's; mean, gmean) or
        `bootstrap` (percentile, over topics), by default the first that the statistic allows. There are no intervals
        for `min` and `max`, nor for a single topic.

        >>> scores = Scores.from_matrix([[0.1], [0.2], [0.3]], runs=["a"], measure="AP")
        >>> print(scores.summary())
        mean over topics, 95% interval within the range of the measure
        AP  a  0.2000 [0.0711, 0.6836]  n=3
        """
        self._check_worst(statistic, worst)
        values = summaries.statistic(self.values, statistic, worst=worst)
        if method is None and statistic in ("min", "max"):
            level = None
        low = high = np.full(values.shape, np.nan)
        if level is None:
            method = None
        else:
            if not 0 < level < 1:
                raise UsageError(f"summary: level == {level!r}, must be above 0 and below 1, such as 0.95")
            method = method or ("range" if statistic in ("mean", "gmean") else "bootstrap")
            check.one_of("summary", ("range", "t", "bootstrap"), method=method)
            if method == "range":
                low, high = summaries.default_interval(self.values, self.measures, statistic, level)
            elif method == "t":
                low, high = summaries.t_interval(self.values, statistic, level)
            else:
                seed = seed if rng is None else int(rng.integers(2**63))
                options: dict[str, Any] = {"resamples": resamples, "seed": seed, "worst": worst}
                low, high = summaries.bootstrap_interval(self.values, statistic, level, **options)
        used = (~np.isnan(self.values)).sum(axis=-1)
        lacking = np.broadcast_to(self.missing.sum(axis=-1), used.shape)
        columns = (values, low, high, used, self.undefined.sum(axis=-1), lacking)
        rows = zip(*(column.ravel().tolist() for column in columns), strict=True)
        names = product(self.measures, self.runs)
        estimates = tuple(Estimate(*name, *row) for name, row in zip(names, rows, strict=True))
        how, notes = summaries.explained(self.values, self.measures, self.runs, method)
        return Summary(statistic, level, method, estimates, how, notes)

    def _check_worst(self, statistic: str, worst: int | None) -> None:
        if statistic != "area":
            if worst is not None:
                raise UsageError(f"summary: worst == {worst!r} is for the statistic 'area', not for {statistic!r}")
            return
        from cranfield.measures.property_tables import lower_is_better

        for name in filter(lower_is_better, self.measures):
            raise UsageError(f"summary: area needs a measure whose higher scores are better, unlike {name}")
        if worst is not None and worst > len(self.topics):
            raise UsageError(f"summary: worst == {worst}, expected at most {counted(len(self.topics), 'topic')}")

    def standardised(
        self, method: str = "z", reference: Scores | None = None, *, cdf: bool = False, a: float = 0.15, b: float = 0.5
    ) -> Scores:
        r"""Scores relative to those of reference runs (by default these runs) on the same topic.

        `z`: :math:`(x - m_t) / s_t`, with `cdf=True` through the normal distribution function (Webber, Moffat & Zobel,
        SIGIR 2008, 51-58). `linear`: :math:`a z + b` cut off at 0 and 1 (Sakai, ICTIR 2016, 95-104). `empirical`: the
        share of reference runs that score no higher (Urbano, Lima & Hanjalic, SIGIR 2019, 1061-1064,
        doi:10.1145/3331184.3331315). `standardise` says when these are undefined.

        >>> scores = Scores.from_matrix([[0.1, 0.2, 0.6]], runs=["a", "b", "c"])
        >>> scores.standardised("empirical").values.round(3).tolist()
        [[[0.333], [0.667], [1.0]]]
        """
        aligned = (reference or self).select(measures=self.measures, topics=self.topics)
        if len(aligned.runs) < 2 and method != "empirical":
            raise UsageError(f"standardised: {len(aligned.runs)} reference runs, {method!r} needs 2 or more")
        values = standardise(self.values, aligned.values, method, cdf=cdf, a=a, b=b)
        how = {"z": "z through the normal distribution" if cdf else "z", "linear": f"linear, a={a:g}, b={b:g}"}
        note = method_note(f"standardised per topic ({how.get(method, method)}) on {len(aligned.runs)} runs")
        unlike = warn_of_unlike(["the scores", "the reference"], [self.basis, aligned.basis])
        return self._rescaled(values, note, unlike)

    def transformed(self, kind: str = "arcsine") -> Scores:
        r"""Every score x as :math:`\arcsin\sqrt x` ("arcsine"), so that variances depend less on means.

        It is meant for tests that assume equal variances or normal differences. Scores must be between 0 and 1.
        Reference: Bartlett, Biometrics 3(1), 1947 (Tague-Sutcliffe & Blustein, TREC-3, 1994, used it for ANOVA)

        >>> Scores.from_matrix([[0.25, 1.0]]).transformed().values.round(4).tolist()
        [[[0.5236], [1.5708]]]
        """
        check.one_of("transformed", TRANSFORMATIONS, kind=kind)
        values = arcsine(self.values)
        outside = np.argwhere(np.isnan(values) & ~np.isnan(self.values))
        if len(outside):
            measure, run, topic = outside[0].tolist()
            score = f"{self.measures[measure]} of {self.runs[run]} on topic {self.topics[topic]}"
            raise UsageError(
                f"transformed: {score} is {self.values[measure, run, topic]:g}, must be between 0 and 1 for arcsine"
            )
        note = caution_note(
            "arcsine: every score x became arcsin √x (0 to 1.5708); means, differences and intervals are of these"
        )
        return self._rescaled(values, note)

    def _rescaled(self, values: Array, note: str, more: Sequence[str] = ()) -> Scores:
        basis = self.basis and self.basis.with_rule("scale", note)
        return replace(self, values=values, notes=(*self.notes, note, *more), basis=basis)

    def risk(self, kind: str = "URisk", baseline: str | None = None, alpha: float = 1.0) -> Risk:
        """The risk of each run: `URisk` or `TRisk` against a baseline run, or `GeoRisk` against all runs.

        >>> scores = Scores.from_matrix([[0.4, 0.5], [0.4, 0.2]], runs=["base", "new"])
        >>> round(scores.risk("URisk", "base").to_dict()["new"]["score"], 4)
        -0.15
        """
        check.one_of("risk", ("URisk", "TRisk", "GeoRisk"), kind=kind)
        if kind == "GeoRisk":
            values = np.stack([summaries.georisk(scores, alpha) for scores in self.values])
        elif baseline is None:
            raise UsageError(f"{kind} needs baseline=, one of {', '.join(self.runs)}")
        else:
            against = self.select(runs=[baseline]).values
            compute = summaries.urisk if kind == "URisk" else summaries.trisk
            values = np.stack([compute(scores, base, alpha) for scores, base in zip(self.values, against, strict=True)])
        return Risk(kind, alpha, baseline, self.measures, self.runs, values)

    # -- output

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, run, topic, value and missing, one entry per score."""
        shape = self.values.shape
        m, r, t = (axis.ravel() for axis in np.indices(shape))
        return {
            "measure": np.array(self.measures, dtype=object)[m],
            "run": np.array(self.runs, dtype=object)[r],
            "topic": np.array(self.topics, dtype=object)[t],
            "value": self.values.ravel(),
            "missing": np.broadcast_to(self.missing, shape).ravel(),
        }

    def _metadata(self) -> dict[str, Any]:
        basis = {} if self.basis is None else {"basis": self.basis.plain(self.topics, self.measures)}
        return {"missing_rule": self.missing_rule, "notes": list(self.notes), **basis}

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """{run: {topic: {measure: value}}}; undefined is NaN, and a missing topic that is skipped is left out."""
        skip = self.missing & (self.missing_rule == "skip")
        by_run = np.moveaxis(self.values, 0, -1).tolist()
        return {
            run: {
                topic: dict(zip(self.measures, by_run[r][t], strict=True))
                for t, topic in enumerate(self.topics)
                if not skip[r, t]
            }
            for r, run in enumerate(self.runs)
        }

    def to_csv(
        self, path: PathLike | None = None, *, sep: str = ",", change: Callable[[str], str] | None = None
    ) -> str:
        """CSV with measure, run, topic, value (all digits, or empty), missing, and in the first row notes and basis.

        `change` is applied to the names of measures, runs and topics, for example `cranfield.table.safe_cell`.
        """
        return _written(score_text.csv_text(self, sep, change), path)

    def to_json(self, path: PathLike | None = None) -> str:
        """JSON with labels, rule, notes, basis, the scores as in `to_dict`, and the missing topics. Returns the text.

        An undefined value is null; infinity is the text "inf". A missing topic that is skipped has no scores.
        """
        return _written(score_text.json_text(self), path)

    def to_parquet(self, path: PathLike) -> None:
        """Parquet with the columns of `to_arrow`, and rule, notes and basis in the metadata of the schema."""
        buffer = io.BytesIO()
        need("pyarrow.parquet", "Parquet").write_table(self.to_arrow(), buffer)
        write_bytes(path, buffer.getvalue())

    def table(self, *, level: float | None = None, digits: int | None = None) -> Table:
        """A row per run and a column per measure: means over topics, with intervals if a level is given."""
        return score_text.means_table(self, level, digits)

    def to_latex(self, *, level: float | None = None, digits: int | None = None) -> str:
        r"""The table of means in LaTeX, with booktabs rules and the best run of each measure in bold.

        >>> print(Scores.from_matrix([[0.2, 0.4]], runs=["a", "b"], measure="AP").to_latex().splitlines()[-3])
        b & \textbf{0.4000} \\
        """
        return self.table(level=level, digits=digits).latex()

    def sort(self, measure: MeasureLike | None = None) -> Scores:
        """The same scores with the best mean first, by a measure, by default the first; undefined means are last.

        >>> Scores.from_matrix([[0.2, 0.4]], runs=["a", "b"], measure="AP").sort().runs
        ('b', 'a')
        """
        from cranfield.measures.property_tables import lower_is_better

        at = 0 if measure is None else positions(measure, self.measures, "measure")[0]
        means = self.means()[at]
        key = np.where(np.isnan(means), np.inf, means if lower_is_better(self.measures[at]) else -means)
        return self.select(runs=[self.runs[run] for run in np.argsort(key, kind="stable")])

    def plot(self, measure: MeasureLike | None = None, **options: Any) -> Any:
        """Box plots of the runs by one measure, by default the first."""
        return super().plot(measure=self.measures[0] if measure is None else measure, **options)

    def write(self, path: PathLike, format: str | None = None) -> None:
        """Write csv, tsv, json or parquet, by suffix unless given; the file is written whole or not at all."""
        kind = format or format_of(os.fspath(path))
        if kind is None:
            raise UsageError(f"{os.fspath(path)}: unknown suffix, must be one of {', '.join(FORMATS)}")
        check.one_of("write", tuple(dict.fromkeys(FORMATS.values())), format=kind)
        if kind == "parquet":
            self.to_parquet(path)
        elif kind == "json":
            self.to_json(path)
        else:
            self.to_csv(path, sep="\t" if kind == "tsv" else ",")

    # -- input

    @staticmethod
    def from_matrix(
        values: ArrayLike,
        runs: Iterable[str] | None = None,
        topics: Iterable[str] | None = None,
        measure: MeasureLike = "score",
    ) -> Scores:
        """From a row per topic and a column per run; default names are run1, run2, ... and 1, 2, ..."""
        return _wrapped(score_input.from_matrix(values, runs, topics, label(measure)))

    @staticmethod
    def from_dict(
        data: Mapping[str, Mapping[str, Any]],
        *,
        measure: MeasureLike = "score",
        missing: str | None = None,
        notes: Iterable[str] = (),
    ) -> Scores:
        """From {run: {topic: {measure: value}}}, or {run: {topic: value}} of one `measure`.

        A topic that a run lacks and others have is missing: it counts as 0 with a warning, or is left out with
        `missing="skip"`.

        >>> Scores.from_dict({"a": {"301": {"AP": 0.2}}}).means().tolist()
        [[0.2]]
        """
        return _wrapped(score_input.from_nested(data, label(measure), missing, {"notes": notes}))

    @staticmethod
    def from_frame(
        frame: FrameLike, *, measure: MeasureLike | None = None, run: str | None = None, missing: str | None = None
    ) -> Scores:
        """From a table with a row per score: pandas, polars, Arrow, or a mapping from column names to columns.

        Columns: measure (metric), run (system), topic (query_id, qid), value (score), and optionally missing.
        `measure` and `run` replace a column that is missing.

        >>> Scores.from_frame({"topic": ["1", "2"], "value": [0.5, 0.7]}, run="a", measure="AP").means().tolist()
        [[0.6]]
        """
        name = None if measure is None else label(measure)
        return _wrapped(score_input.from_frame(frame, name, run, missing))

    @staticmethod
    def combine(*parts: Scores, missing: str | None = None, names: Sequence[str] = ()) -> Scores:
        """Combine scores of several runs, topics or measures.

        A topic that a run lacks in all parts is missing: it counts as 0 with a warning if another run has a score, or
        is left out with `missing="skip"`. A warning and a note say if parts were computed from other judgments, by
        other definitions of a measure or by other rules. `names` are the names of the parts in messages.

        >>> a, b = (Scores.from_matrix([[0.5]], runs=[name]) for name in "ab")
        >>> Scores.combine(a, b).runs
        ('a', 'b')
        """
        rules = {part.missing_rule for part in parts if part.missing.any()}
        if missing is None and len(rules) > 1:
            problem = "missing topics count as 0 in some parts, not in others"
            raise UsageError(f"combine: {problem}; use missing='zero' or 'skip'")
        bases = [part.basis for part in parts]
        unlike = warn_of_unlike(names or [f"part {number}" for number in range(1, len(parts) + 1)], bases)
        columns = [part.columns() for part in parts]
        cells = score_input.grid(
            {axis: [x for part in columns for x in part[axis].tolist()] for axis in AXES},
            np.concatenate([np.empty(0), *(part["value"] for part in columns)]),
            np.concatenate([np.empty(0, dtype=bool), *(part["missing"] for part in columns)]),
            missing or next(iter(rules), "zero"),
            {"notes": dict.fromkeys([*(note for part in parts for note in part.notes), *unlike])},
            lambda _, message: DataError("combine", None, message),
        )
        return replace(_wrapped(cells), basis=Basis.union(bases))

    @staticmethod
    def read(
        path: PathLike | Sequence[PathLike],
        format: str | None = None,
        *,
        measure: MeasureLike = "score",
        run: str | None = None,
        missing: str | None = None,
        header: bool | None = None,
        topic_column: bool | None = None,
    ) -> Scores:
        """Read a file of `write`, the output of `trec_eval -q`, or a plain matrix (a row per topic, a column per run).

        `format` is csv, tsv, json, parquet, trec or matrix, by default that of the suffix or detected. `measure` names
        the measure of a matrix; `run` names a run that the file does not name (default: the file name). `header` and
        `topic_column` say whether a matrix has them, if that is unclear. Several paths are combined.
        """
        if not isinstance(path, (str, os.PathLike)):
            options: dict[str, Any] = {"measure": measure, "run": run, "header": header, "topic_column": topic_column}
            parts = [Scores.read(part, format, **options) for part in path]
            return Scores.combine(*parts, missing=missing, names=[os.fspath(part) for part in path])
        file = ScoreFile(os.fspath(path), format, label(measure), run, missing, header, topic_column)
        return _wrapped(file.read())

    def __repr__(self) -> str:
        return score_text.terminal_text(self)

    def _repr_html_(self) -> str:
        return score_text.html_text(self)


def _wrapped(cells: Cells) -> Scores:
    return Scores(**vars(cells))


def _written(text: str, path: PathLike | None) -> str:
    if path is not None:
        write_bytes(path, text.encode())
    return text
