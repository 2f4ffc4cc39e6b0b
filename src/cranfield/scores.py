"""Scores: measure × run × topic, with labels, and the ways in and out."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield import aggregate, check
from cranfield.aggregate import Array, Estimate, Summary, Tidy, nearest, need
from cranfield.errors import CranfieldWarning, DataError, UsageError

if TYPE_CHECKING:
    from cranfield.measures.base import Measure

    MeasureLike = str | Measure | type[Measure]
    Path = str | os.PathLike[str]

MISSING_RULES = ("zero", "skip")
FORMATS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}
"""The formats that `write` knows, by how a file's name ends."""
READABLE = ("csv", "tsv", "json", "parquet", "trec", "matrix")

_Mask = NDArray[np.bool_]
_Fault = Callable[[int, str], DataError]
"""What to raise about the n-th entry of what is being read."""


def label(measure: MeasureLike) -> str:
    """What a measure is called in scores; a class stands for its default instance."""
    return str(measure() if isinstance(measure, type) else measure)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Scores(Tidy):
    """What every run scored on every topic by every measure.

    NaN is undefined: the measure has no value on that topic, such as AP where nothing is relevant. A topic that a run
    lacks is *missing*, which is another matter: by the rule `zero` it has the score of an empty list, by `skip` it has
    none, and `missing` says which ones they are. Means are over the topics that have a value.

    >>> scores = Scores.from_matrix([[0.2, 0.4], [0.6, 0.4]], runs=["a", "b"], topics=["301", "302"], measure="AP")
    >>> scores
    Scores: 1 measure × 2 runs × 2 topics
           AP
    a  0.4000
    b  0.4000
    >>> scores["AP"].to_dict()
    {'a': {'301': {'AP': 0.2}, '302': {'AP': 0.6}}, 'b': {'301': {'AP': 0.4}, '302': {'AP': 0.4}}}
    """

    measures: tuple[str, ...]
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    values: Array
    """measures × runs × topics."""
    missing: _Mask
    """runs × topics: the run lacks the topic."""
    missing_rule: str
    """`zero`: a missing topic scores as an empty list would; `skip`: it has no score."""
    notes: tuple[str, ...]
    """What a reader of the numbers must know, such as the rule that ordered the documents."""

    def __init__(
        self,
        measures: Iterable[MeasureLike],
        runs: Iterable[str],
        topics: Iterable[str],
        values: ArrayLike,
        missing: ArrayLike | None = None,
        missing_rule: str = "zero",
        notes: Iterable[str] = (),
    ) -> None:
        check.one_of("Scores", MISSING_RULES, missing_rule=missing_rule)
        labels = {
            "measures": tuple(map(label, measures)),
            "runs": tuple(map(str, runs)),
            "topics": tuple(map(str, topics)),
        }
        for kind, names in labels.items():
            if len(set(names)) < len(names):
                twice = next(name for i, name in enumerate(names) if name in names[:i])
                raise UsageError(f"Scores: {kind} has {twice!r} twice, labels must differ")
            object.__setattr__(self, kind, names)
        shape = tuple(map(len, labels.values()))
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

    # -- as a value

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
        """How many measures there are."""
        return len(self.measures)

    def __iter__(self) -> Iterator[str]:
        """The measures' labels."""
        return iter(self.measures)

    def __contains__(self, measure: MeasureLike) -> bool:
        return label(measure) in self.measures

    def __getitem__(self, measure: MeasureLike) -> Scores:
        """The scores of one measure, given by its name or as the measure itself."""
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
        if measures is None or isinstance(measures, str):
            labels: Iterable[str] | str | None = measures
        elif isinstance(measures, type):
            labels = label(measures)
        else:
            labels = [label(m) for m in measures] if isinstance(measures, Iterable) else label(measures)
        m = _positions(labels, self.measures, "measure")
        r = _positions(runs, self.runs, "run")
        t = _positions(topics, self.topics, "topic")
        return Scores(
            [self.measures[i] for i in m],
            [self.runs[i] for i in r],
            [self.topics[i] for i in t],
            self.values[np.ix_(m, r, t)],
            self.missing[np.ix_(r, t)],
            self.missing_rule,
            self.notes,
        )

    @property
    def undefined(self) -> _Mask:
        """measures × runs × topics: there is no value, and not because the topic was skipped as missing."""
        return np.asarray(np.isnan(self.values) & ~(self.missing & (self.missing_rule == "skip")))

    # -- one number per run

    def means(self) -> Array:
        """The mean over topics, measures × runs; NaN where no topic has a value."""
        return aggregate.mean(self.values)

    def mean(self) -> dict[str, dict[str, float]]:
        """The mean over topics as {run: {measure: mean}}."""
        by_run = self.means().T.tolist()
        return {run: dict(zip(self.measures, row, strict=True)) for run, row in zip(self.runs, by_run, strict=True)}

    def summary(
        self,
        statistic: str = "mean",
        *,
        interval: float | None = 0.95,
        method: str | None = None,
        resamples: int = 10_000,
        seed: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Summary:
        """One number per measure and run, with an interval and the number of topics it rests on.

        `statistic` is `mean`, `gmean` (trec_eval's geometric mean), `median`, `std`, `min` or `max`. `method` is `t`
        (mean, gmean) or `bootstrap` (percentile, over topics); left out, it is the first that the statistic allows.
        The smallest and the largest value get no interval, and a single topic none either.

        >>> scores = Scores.from_matrix([[0.1], [0.2], [0.3]], runs=["a"], measure="AP")
        >>> print(scores.summary())
        mean over topics, 95% interval by t
        AP  a  0.2000 [-0.0484, 0.4484]  n=3
        """
        values = aggregate.statistic(self.values, statistic)
        if method is None and statistic in ("min", "max"):
            interval = None
        low = high = np.full(values.shape, np.nan)
        if interval is None:
            method = None
        else:
            if not 0 < interval < 1:
                raise UsageError(f"summary: interval == {interval!r}, must be above 0 and below 1, such as 0.95")
            method = method or ("t" if statistic in ("mean", "gmean") else "bootstrap")
            check.one_of("summary", ("t", "bootstrap"), method=method)
            if method == "t":
                low, high = aggregate.t_interval(self.values, statistic, interval)
            else:
                begin = seed if rng is None else int(rng.integers(2**63))
                low, high = aggregate.bootstrap_interval(
                    self.values, statistic, interval, resamples=resamples, seed=begin
                )
        used = (~np.isnan(self.values)).sum(axis=-1)
        undefined = self.undefined.sum(axis=-1)
        lacking = self.missing.sum(axis=-1)
        return Summary(
            statistic,
            interval,
            method,
            tuple(
                Estimate(
                    measure,
                    run,
                    float(values[m, r]),
                    float(low[m, r]),
                    float(high[m, r]),
                    int(used[m, r]),
                    int(undefined[m, r]),
                    int(lacking[r]),
                )
                for m, measure in enumerate(self.measures)
                for r, run in enumerate(self.runs)
            ),
        )

    def standardised(
        self,
        method: str = "z",
        reference: Scores | None = None,
        *,
        cdf: bool = False,
        a: float = 0.15,
        b: float = 0.5,
    ) -> Scores:
        r"""Scores relative to what reference runs (by default these same runs) scored on the same topic.

        `z`: :math:`(x - m_t) / s_t`, with `cdf=True` through the normal distribution function (Webber, Moffat & Zobel,
        SIGIR 2008, 51-58). `linear`: :math:`a z + b` cut off at 0 and 1 (Sakai, ICTIR 2016, 95-104). `empirical`: the
        share of reference runs that score no higher (Urbano, Lima & Hanjalic, SIGIR 2019, 1061-1064,
        doi:10.1145/3331184.3331315).

        A topic on which all reference runs score the same, or fewer than two have a score, says nothing about a run:
        z and linear are undefined there. The empirical share is undefined only where no reference run has a score.

        >>> scores = Scores.from_matrix([[0.1, 0.2, 0.6]], runs=["a", "b", "c"])
        >>> scores.standardised("empirical").values.round(3).tolist()
        [[[0.333], [0.667], [1.0]]]
        """
        aligned = (reference or self).select(measures=self.measures, topics=self.topics)
        if len(aligned.runs) < 2 and method != "empirical":
            raise UsageError(f"standardised: {len(aligned.runs)} reference runs, {method!r} needs 2 or more")
        values = aggregate.standardise(self.values, aligned.values, method, cdf=cdf, a=a, b=b)
        how = {"z": "z through the normal distribution" if cdf else "z", "linear": f"linear, a={a:g}, b={b:g}"}
        note = f"standardised per topic ({how.get(method, method)}) on {len(aligned.runs)} runs"
        return Scores(
            self.measures,
            self.runs,
            self.topics,
            values,
            self.missing,
            self.missing_rule,
            (*self.notes, note),
        )

    # -- out

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, run, topic, value and missing, one entry per score."""
        shape = self.values.shape
        m, r, t = (axis.ravel() for axis in np.indices(shape))
        return {
            "measure": _objects(self.measures)[m],
            "run": _objects(self.runs)[r],
            "topic": _objects(self.topics)[t],
            "value": self.values.ravel(),
            "missing": np.broadcast_to(self.missing, shape).ravel(),
        }

    def _metadata(self) -> dict[str, Any]:
        return {"missing_rule": self.missing_rule, "notes": list(self.notes)}

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """{run: {topic: {measure: value}}}; undefined is NaN, and a topic that was skipped as missing is left out."""
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

    def to_csv(self, path: Path | None = None, *, sep: str = ",") -> str:
        """Comma-separated: measure, run, topic, value, missing, and in the first row the notes. Returns the text.

        An undefined value is empty. Values have all their digits.
        """
        notes = " | ".join(n.replace("\\", "\\\\").replace("|", "\\|") for n in (self.missing_rule, *self.notes))
        columns = self.columns()
        names = [[quoted(v, sep) for v in columns[kind]] for kind in ("measure", "run", "topic")]
        values = ["" if math.isnan(x) else repr(x) for x in columns["value"].tolist()]
        missing = ["true" if x else "false" for x in columns["missing"].tolist()]
        remarks = chain([quoted(notes, sep)], iter(lambda: "", None))
        head = sep.join(("measure", "run", "topic", "value", "missing", "notes"))
        rows = (sep.join(row) for row in zip(*names, values, missing, remarks, strict=False))
        text = "\n".join(chain([head], rows)) + "\n"
        if path is not None:
            _write(path, text.encode())
        return text

    def to_json(self, path: Path | None = None) -> str:
        """JSON: labels, rule, notes, the scores as in `to_dict`, and what is missing. Returns the text.

        An undefined value is null; infinity is the text "inf". A topic skipped as missing has no scores.
        """
        import json

        def number(x: float) -> float | str | None:
            return x if math.isfinite(x) else None if math.isnan(x) else "inf" if x > 0 else "-inf"

        whole = {
            "cranfield": "scores",
            **self._metadata(),
            "measures": self.measures,
            "runs": self.runs,
            "topics": self.topics,
            "missing": {
                run: [self.topics[t] for t in np.flatnonzero(self.missing[r])]
                for r, run in enumerate(self.runs)
                if self.missing[r].any()
            },
            "scores": {
                run: {t: {m: number(x) for m, x in row.items()} for t, row in topics.items()}
                for run, topics in self.to_dict().items()
            },
        }
        text = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
        if path is not None:
            _write(path, text.encode())
        return text

    def to_parquet(self, path: Path) -> None:
        """Parquet: the columns of `to_arrow`, with the rule and the notes in the schema's metadata."""
        import io

        buffer = io.BytesIO()
        need("pyarrow.parquet", "Parquet").write_table(self.to_arrow(), buffer)
        _write(path, buffer.getvalue())

    def write(self, path: Path, format: str | None = None) -> None:
        """Write csv, tsv, json or parquet, by how the file's name ends; the file appears whole or not at all."""
        kind = format or FORMATS.get(_suffix(os.fspath(path)))
        if kind is None:
            raise UsageError(f"{os.fspath(path)}: cannot tell the format, must end in {', '.join(FORMATS)}")
        check.one_of("write", tuple(dict.fromkeys(FORMATS.values())), format=kind)
        if kind == "parquet":
            self.to_parquet(path)
        elif kind == "json":
            self.to_json(path)
        else:
            self.to_csv(path, sep="\t" if kind == "tsv" else ",")

    # -- in

    @staticmethod
    def from_matrix(
        values: ArrayLike,
        runs: Iterable[str] | None = None,
        topics: Iterable[str] | None = None,
        measure: MeasureLike = "score",
    ) -> Scores:
        """From a row per topic and a column per run; names are made up (run1, run2, ...; 1, 2, ...) where not given."""
        table = np.asarray(values, dtype=np.float64)
        if table.ndim != 2:
            raise UsageError(f"from_matrix: values.ndim == {table.ndim}, must be 2: a row per topic, a column per run")
        n_topics, n_runs = table.shape
        return Scores(
            [measure],
            [f"run{i}" for i in range(1, n_runs + 1)] if runs is None else runs,
            map(str, range(1, n_topics + 1)) if topics is None else topics,
            table.T[None],
        )

    @staticmethod
    def from_dict(
        data: Mapping[str, Mapping[str, Any]],
        *,
        measure: MeasureLike = "score",
        missing: str | None = None,
        notes: Iterable[str] = (),
    ) -> Scores:
        """From {run: {topic: {measure: value}}}, or {run: {topic: value}} of one `measure`.

        A topic that only other runs have is missing: it counts as 0 with a warning, or `missing="skip"` leaves it out.

        >>> Scores.from_dict({"a": {"301": {"AP": 0.2}}}).means().tolist()
        [[0.2]]
        """
        return _from_nested("dict", data, label(measure), missing, notes)

    @staticmethod
    def from_frame(
        frame: Any,
        *,
        measure: MeasureLike | None = None,
        run: str | None = None,
        missing: str | None = None,
    ) -> Scores:
        """From a table with a row per score: pandas, polars, Arrow, or a mapping from column names to columns.

        Columns: measure (metric), run (system), topic (query_id, qid), value (score), and missing, if it is there.
        `measure` and `run` stand in for a column that is not.

        >>> Scores.from_frame({"topic": ["1", "2"], "value": [0.5, 0.7]}, run="a", measure="AP").means().tolist()
        [[0.6]]
        """
        columns, facts = _frame_columns(frame)
        return _from_columns(
            columns,
            facts,
            measure=None if measure is None else label(measure),
            run=run,
            missing=missing,
            fault=lambda i, what: DataError("frame", None, f"row {i}: {what}"),
        )

    from_pandas = from_polars = from_arrow = from_frame

    @staticmethod
    def combine(*parts: Scores, missing: str | None = None) -> Scores:
        """Scores of several runs, topics or measures put together.

        A topic that a run lacks in all parts is missing: it counts as 0 with a warning where another run has a score,
        or `missing="skip"` leaves it out.

        >>> a, b = (Scores.from_matrix([[0.5]], runs=[name]) for name in "ab")
        >>> Scores.combine(a, b).runs
        ('a', 'b')
        """
        rules = {part.missing_rule for part in parts if part.missing.any()}
        if missing is None and len(rules) > 1:
            raise UsageError(
                "combine: missing topics count as 0 in some parts, not in others; say missing='zero' or 'skip'"
            )
        columns = [part.columns() for part in parts]
        return _grid(
            *([x for part in columns for x in part[kind].tolist()] for kind in ("measure", "run", "topic")),
            value=np.concatenate([part["value"] for part in columns]) if columns else np.empty(0),
            flagged=np.concatenate([part["missing"] for part in columns]) if columns else None,
            rule=missing or next(iter(rules), "zero"),
            notes=dict.fromkeys(note for part in parts for note in part.notes),
            fault=lambda i, what: DataError("combine", None, what),
        )

    @staticmethod
    def read(
        path: Path | Sequence[Path],
        format: str | None = None,
        *,
        measure: MeasureLike = "score",
        run: str | None = None,
        missing: str | None = None,
        header: bool | None = None,
        topic_column: bool | None = None,
    ) -> Scores:
        """Read what `write` wrote, `trec_eval -q` output, or a plain matrix (a row per topic, a column per run).

        The format is told by the file's name and content, or said: csv, tsv, json, parquet, trec, matrix. `measure`
        names what a matrix holds; `run` names the run where the file does not (else the file's name does). `header` and
        `topic_column` say what a matrix begins with, where it could be mistaken. Several paths are combined.
        """
        if not isinstance(path, (str, os.PathLike)):
            parts = [
                Scores.read(p, format, measure=measure, run=run, header=header, topic_column=topic_column) for p in path
            ]
            return Scores.combine(*parts, missing=missing)
        if format is not None:
            check.one_of("Scores.read", READABLE, format=format)
        if missing is not None:
            check.one_of("Scores.read", MISSING_RULES, missing=missing)
        source = _Source(os.fspath(path), format, label(measure), run, missing, header, topic_column)
        return source.read()

    # -- shown

    def __repr__(self) -> str:
        runs, measures = self.runs[:10], self.measures[:8]
        means = self.means()
        body = [[f"{means[m, r]:.4f}" for m in range(len(measures))] for r in range(len(runs))]
        wide = [max(map(len, column)) for column in zip(measures, *body, strict=True)]
        margin = max(map(len, runs), default=0)
        lines = [self._title(), " " * margin + "".join(f"  {m:>{w}}" for m, w in zip(measures, wide, strict=True))]
        for run, cells in zip(runs, body, strict=True):
            lines.append(f"{run:<{margin}}" + "".join(f"  {c:>{w}}" for c, w in zip(cells, wide, strict=True)))
        if len(runs) < len(self.runs) or len(measures) < len(self.measures):
            lines.append("...")
        return "\n".join(lines + list(self.notes))

    def _title(self) -> str:
        sizes = zip(("measure", "run", "topic"), self.values.shape, strict=True)
        title = "Scores: " + " × ".join(f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in sizes)
        if self.missing.any():
            fate = "count as 0" if self.missing_rule == "zero" else "are left out"
            title += f"; {self.missing.sum()} lists are missing and {fate}"
        undefined = int(self.undefined.sum())
        return title + (f"; {undefined} undefined" if undefined else "")

    def _repr_html_(self) -> str:
        from html import escape

        runs, measures = self.runs[:50], self.measures[:30]
        means = self.means()
        head = "".join(f"<th>{escape(m)}</th>" for m in measures)
        body = "".join(
            f'<tr><th style="text-align:left">{escape(run)}</th>'
            + "".join(f"<td>{means[m, r]:.4f}</td>" for m in range(len(measures)))
            + "</tr>"
            for r, run in enumerate(runs)
        )
        more = "<p>...</p>" if len(runs) < len(self.runs) or len(measures) < len(self.measures) else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<p>{escape(self._title())}</p><table><thead><tr><th>mean</th>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{more}{notes}"
        )


def _objects(names: Sequence[str]) -> NDArray[Any]:
    return np.array(names, dtype=object)


def _positions(wanted: Iterable[str] | str | None, names: tuple[str, ...], kind: str) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    place = {name: i for i, name in enumerate(names)}
    asked = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in asked:
        if name not in place:
            raise nearest(str(name), names, kind)
    return [place[name] for name in asked]


# -- putting entries into the cube


def _codes(names: Sequence[str], known: Sequence[str] | None) -> tuple[list[str], NDArray[np.int64]]:
    labels = list(dict.fromkeys(chain(known or (), names)))
    place = {name: i for i, name in enumerate(labels)}
    return labels, np.fromiter((place[name] for name in names), dtype=np.int64, count=len(names))


def _grid(
    measure: Sequence[str],
    run: Sequence[str],
    topic: Sequence[str],
    *,
    value: Array,
    flagged: _Mask | None,
    rule: str | None,
    notes: Iterable[str],
    fault: _Fault,
    labels: Mapping[str, Sequence[str]] | None = None,
) -> Scores:
    """One entry per score, in any order, to measures × runs × topics.

    A (run, topic) with no entry at all is missing. `rule` None: skip if the entries flagged as missing have no value.
    """
    known = labels or {}
    measures, m = _codes(measure, known.get("measures"))
    runs, r = _codes(run, known.get("runs"))
    topics, t = _codes(topic, known.get("topics"))
    shape = (len(measures), len(runs), len(topics))
    place = np.ravel_multi_index((m, r, t), shape) if len(m) else m
    _, first = np.unique(place, return_index=True)
    if len(first) < len(place):
        i = int(np.setdiff1d(np.arange(len(place)), first)[0])
        raise fault(i, f"measure {measure[i]!r}, run {run[i]!r}, topic {topic[i]!r} has a score already")
    values = np.full(shape, np.nan)
    values.reshape(-1)[place] = value
    listed = np.zeros(shape[1:], dtype=bool)
    listed[r, t] = True
    missing = ~listed
    if flagged is not None:
        missing[r[flagged], t[flagged]] = True
        if rule is None and flagged.any() and np.isnan(value[flagged]).all():
            rule = "skip"
    rule = rule or "zero"
    if rule == "zero" and not listed.all():
        scored = np.zeros((shape[0], 1, shape[2]), dtype=bool)
        scored[m, 0, t] = True
        values[~listed[None] & scored] = 0.0
        some = [f"{runs[i]} {topics[j]}" for i, j in np.argwhere(~listed)[:3]]
        warnings.warn(
            f"{(~listed).sum()} of {listed.size} lists have no score and count as 0: {', '.join(some)}"
            f"{', ...' if (~listed).sum() > 3 else ''}; missing='skip' leaves them out",
            CranfieldWarning,
            stacklevel=4,
        )
    return Scores(measures, runs, topics, values, missing, rule, notes)


_COLUMNS = {
    "measure": ("measure", "metric"),
    "run": ("run", "system", "run_id", "runid", "name"),
    "topic": ("topic", "query_id", "qid", "topic_id", "query"),
    "value": ("value", "score"),
    "missing": ("missing",),
}

_TOPIC_HEADINGS = ("", "id", "#", *_COLUMNS["topic"])


def _known_columns(names: Iterable[str]) -> dict[str, str]:
    """What each column of scores is called in a table that has these columns."""
    folded = {name.strip().casefold(): name for name in names}
    found = {kind: next((folded[s] for s in spellings if s in folded), None) for kind, spellings in _COLUMNS.items()}
    return {kind: name for kind, name in found.items() if name is not None}


def _frame_columns(frame: Any) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The columns of scores in a frame of any make, and the facts that came with it."""
    if not hasattr(frame, "columns") and not isinstance(frame, Mapping) and hasattr(frame, "__arrow_c_stream__"):
        frame = need("pyarrow", "an Arrow stream").table(frame)
    facts = getattr(frame, "attrs", {}).get("cranfield", {})
    names = list(frame) if isinstance(frame, Mapping) else list(getattr(frame, "column_names", None) or frame.columns)
    about = getattr(getattr(frame, "schema", None), "metadata", None) or {}
    if isinstance(about, Mapping) and b"cranfield" in about:
        import json

        facts = json.loads(about[b"cranfield"])
    columns = {}
    for kind, name in _known_columns(map(str, names)).items():
        column = frame[name]
        as_list = next((getattr(column, m) for m in ("to_pylist", "to_list", "tolist") if hasattr(column, m)), None)
        columns[kind] = list(column) if as_list is None else as_list()
    return columns, facts


def _from_columns(
    columns: Mapping[str, Sequence[Any]],
    facts: Mapping[str, Any],
    *,
    measure: str | None,
    run: str | None,
    missing: str | None,
    fault: _Fault,
) -> Scores:
    for kind in ("topic", "value"):
        if kind not in columns:
            raise fault(0, f"no column {kind!r}, expected measure, run, topic, value")
    n = len(columns["value"])
    if n == 0:
        raise fault(0, "no scores")
    names: dict[str, Sequence[str]] = {"topic": list(map(str, columns["topic"]))}
    for kind, instead in (("measure", measure), ("run", run)):
        if kind in columns:
            names[kind] = list(map(str, columns[kind]))
        elif instead is not None:
            names[kind] = [instead] * n
        else:
            raise fault(0, f"no column {kind!r}, expected one, or {kind}= to say it")
    for kind, column in columns.items():
        if len(column) != n:
            raise fault(min(n, len(column)), f"column {kind!r} has {len(column)} entries, value has {n}")
    if missing is not None:
        check.one_of("Scores", MISSING_RULES, missing=missing)
    rule = facts.get("missing_rule")
    if rule is not None and rule not in MISSING_RULES:
        raise fault(0, f"the rule for missing topics is {rule!r}, expected one of {', '.join(MISSING_RULES)}")
    value = np.array([_number(x, partial(fault, i)) for i, x in enumerate(columns["value"])])
    flagged = None
    if "missing" in columns:
        flagged = np.array([_flag(x, partial(fault, i)) for i, x in enumerate(columns["missing"])])
    return _grid(
        names["measure"],
        names["run"],
        names["topic"],
        value=value,
        flagged=flagged,
        rule=missing or rule,
        notes=facts.get("notes", ()),
        fault=fault,
    )


def _from_nested(
    path: str,
    data: Any,
    measure: str,
    missing: str | None,
    notes: Iterable[str] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
    lacking: Mapping[str, Sequence[str]] | None = None,
) -> Scores:
    """From {run: {topic: {measure: value}}} or {run: {topic: value}}; `lacking` are the topics known to be missing."""
    entries: list[tuple[str, str, str]] = []
    values: list[float] = []

    def fault(i: int, what: str) -> DataError:
        return DataError(path, None, "measure {!r}, run {!r}, topic {!r}: ".format(*entries[i]) + what)

    if not isinstance(data, Mapping):
        raise DataError(path, None, f"{type(data).__name__}, expected {{run: {{topic: {{measure: value}}}}}}")
    for run, topics in data.items():
        if not isinstance(topics, Mapping):
            raise DataError(path, None, f"run {run!r}: {topics!r}, expected {{topic: {{measure: value}}}}")
        for topic, row in topics.items():
            for name, x in row.items() if isinstance(row, Mapping) else [(measure, row)]:
                entries.append((label(name), str(run), str(topic)))
                values.append(_number(x, partial(fault, len(values))))
    if not entries and not labels:
        raise DataError(path, None, "no scores")
    if missing is not None:
        check.one_of("Scores", MISSING_RULES, missing=missing)
    absent = {(run, topic) for run, topics in (lacking or {}).items() for topic in topics}
    return _grid(
        *([entry[i] for entry in entries] for i in range(3)),
        value=np.array(values, dtype=np.float64),
        flagged=np.array([entry[1:] in absent for entry in entries], dtype=bool),
        rule=missing,
        notes=notes,
        fault=fault,
        labels={**(labels or {}), "runs": (labels or {}).get("runs", [str(run) for run in data])},
    )


_UNDEFINED = frozenset(("", "nan", "na", "n/a", "null", "none"))


def _number(x: Any, fault: Callable[[str], DataError]) -> float:
    if x is None:
        return np.nan
    if isinstance(x, str):
        text = x.strip()
        if text.casefold() in _UNDEFINED:
            return np.nan
        try:
            if "_" not in text:  # Python would read 1_000 as a number
                return float(text)
        except ValueError:
            pass
        raise fault(f"{x!r} is not a number")
    try:
        return float(x)
    except (TypeError, ValueError):
        pass
    if type(x).__name__ == "NAType":
        return np.nan
    raise fault(f"{x!r} is not a number")


def _flag(x: Any, fault: Callable[[str], DataError]) -> bool:
    if isinstance(x, str):
        known = {"true": True, "1": True, "false": False, "0": False, "": False}
        if x.strip().casefold() in known:
            return known[x.strip().casefold()]
    elif isinstance(x, (bool, int, np.bool_)):
        return bool(x)
    elif x is None:
        return False
    raise fault(f"missing is {x!r}, expected true or false")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip().casefold() in _UNDEFINED
    return "_" not in text


# -- files

_Rows = list[tuple[int, list[str]]]
"""Line number and cells."""


@dataclass(frozen=True)
class _Source:
    """A file to read scores from, and what the caller said about it."""

    path: str
    format: str | None
    measure: str
    run: str | None
    missing: str | None
    header: bool | None
    topic_column: bool | None

    def read(self) -> Scores:
        kind = self.format or FORMATS.get(_suffix(self.path))
        if kind == "parquet":
            return self.parquet()
        text = self.text()
        if kind == "json" or (kind is None and text.lstrip()[:1] == "{"):
            return self.json(text)
        if kind == "trec" or (kind is None and _looks_like_trec(text)):
            return self.trec(text)
        rows = self.rows(text, {"csv": ",", "tsv": "\t"}.get(kind or ""))
        columns = _known_columns(rows[0][1])
        tidy = {"topic", "value"} < columns.keys() and bool({"measure", "run"} & columns.keys())
        if tidy and kind != "matrix":
            return self.tidy(rows)
        return self.matrix(rows)

    @property
    def stem(self) -> str:
        """The file's name without its ending, which names a run that has no other name."""
        from cranfield.collection.source import stem

        return self.run or stem(self.path)

    def fault(self, line: int | None, what: str) -> DataError:
        return DataError(self.path, line, what)

    def text(self) -> str:
        from cranfield.collection.source import read_bytes

        data = read_bytes(self.path)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise self.fault(line, f"byte 0x{data[error.start]:02x}, expected UTF-8 text") from None
        if not text.strip():
            raise self.fault(None, "empty, expected scores")
        return text

    def rows(self, text: str, sep: str | None) -> _Rows:
        """The cells of each line that is not blank; `sep` None: tab or comma if the first line has one, else blanks."""
        import csv
        import io

        if sep is None:
            first = text.lstrip("\r\n").partition("\n")[0]
            sep = next((s for s in "\t,;" if s in first), None)
        if sep is None:
            return [(n, line.split()) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
        try:
            return [(reader.line_num, cells) for cells in reader if cells]
        except csv.Error as error:
            raise self.fault(reader.line_num, f"not a row of cells: {error}") from None

    def tidy(self, rows: _Rows) -> Scores:
        (_, header), body = rows[0], rows[1:]
        for line, cells in body:
            if len(cells) != len(header):
                raise self.fault(line, f"{len(cells)} columns, expected {len(header)}: {', '.join(header)}")
        where = {kind: header.index(name) for kind, name in _known_columns(header).items()}
        columns = {kind: [cells[i] for _, cells in body] for kind, i in where.items()}
        facts: dict[str, Any] = {}
        if "notes" in header and body and body[0][1][header.index("notes")]:
            said = _split_notes(body[0][1][header.index("notes")])
            if said[0] in MISSING_RULES:
                facts = {"missing_rule": said[0], "notes": said[1:]}
        return _from_columns(
            columns,
            facts,
            measure=self.measure,
            run=self.stem,
            missing=self.missing,
            fault=lambda i, what: self.fault(body[i][0] if i < len(body) else None, what),
        )

    def matrix(self, rows: _Rows) -> Scores:
        first = rows[0][1]
        body = rows
        header = self.has_header(*rows[0]) if self.header is None else self.header
        names = first if header else None
        if header:
            body = rows[1:]
            if not body:
                raise self.fault(rows[0][0], "a header and no scores")
        width = len(body[0][1])
        for line, cells in body:
            if len(cells) != width:
                raise self.fault(line, f"{len(cells)} columns, expected {width} as in line {body[0][0]}")
        if names is not None and len(names) not in (width, width - 1):
            raise self.fault(rows[0][0], f"{len(names)} names, expected {width}")
        has_topics = self.topic_column
        if has_topics is None:
            has_topics = (names is not None and len(names) < width) or self.has_topics(body, names)
        start = 1 if has_topics else 0
        if width == start:
            raise self.fault(body[0][0], "topics and no scores")
        if names is not None:
            if len(names) < width - start:
                raise self.fault(rows[0][0], f"{len(names)} names, expected {width - start}")
            names = names[len(names) - width + start :]
        values = [[_number(cell, partial(self.fault, line)) for cell in cells[start:]] for line, cells in body]
        topics = [cells[0] for _, cells in body] if has_topics else None
        for kind, labels in (("topic", topics), ("run", names)):
            if labels is not None and len(set(labels)) < len(labels):
                i = next(i for i, name in enumerate(labels) if name in labels[:i])
                raise self.fault(body[i][0] if kind == "topic" else rows[0][0], f"{kind} {labels[i]!r} is there twice")
        return Scores.from_matrix(values, runs=names, topics=topics, measure=self.measure)

    def has_header(self, line: int, cells: list[str]) -> bool:
        """Whether the first line of a matrix names the runs: none of its cells is a number, the corner aside."""
        if cells[0].strip().casefold() in _TOPIC_HEADINGS and cells[0].strip():
            return True
        kinds = {_is_number(cell) for cell in cells[1:] or cells}
        if len(kinds) == 2:
            text = next(cell for cell in cells[1:] if not _is_number(cell))
            raise self.fault(line, f"{text!r} is not a number, other cells are; header=True if they name runs")
        return kinds == {False}

    def has_topics(self, body: _Rows, names: Sequence[str] | None) -> bool:
        """Whether the first column of a matrix names topics.

        It does when its heading says so, when it holds no numbers, or when it holds distinct whole numbers, some
        above 1, beside columns with fractions: no measure scores like that.
        """
        if names and names[0].strip().casefold() in _TOPIC_HEADINGS:
            return True
        first = [cells[0].strip() for _, cells in body]
        for (line, _), cell in zip(body, first, strict=True):
            if not _is_number(cell):
                if any("." in other and _is_number(other) for other in first):
                    raise self.fault(line, f"{cell!r} is not a number; topic_column=True if the column names topics")
                return True
        if not all(cell.isdigit() for cell in first) or len(set(first)) < len(first):
            return False
        return max(map(int, first)) > 1 and any("." in cell for _, cells in body for cell in cells[1:])

    def trec(self, text: str) -> Scores:
        """trec_eval -q: name, topic, value. The `all` lines close a run's part; only runid and num_q are taken."""
        entries: list[tuple[int, str, str, str]] = []
        values: list[float] = []
        runs: list[str] = []
        notes: list[str] = []
        begin = 0
        run, num_q, closed = None, None, False

        def close() -> None:
            nonlocal begin
            found = {topic for _, _, topic, _ in entries[begin:]}
            name = self.run or run or self.stem
            runs.extend([name] * (len(entries) - begin))
            if num_q is not None and found and num_q != len(found):
                notes.append(f"{name}: trec_eval averaged over {num_q:g} topics, {len(found)} are listed")
            begin = len(entries)

        for n, line in enumerate(text.split("\n"), 1):
            cells = line.split("\t") if "\t" in line else line.split()
            if not line.strip():
                continue
            if len(cells) != 3:
                raise self.fault(n, f"{len(cells)} columns, expected name, topic, value")
            name, topic, value = (cell.strip() for cell in cells)
            if topic == "all":
                closed = True
                if name == "runid":
                    run = value
                elif name == "num_q":
                    num_q = _number(value, partial(self.fault, n))
                continue
            if closed:
                close()
                run, num_q, closed = None, None, False
            if name != "relstring":
                entries.append((n, name, topic, value))
                values.append(_number(value, partial(self.fault, n)))
        close()
        if not entries:
            raise self.fault(None, "no scores of single topics, expected the output of trec_eval -q")
        return _grid(
            [name for _, name, _, _ in entries],
            runs,
            [topic for _, _, topic, _ in entries],
            value=np.array(values),
            flagged=None,
            rule=self.missing,
            notes=notes,
            fault=lambda i, what: self.fault(entries[i][0], what),
        )

    def json(self, text: str) -> Scores:
        import json

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            made = dict(pairs)
            if len(made) < len(pairs):
                names = [name for name, _ in pairs]
                raise self.fault(None, f"{next(n for i, n in enumerate(names) if n in names[:i])!r} is there twice")
            return made

        try:
            data = json.loads(text, object_pairs_hook=once)
        except json.JSONDecodeError as error:
            raise self.fault(error.lineno, f"not JSON: {error.msg}") from None
        if isinstance(data, dict) and data.get("cranfield") == "scores":
            for kind, expected in {
                "scores": dict,
                "missing": dict,
                **dict.fromkeys(("notes", "measures", "runs", "topics"), list),
            }.items():
                if not isinstance(data.get(kind), expected):
                    raise self.fault(None, f"{kind!r} is {data.get(kind)!r}, expected {expected.__name__}")
            labels = {kind: data[kind] for kind in ("measures", "runs", "topics")}
            rule = self.missing or data.get("missing_rule")
            if rule not in MISSING_RULES:
                raise self.fault(None, f"'missing_rule' is {rule!r}, expected one of {', '.join(MISSING_RULES)}")
            return _from_nested(
                self.path, data["scores"], self.measure, rule, data["notes"], labels, lacking=data["missing"]
            )
        if isinstance(data, dict) and all(
            isinstance(row, dict) and not any(isinstance(x, dict) for x in row.values()) for row in data.values()
        ):
            data = {self.stem: data}  # {topic: {measure: value}}, as evaluators return it for one run
        return _from_nested(self.path, data, self.measure, self.missing)

    def parquet(self) -> Scores:
        from cranfield.collection.source import read_bytes

        parquet = need("pyarrow.parquet", "Parquet")
        arrow = need("pyarrow", "Parquet")
        data = read_bytes(self.path)
        try:
            table = parquet.read_table(arrow.BufferReader(data))
        except (OSError, ValueError) as error:  # pyarrow's errors about content
            raise self.fault(None, f"not a Parquet table: {error}") from None
        columns, facts = _frame_columns(table)
        return _from_columns(
            columns,
            facts,
            measure=self.measure,
            run=self.stem,
            missing=self.missing,
            fault=lambda i, what: self.fault(None, f"row {i}: {what}"),
        )


def _looks_like_trec(text: str) -> bool:
    lines = [line.split("\t") for line in text.split("\n", 2000)[:2000] if line.strip()]
    if any(len(cells) != 3 for cells in lines):
        return False
    names = [cells[0] for cells in lines]
    padded = any(name != name.rstrip() for name in names)
    return padded or any(cells[1] == "all" for cells in lines) or len(set(names)) < len(names)


def _split_notes(text: str) -> list[str]:
    r"""The notes that `to_csv` joined: `|` between them, `\|` and `\\` within."""
    notes, current, escaped = [], "", False
    for c in text:
        if escaped:
            current, escaped = current + c, False
        elif c == "\\":
            escaped = True
        elif c == "|":
            notes.append(current.removesuffix(" "))
            current = ""
        else:
            current += c
    notes.append(current)
    return [notes[0], *(note.removeprefix(" ") for note in notes[1:])]


def quoted(cell: str, sep: str) -> str:
    """A cell of a separated file, in quotes if it must be."""
    if sep in cell or '"' in cell or "\n" in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _suffix(path: str) -> str:
    """How a file's name ends, a compression's ending aside."""
    root, suffix = os.path.splitext(path.lower())
    return os.path.splitext(root)[1] if suffix in (".gz", ".bz2", ".xz", ".zst") else suffix


def _write(path: Path, data: bytes) -> None:
    from cranfield.collection.source import write_bytes

    write_bytes(path, data)
