"""Every merging model beside a slow literal version of its formulas, and beside crowd-kit."""

import numpy as np
import pytest

from cranfield.building.merging import MERGING_METHODS, merge
from cranfield.building.merging.merged import Merged
from cranfield.building.merging.models import log_odds, ordinal_labels
from tests.building.merging.simulated import patients, simulated
from tests.oracles import merging as slow

STEPS = {"steps": 12, "tolerance": 0.0}
ITERATIVE = [name for name, method in MERGING_METHODS.items() if method.iterative]
pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*worse than the majority vote")


def test_dawid_and_skene_1979() -> None:
    """The class marginals of the paper are .40, .42, .11 and .07."""
    merged = merge(patients(), "dawid-skene")
    assert merged.class_probabilities is not None
    assert merged.class_probabilities.round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert merged.converged


def test_repeated_labels_of_an_observer_follow_the_formulas() -> None:
    """Observer 1 labels every patient three times."""
    labels = patients()
    triples = list(zip(labels.item.tolist(), labels.worker.tolist(), labels.label.tolist(), strict=True))
    assert len(triples) == 315
    merged = merge(labels, "dawid-skene", **STEPS)
    assert np.allclose(merged.posterior, slow.dawid_skene(triples, 45, 5, 4, 12), atol=1e-10)


@pytest.mark.parametrize("prior", [(0.0, 0.0), (2.0, 0.5)])
def test_dawid_skene_follows_its_formulas(prior: tuple[float, float]) -> None:
    data = simulated()
    merged = merge(data.labels, "dawid-skene", assessor_prior=prior, class_counts=0.3, **STEPS)
    expected = slow.dawid_skene(data.triples, *data.sizes, 12, prior=prior, class_counts=0.3)
    assert np.allclose(merged.posterior, expected, atol=1e-10)


def test_dawid_skene_with_gold_follows_its_formulas() -> None:
    data = simulated()
    gold = {f"t{i}": str(data.truth[i]) for i in range(8)}
    merged = merge(data.labels, "dawid-skene", gold=gold, **STEPS)
    expected = slow.dawid_skene(data.triples, *data.sizes, 12, gold={i: int(data.truth[i]) for i in range(8)})
    assert np.allclose(merged.posterior, expected, atol=1e-10)
    assert merged.label[:8].tolist() == data.truth[:8].tolist()


def test_one_coin_follows_its_formulas() -> None:
    data = simulated()
    merged = merge(data.labels, "one-coin", **STEPS)
    assert np.allclose(merged.posterior, slow.one_coin(data.triples, *data.sizes, 12), atol=1e-10)


@pytest.mark.parametrize("inference", ["em", "vb"])
def test_mace_follows_its_formulas(inference: str) -> None:
    data = simulated()
    merged = merge(data.labels, "mace", inference=inference, **STEPS)
    expected = slow.mace(data.triples, *data.sizes, 12, inference == "vb")
    assert np.allclose(merged.posterior, expected, atol=1e-10)


def test_glad_follows_its_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """With so many Newton steps that every M-step ends at its optimum."""
    monkeypatch.setattr(log_odds, "PASSES", 500)
    monkeypatch.setattr(log_odds, "SETTLED", 1e-9)
    data = simulated(items=12, workers=4, each=3)
    merged = merge(data.labels, "glad", steps=10, tolerance=0.0)
    assert np.allclose(merged.posterior, slow.glad(data.triples, *data.sizes, 10), atol=1e-5)


def test_the_ordinal_model_follows_its_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """With so many steps of scoring that every M-step ends at its optimum."""
    monkeypatch.setattr(ordinal_labels, "INNER", 200)
    data = simulated(items=15, workers=4, each=3)
    merged = merge(data.labels, "ordinal", steps=5, tolerance=0.0)
    assert np.allclose(merged.posterior, slow.ordinal(data.triples, *data.sizes, 5), atol=1e-5)


def test_gp_follows_its_formulas() -> None:
    data = simulated(items=25, workers=4, each=3)
    merged = merge(data.labels, "gp", window=4, length=2.0, steps=10, tolerance=0.0)
    assert np.allclose(merged.posterior, slow.gp(data.triples, *data.sizes, 10, 4, 2.0), atol=1e-5)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:The (copy|inplace) keyword")
class TestCrowdKit:
    """crowd-kit 1.4 on the same labels, from the same start, with the same number of steps."""

    data = simulated(items=120, workers=9, each=5)

    def agrees(self, merged: Merged, probabilities: object, tolerance: float = 1e-6) -> None:
        frame = probabilities.sort_index()[sorted(probabilities.columns)]  # type: ignore[attr-defined]
        assert np.allclose(merged.posterior, frame.to_numpy(), atol=tolerance)

    def test_majority(self) -> None:
        from crowdkit.aggregation import MajorityVote

        self.agrees(merge(self.data.labels), MajorityVote().fit_predict_proba(self.data.frame()))

    def test_dawid_skene(self) -> None:
        from crowdkit.aggregation import DawidSkene

        peer = DawidSkene(n_iter=12, tol=-1.0).fit_predict_proba(self.data.frame())
        self.agrees(merge(self.data.labels, "dawid-skene", **STEPS), peer)

    def test_dawid_skene_with_gold(self) -> None:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene

        gold = pd.Series(self.data.truth[:20], index=range(20))
        peer = DawidSkene(n_iter=12, tol=-1.0).fit_predict_proba(self.data.frame(), true_labels=gold)
        named = {f"t{i}": int(label) for i, label in gold.items()}
        self.agrees(merge(self.data.labels, "dawid-skene", gold=named, **STEPS), peer)

    def test_one_coin(self) -> None:
        from crowdkit.aggregation import OneCoinDawidSkene

        peer = OneCoinDawidSkene(n_iter=12, tol=-1.0).fit_predict_proba(self.data.frame())
        self.agrees(merge(self.data.labels, "one-coin", **STEPS), peer)

    def test_glad(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """crowd-kit ends with an M-step, so its probabilities after n + 1 steps are ours after n."""
        from crowdkit.aggregation import GLAD

        monkeypatch.setattr(log_odds, "PASSES", 500)
        monkeypatch.setattr(log_odds, "SETTLED", 1e-9)
        data = simulated(items=15, workers=4, each=3)
        peer = GLAD(n_iter=5, tol=-1e9, m_step_max_iter=100, m_step_tol=1e-6).fit_predict_proba(data.frame())
        self.agrees(merge(data.labels, "glad", steps=4, tolerance=0.0), peer, 1e-4)

    @pytest.mark.parametrize("inference", ["em", "vb"])
    def test_mace(self, inference: str) -> None:
        from crowdkit.aggregation import MACE

        class FromVotes(MACE):
            """crowd-kit starts at random; this starts where we do."""

            def _initialize(self, n_workers: int, n_labels: int) -> None:
                super()._initialize(n_workers, n_labels)
                self.spamming_ = np.full((n_workers, 2), 0.5)
                self.thetas_ = np.full((n_workers, n_labels), 1 / n_labels)

        # crowd-kit 1.4.2 numbers assessors and labels by first appearance, but counts them in sorted order.
        frame = self.data.frame().sort_values(["label", "worker"])
        assert frame["worker"].drop_duplicates().is_monotonic_increasing
        peer = FromVotes(n_restarts=1, n_iter=12, method=inference).fit_predict_proba(frame)
        self.agrees(merge(self.data.labels, "mace", inference=inference, **STEPS), peer)


@pytest.mark.parametrize("method", ITERATIVE)
@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_never_decreases(method: str, seed: int) -> None:
    trace = np.array(merge(simulated(seed=seed).labels, method, steps=200, tolerance=0.0).trace)
    assert len(trace) > 2
    assert (np.diff(trace)[:-1] > -1e-8).all()


@pytest.mark.parametrize("inference", ["em", "vb"])
@pytest.mark.parametrize("prior", [None, (3.0, 1.0)])
def test_the_bound_of_mace_never_decreases(inference: str, prior: tuple[float, float] | None) -> None:
    trace = np.array(merge(simulated().labels, "mace", inference=inference, assessor_prior=prior, steps=100).trace)
    assert (np.diff(trace) > -1e-8).all()


@pytest.mark.parametrize("method", MERGING_METHODS)
def test_names_and_order_of_labels_items_and_assessors_change_nothing(method: str) -> None:
    """gp uses the order of an assessor's labels, so it keeps that order; ordinal and bmv use that of the scale."""
    data = simulated()
    labels = data.labels
    rng = np.random.default_rng(7)
    items, workers = rng.permutation(len(labels.items)), rng.permutation(len(labels.workers))
    order = np.arange(len(labels)) if method == "gp" else rng.permutation(len(labels))
    other = type(labels)(
        labels.items, labels.workers, labels.scale, items[labels.item][order], workers[labels.worker][order],
        labels.label[order],
    )  # fmt: skip
    settings = {"steps": 15, "tolerance": 0.0} if MERGING_METHODS[method].iterative else {}
    first, second = merge(labels, method, **settings), merge(other, method, **settings)
    assert np.allclose(second.posterior[items], first.posterior, atol=1e-7)
    assert np.allclose(second.accuracy[workers], first.accuracy, atol=1e-7)


@pytest.mark.parametrize("method", [name for name, m in MERGING_METHODS.items() if not m.ordered])
def test_renaming_labels_permutes_probabilities(method: str) -> None:
    labels = simulated().labels
    new = np.array([2, 0, 1])
    other = type(labels)(labels.items, labels.workers, labels.scale, labels.item, labels.worker, new[labels.label])
    settings = {"steps": 15, "tolerance": 0.0} if MERGING_METHODS[method].iterative else {}
    first, second = merge(labels, method, **settings), merge(other, method, **settings)
    assert np.allclose(second.posterior[:, new], first.posterior, atol=1e-7)


@pytest.mark.parametrize("method", ["bmv", "ordinal"])
def test_turning_the_scale_around_turns_probabilities_around(method: str) -> None:
    labels = simulated().labels
    other = type(labels)(labels.items, labels.workers, labels.scale, labels.item, labels.worker, 2 - labels.label)
    assert np.allclose(merge(other, method).posterior[:, ::-1], merge(labels, method).posterior, atol=1e-5)


@pytest.mark.parametrize("method", ["weighted", "dawid-skene", "one-coin", "glad", "mace", "gp"])
def test_models_find_the_truth_more_often_than_votes_if_some_assessors_guess(method: str) -> None:
    """Six of twelve assessors guess; accuracies of the others are 0.7 to 0.95. The votes count all twelve alike."""
    data = simulated(items=600, workers=12, each=7, classes=2, spammers=6, seed=3)
    votes = data.share_right(merge(data.labels).label)
    assert data.share_right(merge(data.labels, method, compare_votes=False).label) > votes + 0.02


def test_dawid_skene_finds_the_confusion_of_assessors() -> None:
    """With 4,000 labels each, the standard error of a cell is below 0.01."""
    data = simulated(items=6000, workers=6, each=4, seed=5)
    merged = merge(data.labels, "dawid-skene")
    diagonal = merged.confusion[:, range(3), range(3)]
    assert np.allclose(diagonal, data.accuracy[:, None], atol=0.04)


def test_the_ordinal_model_finds_the_bias_of_assessors() -> None:
    rng = np.random.default_rng(2)
    truth, bias, noise = rng.integers(0, 5, 3000), np.array([0.0, 0.8, -0.6]), np.array([0.3, 0.5, 0.9])
    seen = truth[:, None] + bias + noise * rng.standard_normal((3000, 3))
    grade = np.clip(np.rint(seen), 0, 4).astype(int)
    rows = [(f"t{i}", f"w{w}", int(grade[i, w])) for i in range(3000) for w in range(3)]
    values = merge(rows, "ordinal").worker_values
    assert np.allclose(values["bias"], bias, atol=0.12)
    assert np.allclose(values["noise"], noise, atol=0.12)


def test_gp_follows_an_assessor_who_tires() -> None:
    """Assessor 0 is right in 95% of the first 400 labels and guesses later; gp finds both, one accuracy cannot."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 800)
    chance = np.full((800, 4), 0.75)
    chance[:, 0] = np.where(np.arange(800) < 400, 0.95, 0.5)
    label = np.where(rng.random((800, 4)) < chance, truth[:, None], 1 - truth[:, None])
    rows = [(f"t{i:03}", f"w{w}", int(label[i, w])) for i in range(800) for w in range(4)]
    merged = merge(rows, "gp", window=20, length=4)
    assert merged.worker_values["first accuracy"][0] == pytest.approx(0.95, abs=0.06)
    assert merged.worker_values["last accuracy"][0] == pytest.approx(0.5, abs=0.12)
    right = {name: float((merge(rows, name, compare_votes=False).label == truth).mean()) for name in ("gp", "one-coin")}
    assert right["gp"] > right["one-coin"]


def test_gp_uses_times_if_there_are_any() -> None:
    """The same labels, listed backwards with their times, give the same result; without times they do not."""
    from dataclasses import replace

    labels = simulated(items=60).labels
    timed = replace(labels, time=np.arange(len(labels), dtype=float))
    turned = replace(
        timed, item=labels.item[::-1], worker=labels.worker[::-1], label=labels.label[::-1], time=timed.time[::-1]
    )
    settings = {"window": 3, "length": 1.0, "steps": 10}
    first = merge(labels, "gp", **settings).posterior
    assert np.allclose(merge(turned, "gp", **settings).posterior, first)
    assert not np.allclose(merge(replace(turned, time=None), "gp", **settings).posterior, first)


def test_random_starts_of_mace_never_end_lower() -> None:
    labels = simulated(spammers=3).labels
    alone = merge(labels, "mace", inference="em").trace[-1]
    more = merge(labels, "mace", inference="em", restarts=5, seed=3)
    assert more.trace[-1] >= alone
    again = merge(labels, "mace", inference="em", restarts=5, seed=3)
    assert np.array_equal(again.posterior, more.posterior)
