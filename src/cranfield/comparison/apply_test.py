"""One test for many runs, measure by measure: tests of one sample, of unmatched samples, of equivalence, and Bayesian.

The tests of matched scores in `compare` ask whether systems differ on the same topics. The tests here ask other
questions. Each is a function of one or two samples; this module calls it for each run or pair, and puts the results in
one table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cranfield.comparison.assumptions import cautions_of, geometric_cautions
from cranfield.comparison.corrections import CORRECTIONS, adjust
from cranfield.comparison.data import Baseline, Matrix, all_pairs, check_topics
from cranfield.comparison.methods.bayesian import Posterior, bayesian_signed_rank, bayesian_t
from cranfield.comparison.methods.equivalence import tost
from cranfield.comparison.methods.t import one_sample_t, unpaired_t
from cranfield.comparison.methods.unpaired_resampling import SUMMARIES, permutation, unpaired_bootstrap
from cranfield.comparison.methods.wilcoxon_and_sign import rank_sum
from cranfield.comparison.resampling import TestResamples
from cranfield.comparison.test_result import Alternative, Assumption, TestResult
from cranfield.declared.operation import ALPHA, Seed, about, operation
from cranfield.declared.registry import Registry
from cranfield.errors import UsageError
from cranfield.notes import caution_note, lead_note, method_note, rewritten
from cranfield.record import Record
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

OWN = {"value": "mu", "margin": "margin", "rope": "rope", "statistic": "summary"}
"""Settings of single tests, and the parameters of the functions that take them."""


@dataclass(frozen=True)
class SampleTest:
    """A test of one or two samples."""

    name: str
    function: Callable[..., Any]
    matched: bool
    """The test needs both scores of a topic, so that it cannot compare collections."""
    settings: tuple[str, ...] = ()
    """The settings that only this test, or a few tests, have."""
    one_sided: bool = True
    """The test has an alternative."""
    resampling: bool = False
    fixed: tuple[tuple[str, Any], ...] = ()
    """Arguments of the function that the name of the test stands for."""

    @property
    def samples(self) -> int:
        """The number of samples."""
        return 1 if self.function is one_sample_t else 2

    @property
    def bayesian(self) -> bool:
        """The result is a posterior, without p-values."""
        return "rope" in self.settings


SAMPLE_TESTS: Registry[SampleTest] = Registry(
    "test",
    (
        SampleTest("one-sample-t", one_sample_t, True, ("value",)),
        SampleTest("unpaired-t", unpaired_t, False),
        SampleTest("rank-sum", rank_sum, False),
        SampleTest("unpaired-bootstrap", unpaired_bootstrap, False, ("statistic",), resampling=True),
        SampleTest("unpaired-permutation", permutation, False, ("statistic",), resampling=True),
        SampleTest("tost", tost, True, ("margin",), one_sided=False),
        SampleTest("unpaired-tost", tost, False, ("margin",), one_sided=False, fixed=(("matched", False),)),
        SampleTest("bayesian-t", bayesian_t, True, ("rope",), one_sided=False),
        SampleTest("bayesian-signed-rank", bayesian_signed_rank, True, ("rope",), one_sided=False, resampling=True),
    ),
)
"""The tests that `apply_test` knows, by name."""
DOCUMENTS = "documents"
"""The test over samples of documents, which needs judgments and runs: `document_bootstrap`."""
TEST_NAMES = (*SAMPLE_TESTS, DOCUMENTS)


@dataclass(frozen=True, eq=False, repr=False)
class AppliedTest(Record):
    """The results of one test for several runs or pairs of runs, with a row for each."""

    facts = ("test", "alpha", "alternative", "correction", "resamples", "seed", "notes")

    test: str
    alpha: float
    alternative: str
    correction: str
    results: tuple[TestResult | Posterior, ...]
    """Each as the function of the test returns it."""
    settings: tuple[str, ...]
    """The settings of the test, in words."""
    collections: tuple[str, str] | None
    """The collections on which a run is compared with itself."""
    data_notes: tuple[str, ...]
    """Notes on the scores, and on how they were compared."""
    resamples: int | None = None
    seed: int | None = None

    @cached_property
    def p(self) -> Array:
        """The p-values, not corrected; NaN for a Bayesian comparison."""
        return np.array([getattr(result, "p", np.nan) for result in self.results], dtype=np.float64)

    @cached_property
    def adjusted(self) -> Array:
        """The p-values, corrected for the number of comparisons."""
        return adjust(self.p, self.correction) if self.correction != "none" else self.p

    def columns(self) -> dict[str, NDArray[Any]]:
        """measure, system, other, n, ..., estimate, low, high: a row per comparison."""
        results = self.results
        names = [result.systems for result in results]
        texts: dict[str, list[Any]] = {"measure": [result.measure for result in results]}
        texts["system"] = [name[0] for name in names]
        if self.collections is not None:
            first, second = self.collections
            texts |= {"collection": [first] * len(results), "other collection": [second] * len(results)}
        elif len(names[0]) > 1:
            texts["other"] = [name[1] for name in names]
        columns = {name: np.array(column, dtype=object) for name, column in texts.items()}
        columns |= self._posterior_columns() if isinstance(results[0], Posterior) else self._test_columns()
        intervals = [result.interval for result in results]
        columns["estimate"] = np.array([result.estimate for result in results])
        columns["low"] = np.array([np.nan if interval is None else interval.low for interval in intervals])
        columns["high"] = np.array([np.nan if interval is None else interval.high for interval in intervals])
        if isinstance(results[0], TestResult):
            columns["effect"] = np.array([r.effect.value if r.effect else np.nan for r in self._tests])
        return columns

    @property
    def _tests(self) -> list[TestResult]:
        return [result for result in self.results if isinstance(result, TestResult)]

    def _test_columns(self) -> dict[str, NDArray[Any]]:
        tests = self._tests
        samples = range(len(tests[0].n))
        counts = {("n", "n other")[i]: np.array([result.n[i] for result in tests]) for i in samples}
        name = tests[0].statistic_name
        statistic = {} if "difference" in name else {name: np.array([result.statistic for result in tests])}
        adjusted = {} if self.correction == "none" else {"p adjusted": self.adjusted}
        verdict = "equivalent" if "tost" in self.test else "significant"
        return {**counts, **statistic, "p": self.p, **adjusted, verdict: self.adjusted <= self.alpha}

    def _posterior_columns(self) -> dict[str, NDArray[Any]]:
        posteriors = [result for result in self.results if isinstance(result, Posterior)]
        names = {"higher": "greater", "equal": "equal", "lower": "less"}
        shares = {name: np.array([getattr(each, field) for each in posteriors]) for name, field in names.items()}
        return {"n": np.array([each.n for each in posteriors]), **shares}

    @property
    def notes(self) -> tuple[str, ...]:
        """How the numbers were computed, how to read them, and reasons for doubt."""
        first, count = self.results[0], len(self.results)
        how = [f"{first.test} test" if isinstance(first, TestResult) else f"{first.method} comparison", *self.settings]
        if isinstance(first, TestResult):
            if "tost" not in self.test:
                how.append(self.alternative)
            how.append(f"α = {self.alpha:g}")
            if count > 1 and self.correction != "none":
                how.append(f"p corrected for {count:,} comparisons ({self.correction})")
            elif count > 1:
                how.append(f"p not corrected for {count:,} comparisons")
        if self.resamples:
            how.append(f"B = {self.resamples:,}, seed {self.seed}")
        what = [f"estimate: {first.estimate_name}"]
        if first.interval is not None:
            alone = ", for each comparison alone" if count > 1 else ""
            what[0] += f"; [low, high]: {100 * first.interval.level:g}% interval ({first.interval.method}){alone}"
        if isinstance(first, TestResult) and first.effect is not None:
            what[0] += f"; effect: {first.effect.name}"
        if isinstance(first, Posterior):
            what.insert(0, f"higher, equal, lower: probabilities; equal: the difference is at most {first.rope:g}")
        return (
            lead_note("; ".join(how)),
            *map(method_note, what),
            *self.data_notes,
            *self._shared_notes(),
            *self._cautions(),
        )

    def _shared_notes(self) -> list[str]:
        """The notes of the results, each once, with the comparisons it belongs to if it does not belong to all."""
        where: dict[str, list[str]] = {}
        for result in self.results:
            own = result.notes[:-1] if "tost" in self.test else result.notes  # the last repeats what the columns say
            for note in dict.fromkeys(own):
                if note not in self.data_notes:
                    where.setdefault(note, []).append(" − ".join(dict.fromkeys(result.systems)))
        runs = {run for result in self.results for run in result.systems}
        named = {note for note in where for run in runs if f"scores of {run} left out" in note}
        whole = {note for note, pairs in where.items() if len(pairs) == len(self.results)}
        return [
            note if note in named | whole else rewritten(note, f"{note} ({listed(pairs)})")
            for note, pairs in where.items()
        ]

    def _cautions(self) -> list[str]:
        """A caution for each assumption that fails anywhere."""
        failed: dict[str, list[Assumption]] = {}
        for result in self._tests:
            for assumption in result.assumptions:
                if assumption.holds is False:
                    failed.setdefault(assumption.name, []).append(assumption)
        cautions = []
        for each in failed.values():
            share = f" (in {len(each):,} of {len(self.results):,} comparisons)" if len(each) < len(self.results) else ""
            cautions += cautions_of(each[:1], share)
        return cautions


@operation
def apply_test(
    data: Any,
    measure: Any = None,
    *,
    test: Annotated[
        str, about("The test: {names}.", names="comparison.apply_test:SAMPLE_TESTS", spelled="--test, -t TEST")
    ],
    baseline: Baseline = None,
    correction: Annotated[
        str | None,
        about("Correction of p-values: {names}; default: holm.", names="comparison.corrections:CORRECTIONS", rare=True),
    ] = None,
    alpha: Annotated[float, about("Significance level; intervals have level 1 - A (tost: 1 - 2A).", **ALPHA)] = 0.05,
    alternative: Alternative = "two-sided",
    value: Annotated[
        float | None,
        about("one-sample-t: the number to compare means with.", spelled="--value X", solves="value="),
    ] = None,
    margin: Annotated[
        float | None,
        about("tost: the largest difference that does not matter.", spelled="--margin D", solves="margin="),
    ] = None,
    rope: Annotated[
        float | None,
        about("Bayesian: runs that differ by at most D count as equal; default: 0.01.", spelled="--rope D"),
    ] = None,
    statistic: Annotated[
        str | None,
        about(
            "unpaired-bootstrap, unpaired-permutation: what to compare, {names} (geometric mean; area under the mean "
            "of the x worst topics, down to a quarter of them); default: t, means divided by their standard error.",
            choices=SUMMARIES,
            rare=True,
        ),
    ] = None,
    resamples: TestResamples = 10_000,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> AppliedTest:
    """One of the tests that `compare` does not have, for every run or pair of runs, by every measure.

    `test` is one of `SAMPLE_TESTS`. "one-sample-t" compares the mean of each run with `value`. "tost" asks whether two
    runs are equal within `margin`; "bayesian-t" and "bayesian-signed-rank" give the probability that one is higher, or
    that they are equal within `rope` (0.01). "unpaired-t", "rank-sum", "unpaired-bootstrap", "unpaired-permutation" and
    "unpaired-tost" do not match topics: if `data` is {collection: Scores} with two collections, each run of the first
    is compared with the run of the same name in the second. `statistic` is what "unpaired-bootstrap" and
    "unpaired-permutation" compare: t (the default: means, divided by their standard error), mean, gmean, median or area
    (of the worst quarter of topics). Otherwise `data` is as
    for `compare`, and all pairs of runs are compared, or all runs with the `baseline`. p-values are corrected for the
    number of comparisons, by default by Holm's method.

    >>> scores = {"a": [0.2, 0.5, 0.4, 0.6], "b": [0.21, 0.49, 0.41, 0.59]}
    >>> applied = apply_test(scores, test="tost", margin=0.05)
    >>> round(applied.results[0].p, 4), applied.columns()["equivalent"].tolist()
    (0.0016, [True])
    """
    chosen = SAMPLE_TESTS.find(test)
    own = _own_settings(chosen, {"value": value, "margin": margin, "rope": rope, "statistic": statistic})
    if alternative != "two-sided" and not chosen.one_sided:
        raise UsageError(f"alternative == {alternative!r} is not a setting of {chosen.name}; leave it out")
    if chosen.bayesian and correction is not None and CORRECTIONS.find(correction).name != "none":
        raise UsageError(f"correction == {correction!r}: {chosen.name} has no p-values; leave it out")
    options: dict[str, Any] = {"level": 1 - alpha, **dict(chosen.fixed)}
    options |= {OWN[name]: setting for name, setting in own.items()}
    options |= {"alternative": alternative} if chosen.one_sided else {}
    options |= {"resamples": int(resamples), "seed": int(seed)} if chosen.resampling else {}
    collections = _collections(data)
    matrices = _matrices(data if collections is None else data[collections[0]], measure)
    others = None if collections is None else _matrices(data[collections[1]], [matrix.measure for matrix in matrices])
    calls = _calls(matrices, others, chosen, baseline)
    notes = [note for matrix in (*matrices, *(others or ())) for note in matrix.notes]
    if not chosen.matched and collections is None:
        notes.append(caution_note("the systems share their topics; a paired test would be more powerful"))
    if statistic == "gmean":
        notes += geometric_cautions([matrix.measure for matrix in matrices])
    results: list[TestResult | Posterior] = []
    for done, arguments in enumerate(calls, 1):
        results.append(chosen.function(*arguments[0], **arguments[1], **options))
        if progress is not None:
            progress(done, len(calls))
    resampled = any(result.resamples for result in results)
    return AppliedTest(
        chosen.name,
        alpha,
        alternative,
        "none" if chosen.bayesian or len(results) == 1 else CORRECTIONS.find(correction or "holm").name,
        tuple(results),
        tuple(
            f"{name} {setting}" if isinstance(setting, str) else f"{name} {setting:g}"
            for name, setting in own.items()
            if name != "rope"
        ),
        collections,
        tuple(dict.fromkeys(notes)),
        int(resamples) if resampled else None,
        int(seed) if resampled else None,
    )


def _own_settings(test: SampleTest, settings: dict[str, float | str | None]) -> dict[str, float | str]:
    """The settings that this test has."""
    chosen = SAMPLE_TESTS.own_settings(test, **settings).items()
    own = {name: setting if isinstance(setting, str) else float(setting) for name, setting in chosen}
    if "value" in test.settings and "value" not in own:
        raise UsageError(f"{test.name} compares means with a number; give it: value=")
    if "margin" in test.settings and "margin" not in own:
        raise UsageError(f"{test.name} needs the largest difference that does not matter: margin=")
    return own


def _collections(data: Any) -> tuple[str, str] | None:
    """The names of the two collections, if there are collections."""
    if not (isinstance(data, Mapping) and data and all(isinstance(scores, Scores) for scores in data.values())):
        return None
    if len(data) != 2:
        raise UsageError(f"{counted(len(data), 'collection')}, must be 2: a run is compared between two collections")
    first, second = data
    return first, second


def _matrices(data: Any, measure: Any) -> list[Matrix]:
    if not isinstance(data, Scores):
        return [Matrix.of(data, measure)]
    wanted = data.measures if measure is None else measure
    several = isinstance(wanted, Sequence) and not isinstance(wanted, str)
    return [Matrix.of(data, name) for name in (wanted if several else [wanted])]


def _calls(
    matrices: list[Matrix], others: list[Matrix] | None, test: SampleTest, baseline: str | None
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments of every call of the test."""
    if others is not None and test.matched:
        unmatched = [known.name for known in SAMPLE_TESTS.values() if not known.matched]
        raise UsageError(f"{test.name} cannot compare two collections; use {', '.join(unmatched)}")
    if baseline is not None and (test.samples == 1 or others is not None):
        reason = "compares runs with a number" if test.samples == 1 else "compares a run with itself on other topics"
        raise UsageError(f"baseline == {baseline!r}: {test.name} {reason}; leave it out")
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for i, matrix in enumerate(matrices):
        if others is not None:
            calls += _between(matrix, others[i])
        elif test.samples == 1:
            calls += [((matrix,), {"system": run}) for run in matrix.systems]
        else:
            check_topics(len(matrix.systems), 2, test.name, "run")
            calls += [((matrix,), {"systems": pair}) for pair in _pairs(matrix, baseline)]
    return calls


def _pairs(matrix: Matrix, baseline: str | None) -> list[tuple[str, str]]:
    names = matrix.systems
    if baseline is None:
        return [(names[a], names[b]) for a, b in zip(*all_pairs(len(names)), strict=True)]
    return [(name, names[matrix.column(baseline)]) for name in names if name != baseline]


def _between(first: Matrix, second: Matrix) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Each run of both collections, with itself."""
    shared = [run for run in first.systems if run in second.systems]
    if not shared:
        names = f"{listed(first.systems, 3)}; {listed(second.systems, 3)}"
        raise UsageError(f"{first.measure}: the two collections have no run in common ({names})")
    return [((first, second), {"systems": (run, run), "measure": first.measure}) for run in shared]
