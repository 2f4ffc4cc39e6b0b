"""`gate`: does a candidate pass? It must not be worse than a baseline by more than a margin, or stay above limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Unpack, cast

from cranfield import check
from cranfield.collection.accepted_inputs import QrelsLike, RunsLike
from cranfield.collection.column_names import named_columns
from cranfield.collection.grade_labels import named_grades
from cranfield.collection.qrels import Qrels
from cranfield.comparison.gate.gate_checks import (
    Compared,
    GateCheck,
    GateResult,
    Limit,
    at_least_check,
    at_most_check,
    drop_check,
    floor_check,
    limits_by_measure,
    margin_check,
    margins,
)
from cranfield.comparison.pair_tests import TESTS, PairTest, TestSettings
from cranfield.comparison.test_result import check_alpha
from cranfield.declared.operation import RESAMPLES, Alpha, Seed, about, operation
from cranfield.errors import UsageError
from cranfield.evaluation.evaluator import EvaluateOptions, as_measures, evaluate
from cranfield.evaluation.runs_or_scores import ScoresInput, inputs_in, scores_of
from cranfield.evaluation.same_rankings import digests, may_be_same
from cranfield.notes import Notes, caution_note
from cranfield.scores.basis import CHANGES, changed_topics
from cranfield.scores.scores import Scores
from cranfield.text import counted, listed

if TYPE_CHECKING:
    from cranfield.measures import Measure
    from cranfield.scores.labels import MeasureLike

Limits: TypeAlias = Mapping[Any, float]
"""{measure: limit}; the keys are measures or their names."""
RULES = ("non-inferior", "observed")
"""When a candidate fails its margin: a larger loss is not ruled out by the test, or was observed."""
MARGIN = 0.01
ALL = "all"
USUAL = "nDCG@10"


@dataclass(frozen=True)
class Conditions:
    """What a candidate must satisfy; see `gate`."""

    margin: Limit | Mapping[Any, Limit] = MARGIN
    rule: str = "non-inferior"
    test: str = "t"
    alpha: float = 0.05
    at_least: Limits | None = None
    at_most: Limits | None = None
    no_topic_below: Limits | None = None
    no_topic_drop: Limits | None = None
    resamples: int = 10_000
    seed: int = 0
    accept_changes: str | Iterable[str] = ()
    common_topics: bool = False

    def __post_init__(self) -> None:
        check.one_of("gate", RULES, rule=self.rule)
        for change in self.accepted:
            check.one_of("gate", CHANGES, accept_changes=change)
        check_alpha("gate", self.alpha)
        if TESTS.find(self.test).simultaneous:
            raise UsageError(f"test == {self.test!r} is for many systems; use one of two systems, such as t")

    @property
    def accepted(self) -> tuple[str, ...]:
        """The changes that are accepted; those of topics are if only common topics are compared."""
        changes = self.accept_changes
        names = changes.replace(",", " ").split() if isinstance(changes, str) else list(changes)
        return CHANGES if names == [ALL] else (*names, *(["topics"] if self.common_topics else []))

    def for_measures(self, measures: Sequence[Measure]) -> tuple[list[Measure], Conditions]:
        """All measures to compute, and the conditions in which the margin is that of `measures` if there are any."""
        named = self.of_measures()
        usual: list[Any] = [] if named else [USUAL]
        chosen = as_measures([*(measures or usual), *named])
        if measures and not isinstance(self.margin, Mapping):
            return chosen, replace(self, margin={str(measure): self.margin for measure in measures})
        return chosen, self

    def of_measures(self) -> list[Any]:
        """The measures that the conditions name."""
        named = (self.at_least, self.at_most, self.no_topic_below, self.no_topic_drop)
        more = self.margin if isinstance(self.margin, Mapping) else {}
        return [measure for limits in (*named, more) for measure in limits or ()]


def gate_tests() -> tuple[str, ...]:
    """The tests of two systems."""
    return tuple(test.name for test in TESTS.values() if not test.simultaneous)


@operation
def gate(
    qrels: QrelsLike | ScoresInput,
    candidates: RunsLike | MeasureLike | None = None,
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    baseline: RunsLike | None = None,
    against: Scores | None = None,
    margin: Limit | Mapping[Any, Limit] = MARGIN,
    rule: Annotated[
        str,
        about(
            "When the margin is broken: {names} (a larger loss is not ruled out, or was observed).",
            choices=RULES,
            spelled="--rule RULE",
        ),
    ] = "non-inferior",
    test: Annotated[
        str,
        about(
            "The test of the rule non-inferior: {names}.",
            names="comparison.gate.gate:gate_tests",
            spelled="--test, -t TEST",
        ),
    ] = "t",
    alpha: Alpha = 0.05,
    at_least: Limits | None = None,
    at_most: Limits | None = None,
    no_topic_below: Limits | None = None,
    no_topic_drop: Limits | None = None,
    resamples: Annotated[int, about("Resamples, for tests that resample.", **RESAMPLES, rare=True)] = 10_000,
    seed: Annotated[Seed, about("Seed of the random numbers.", least=0, below=2**64, rare=True)] = 0,
    accept_changes: str | Iterable[str] = (),
    common_topics: Annotated[
        bool, about("Compare with scores of an earlier evaluation on the topics that both have.", rare=True)
    ] = False,
    **options: Unpack[EvaluateOptions],
) -> GateResult:
    r"""Check one or more candidates before they are released.

    With a baseline, the loss of a candidate must not exceed `margin`. There are two rules:

    - `non-inferior` (default): the candidate fails unless the data rule out a larger loss. With the differences
      :math:`d_t` (candidate − baseline) of the topics, the hypothesis :math:`E[d] \le -\text{margin}` must be rejected
      by a one-sided `test` at `alpha`. A test of ranks or wins can reject it although the observed mean loss exceeds
      the margin, if a few topics lose much; the candidate then fails. Too few topics, or scores that vary much, fail:
      the change has to prove itself.
    - `observed`: the candidate fails if its observed mean loss exceeds the margin, whatever the chance of that. A
      candidate that is really worse by exactly the margin passes half of the time.

    Every measure must pass, so α needs no correction for several measures (an intersection–union test). If fewer than 5
    topics changed, no test can show much: topics that lose may be rare and not among these. The loss is then bounded by
    the share of topics that may change, times the worst loss; with a margin of 0.01, a candidate with the scores of the
    baseline passes from 299 topics on. One with the same rankings passes with fewer too. Otherwise `t` is corrected for
    skewness. A margin in percent is a share of the baseline's score on every topic.

    baseline: a run, or `against`: scores of an earlier evaluation. If these were computed from other judgments, on
        other topics, by other definitions of a measure or by other rules, the error says what differs.
    accept_changes: the changes to accept nevertheless, by name: `judgments`, `topics`, `measures`, `rules`, or `all`.
    common_topics: compare the topics that both have, and leave out the others.
    margin: a number, a percentage of the baseline's mean ("2%"), or one of these by measure.
    at_least, at_most: {measure: limit} of the candidate's mean.
    no_topic_below: {measure: limit}; no topic may score below it. no_topic_drop: {measure: limit}; no topic may lose
        more than it against the baseline.
    options: of `evaluate`, such as `missing`.

    Scores may take the place of judgments and runs: `gate(scores, "AP", baseline="prod")`, where `baseline` names one
    of their runs.

    Reference: Berger & Hsu, Statistical Science 11(4), 1996, doi:10.1214/ss/1032280304 (intersection–union tests)

    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    >>> good, bad = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}, {"q1": {"d1": 1.0}, "q2": {"d3": 2.0, "d2": 1.0}}
    >>> result = gate(qrels, {"new": bad}, "RR", baseline={"prod": good}, rule="observed")
    >>> result.passed
    False
    >>> print(result)
    FAIL new RR: 0.7500 is 0.2500 below prod (1.0000), margin 0.01; worst topics: q2 (1.0000 -> 0.5000)
    order: score
    gate failed: 1 of 1 check
    """
    conditions = Conditions(
        margin, rule, test, alpha, at_least, at_most, no_topic_below, no_topic_drop, resamples, seed, accept_changes,
        common_topics,
    )  # fmt: skip
    if inputs_in((qrels, candidates)) < 2:
        wanted = candidates if measures is None else measures
        return _gate_of_scores(scores_of(qrels, "gate"), wanted, baseline, against, conditions)
    if baseline is not None and against is not None:
        raise UsageError("baseline and against are two baselines; give one of them")
    candidates = cast(RunsLike, candidates)
    chosen, conditions = conditions.for_measures(as_measures(measures) if measures else [])
    with named_columns(options.pop("columns", None)), named_grades(options.pop("grades", None)):
        judgments = Qrels.of(cast(QrelsLike, qrels))
        scores = evaluate(judgments, candidates, chosen, **options)
        if baseline is not None:
            against = evaluate(judgments, baseline, chosen, **options)
    same: set[str] = set()
    if baseline is not None and against is not None and may_be_same(scores, against):
        known = digests(against, baseline, options).get(against.runs[0])
        same = {run for run, digest in digests(scores, candidates, options).items() if digest == known}
    return gate_scores(scores, against, conditions, same=same)


def _gate_of_scores(
    scores: Scores, measures: Any, baseline: Any, against: Scores | None, conditions: Conditions
) -> GateResult:
    """As `gate`, where the baseline is one of the runs of the scores."""
    if baseline is not None and not isinstance(baseline, str):
        raise UsageError("gate: with scores, baseline is the name of a run; give other scores as against=")
    chosen = scores if measures is None else scores.select(measures=measures)
    if baseline is not None:
        against = chosen.select(runs=baseline)
        chosen = chosen.select(runs=[run for run in chosen.runs if run != baseline])
    return gate_scores(chosen, against, conditions)


def gate_scores(
    scores: Scores,
    against: Scores | None = None,
    conditions: Conditions | None = None,
    *,
    same: Collection[str] = (),
) -> GateResult:
    """As `gate`, for the scores of candidates and of one baseline.

    `same` are the candidates with the same documents in the same order as the baseline, on every topic.
    """
    conditions = conditions or Conditions()
    measures = list(scores.measures)
    limits = margins(conditions.margin, measures) if against is not None else {}
    floors = {
        what: limits_by_measure(named, measures, what)
        for what, named in {
            "at_least": conditions.at_least, "at_most": conditions.at_most,
            "no_topic_below": conditions.no_topic_below, "no_topic_drop": conditions.no_topic_drop,
        }.items()
    }  # fmt: skip
    if against is None and floors["no_topic_drop"]:
        raise UsageError("no_topic_drop compares topics with a baseline; give one")
    if against is not None and len(against.runs) != 1:
        raise UsageError(f"the baseline has {len(against.runs)} runs ({listed(against.runs)}), must be one; select it")
    if not limits and not any(floors.values()):
        raise UsageError("nothing to check: give a baseline, or a limit such as at_least={'nDCG@10': 0.45}")
    name = _baseline_name(against, scores.runs)
    notes = Notes([*scores.notes, *_changes(scores, against, name, conditions.accepted)])
    checks: list[GateCheck] = []
    for run in scores.runs:
        for measure in measures:
            both = Compared.of(scores, run, measure, against, name)
            if both.note and both.note not in notes:
                notes.append(both.note)
            if measure in limits:
                checks.append(margin_check(both, limits[measure], *_how(conditions), run in same))
            alone = Compared.of(scores, run, measure, None, "")
            if measure in floors["at_least"]:
                checks.append(at_least_check(alone, floors["at_least"][measure]))
            if measure in floors["at_most"]:
                checks.append(at_most_check(alone, floors["at_most"][measure]))
            if measure in floors["no_topic_below"]:
                checks.append(floor_check(alone, floors["no_topic_below"][measure]))
            if measure in floors["no_topic_drop"]:
                checks.append(drop_check(both, floors["no_topic_drop"][measure]))
    if tested := [check.topics for check in checks if check.passed and check.condition == "margin" and check.p > 0]:
        share = 100 * (1 - conditions.alpha ** (1 / min(tested)))
        notes.caution(
            f"with {counted(min(tested), 'topic')}, losses on fewer than {share:.2g} % of topics may go unseen"
        )
    return GateResult(
        tuple(checks), conditions.rule, TESTS.find(conditions.test).name, conditions.alpha, name, tuple(notes)
    )


def _changes(scores: Scores, against: Scores | None, name: str, accepted: Sequence[str]) -> list[str]:
    """Notes on what changed since the baseline was scored; a change that is not accepted is an error."""
    if against is None:
        return []
    changes = {}
    if topics := changed_topics(scores.topics, against.topics):
        changes["topics"] = topics
    if scores.basis is not None and against.basis is not None:
        changes |= scores.basis.changes(against.basis)
    refused = [kind for kind in CHANGES if kind in changes and kind not in accepted]
    if refused:
        what = "; ".join(changes[kind] for kind in refused)
        hint = f"score {against.runs[0]} again, or accept by name: accept_changes={','.join(refused)!r}"
        if refused == ["topics"]:
            hint = "compare the topics that both have: common_topics=True"
        raise UsageError(f"{listed(scores.runs, 3)} cannot be compared with {name}: {what}; {hint}")
    notes = [f"accepted: {changes[kind]}" for kind in CHANGES if kind in changes and kind != "topics"]
    if against.basis is None:
        notes.append(
            caution_note(f"{name}: the file does not say from what its scores were computed, which was not checked")
        )
    return notes


def _baseline_name(against: Scores | None, candidates: Sequence[str]) -> str:
    if against is None:
        return ""
    return f"{against.runs[0]} (baseline)" if against.runs[0] in candidates else against.runs[0]


def _how(conditions: Conditions) -> tuple[bool, PairTest, TestSettings]:
    """Whether the observed loss alone counts, the test, and its settings."""
    settings = TestSettings("greater", conditions.alpha, conditions.resamples, conditions.seed)
    return conditions.rule == "observed", TESTS.find(conditions.test), settings
