"""Laws of all merging methods, on random labels."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.building.assessor_labels import Labels
from cranfield.building.merging import MERGING_METHODS, Merged, merge, plan_labels, rate_assessors

METHODS = MERGING_METHODS


@st.composite
def labels(draw: st.DrawFn) -> Labels:
    """Labels of up to 8 items by up to 5 assessors on a scale of up to 4 labels, most of them sparse."""
    classes = draw(st.integers(2, 4))
    cells = st.tuples(st.integers(0, 7), st.integers(0, 4))
    given_labels = draw(st.dictionaries(cells, st.integers(0, classes - 1), min_size=1, max_size=24))
    rows = [(f"t{i}", f"w{w}", y) for (i, w), y in given_labels.items()]
    return Labels.of(rows, scale=range(classes))


def merged_quietly(data: Labels, method: str, **more: Any) -> Merged:
    steps = {"steps": 25} if METHODS[method].iterative else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(did not converge|cannot learn|worse than)")
        return merge(data, method, **steps, **more)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(data=labels())
def test_probabilities_are_probabilities_and_the_likelihood_rises(method: str, data: Labels) -> None:
    merged = merged_quietly(data, method)
    assert (merged.posterior >= 0).all()
    assert np.allclose(merged.posterior.sum(axis=1), 1)
    assert np.array_equal(merged.label, np.argmax(merged.posterior >= merged.posterior.max(axis=1)[:, None] - 1e-9, 1))
    assert (np.diff(merged.trace) > -1e-7).all()
    assert (merged.entropy >= 0).all()
    assert (merged.expected >= 0).all()
    assert (merged.expected <= len(data.scale) - 1 + 1e-9).all()


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(data=labels(), which=st.data())
def test_gold_is_always_kept(method: str, data: Labels, which: st.DataObject) -> None:
    chosen = which.draw(st.dictionaries(st.sampled_from(data.items), st.sampled_from(data.scale), min_size=1))
    merged = merged_quietly(data, method, gold=chosen)
    for item, label in chosen.items():
        at = data.items.index(item)
        assert merged.scale[merged.label[at]] == label
        assert merged.posterior[at].max() == 1
    assert np.allclose(merged.posterior.sum(axis=1), 1)
    assert (np.diff(merged.trace) > -1e-7).all()


@settings(max_examples=25)
@given(data=labels())
def test_reports_and_plans_are_defined_for_all_labels(data: Labels) -> None:
    merged = merged_quietly(data, "dawid-skene")
    report = rate_assessors(data, merged=merged)
    assert ((report.low <= report.share + 1e-12) | np.isnan(report.share)).all()
    assert ((report.p >= 0) & (report.p <= 1 + 1e-12) | np.isnan(report.p)).all()
    assert ((report.spammer_score >= 0) & (report.spammer_score <= 1 + 1e-9) | np.isnan(report.spammer_score)).all()
    assert (report.information <= np.log2(len(data.scale)) + 1e-9).all()
    if len(data.workers) > 1 and len(data) > len(set(data.item.tolist())):  # some item has two labels
        plan = plan_labels(data, merged=merged, count=100)
        assert plan.open_items + plan.closed_items == len(data.items)
        for item, worker in zip(plan.items, plan.worker, strict=True):
            labelled = data.worker[data.item == data.items.index(item)]
            assert not worker or data.workers.index(worker) not in labelled.tolist()
