"""The replacement for ir_measures has its modules, classes and functions, which behave in the same way."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import ir_measures
import numpy as np
import pandas
import pytest
from pandas.testing import assert_frame_equal

from cranfield.compat import ir_measures as ours

QRELS = {"1": {"d1": 2, "d2": 0, "d3": 1, "d4": 3}, "2": {"d1": 0, "d2": 1}, "3": {"d1": 1}}
RUN = {"1": {"d1": 1.0, "x": 2.0, "d3": 0.5, "d4": 0.25}, "2": {"x": 1.0, "d2": 0.5, "d1": 0.25}, "9": {"d1": 1.0}}
BOTH = [ir_measures, ours]


def named_tuples(module: Any) -> tuple[list[Any], list[Any]]:
    qrels = [module.Qrel(topic, doc, grade) for topic, docs in QRELS.items() for doc, grade in docs.items()]
    return qrels, [module.ScoredDoc(topic, doc, score) for topic, docs in RUN.items() for doc, score in docs.items()]


def frames() -> tuple[Any, Any]:
    qrels, run = named_tuples(ir_measures)
    return pandas.DataFrame(qrels), pandas.DataFrame(run)


# -- names


@pytest.mark.parametrize("module", ["", "util", "measures", "measures.base", "providers", "providers.base"])
def test_every_public_name_exists(module: str) -> None:
    theirs, mine = ir_measures, ours
    for part in filter(None, module.split(".")):
        theirs, mine = getattr(theirs, part), getattr(mine, part)
    own = [name for name, value in vars(theirs).items() if getattr(value, "__module__", "") == theirs.__name__]
    for name in getattr(theirs, "__all__", [name for name in own if name[0] != "_"]):
        assert hasattr(mine, name), f"{module or 'ir_measures'} has {name}"
    assert ours.__version__ == ir_measures.__version__


def test_modules_of_single_measures_can_be_imported() -> None:
    from cranfield.compat.ir_measures.measures.accuracy import Accuracy, _Accuracy  # type: ignore[import-not-found]
    from cranfield.compat.ir_measures.measures.ndcg import NDCG  # type: ignore[import-not-found]

    assert Accuracy is ours.Accuracy
    assert type(Accuracy) is _Accuracy
    assert NDCG is ours.nDCG
    assert set(ours.measures.SUBMODULES) <= set(dir(ir_measures.measures))
    assert type(ours.nDCG) is ours.measures._nDCG
    assert isinstance(ours.nDCG, ours.BaseMeasure)


SWAPPED = """
import sys
import cranfield.compat.ir_measures, cranfield.compat.pytrec_eval
sys.modules["ir_measures"] = cranfield.compat.ir_measures
sys.modules["pytrec_eval"] = cranfield.compat.pytrec_eval
import ir_measures
from ir_measures import Measure, nDCG, util, providers
from ir_measures.measures.base import Measure as of_module, registry, MeanAgg
from ir_measures.measures.ndcg import nDCG as same
from ir_measures.providers.base import Provider, Any
import ir_measures.measures, ir_measures.providers, ir_measures.util, ir_measures.lazylibs
assert of_module is Measure is cranfield.compat.ir_measures.Measure
assert same is nDCG is registry["nDCG"] is ir_measures.measures.registry["nDCG"]
assert Provider is ir_measures.Provider and isinstance(ir_measures.gdeval, Provider)
assert isinstance(nDCG.aggregator(), MeanAgg) and isinstance(util.parse_measure("AP@5"), Measure)
assert not {"numpy", "pandas", "ir_measures.bin"} & set(sys.modules), "imported before use"
"""


def test_the_module_can_take_the_place_of_the_original() -> None:
    """Programs that import from submodules get the same classes; heavy packages are imported on first use."""
    subprocess.run([sys.executable, "-c", SWAPPED], check=True)


# -- measures


def test_numbers_of_numpy_are_parameters() -> None:
    assert str(ours.RBP(p=np.float64(0.5), rel=np.int64(1)) @ np.int32(10)) == "RBP(p=0.5,rel=1)@10"
    for measure, plain in [
        (ours.RBP(p=np.float64(0.5), rel=np.int64(1)), ours.RBP(p=0.5, rel=1)),
        (ours.nDCG(gains={np.int64(1): np.int64(5)}) @ np.int64(3), ours.nDCG(gains={1: 5}) @ 3),
        (ours.AP(judged_only=np.True_), ours.AP(judged_only=True)),
        (ours.IPrec @ np.float32(0.5), ours.IPrec @ 0.5),
    ]:
        assert measure == plain
        assert measure.calc_aggregate(QRELS, RUN) == plain.calc_aggregate(QRELS, RUN)


def test_the_order_of_gains_does_not_matter() -> None:
    first, second = ({1: 3, 2: 7, 3: 3}, {3: 3, 2: 7, 1: 3})
    for module in BOTH:
        measures = [module.nDCG(gains=gains) @ 5 for gains in (first, second)]
        assert measures[0] == measures[1]
        assert hash(measures[0]) == hash(measures[1])
        assert str(measures[0]) == "nDCG(gains={1:3,2:7})@5"  # 3 gains itself
        assert len(module.calc_aggregate(measures, QRELS, RUN)) == 1
    theirs = (ir_measures.nDCG(gains=first) @ 5).calc_aggregate(QRELS, RUN)
    assert (ours.nDCG(gains=second) @ 5).calc_aggregate(QRELS, RUN) == pytest.approx(theirs, abs=1e-12)


def test_aggregators() -> None:
    for module in BOTH:
        mean, total, none = module.AP.aggregator(), module.NumRet.aggregator(), module.MeanAgg(default=7.0)
        for value in (0.25, 0.75):
            mean.add(value)
            total.add(value)
        assert (mean.result(), total.result(), none.result()) == (0.5, 1.0, 7.0)
        assert math.isnan(module.MeanAgg().result())
        assert module.SumAgg().result() == 0


def test_a_measure_may_combine_topics_in_its_own_way() -> None:
    class Highest(ours.measures._AP):  # type: ignore[misc]
        def aggregator(self) -> Any:
            class Max(ours.SumAgg):
                def add(self, value: float) -> None:
                    self.sum = max(self.sum, value)

            return Max()

    per_topic = [metric.value for metric in ours.AP.iter_calc(QRELS, RUN)]
    assert Highest().calc_aggregate(QRELS, RUN) == max(per_topic)


def test_registering_a_measure() -> None:
    measure = ours.define_byquery(lambda qrels, run: 1.0, name="Mine")
    try:
        assert ours.measures.register(measure, ["Own"]) is ours.measures.registry
        assert ours.parse_measure("Own@5") == measure @ 5
        with pytest.raises(AssertionError):
            ours.measures.register(measure)
    finally:
        for name in ("Mine", "Own"):
            ours.measures.registry.pop(name)


# -- measures from functions


def fraction(qrels: Any, run: Any) -> float:
    joined = run.merge(qrels, "left", on=["doc_id"])
    return float((joined["relevance"] > 0).sum() / len(joined))


def fractions(qrels: Any, run: Any) -> Any:
    joined = run.merge(qrels, "left", on=["query_id", "doc_id"])
    for topic, frame in joined.groupby("query_id"):
        yield topic, (frame["relevance"] > 0).sum() / len(frame)


@pytest.mark.parametrize("shape", ["dicts", "tuples", "frames"])
def test_functions_as_measures(shape: str) -> None:
    """By hand: the first two documents are x, d1 for topic 1 and x, d2 for topic 2; topic 3 is not retrieved."""
    for module in BOTH:
        qrels, run = {"dicts": (QRELS, RUN), "tuples": named_tuples(module), "frames": frames()}[shape]
        for measure in (module.define_byquery(fraction), module.define(fractions, name="Fraction")):
            judged_run = [one for one in run if one.query_id != "9"] if shape == "tuples" else run
            results = {one.query_id: one.value for one in (measure @ 2).iter_calc(qrels, judged_run)}
            assert results | {"9": 0} == {"1": 0.5, "2": 0.5, "3": 0.0, "9": 0}
        together = module.calc_aggregate([module.define_byquery(fraction) @ 2, module.AP], qrels, run)
        assert len(together) == 2
        assert module.define_byquery(fraction, name="F") @ 2 == module.define_byquery(fractions, name="F") @ 2
        assert str(module.define_byquery(fraction)) == "fraction"


def test_functions_may_use_other_columns() -> None:
    answers = pandas.DataFrame({"query_id": ["q1"], "answer": ["abcd"]})
    gold = pandas.DataFrame({"query_id": ["q1"], "gold": ["ab"]})
    for module in BOTH:
        ratio = module.define_byquery(
            lambda qrels, run: len(qrels.iloc[0]["gold"]) / len(run.iloc[0]["answer"]),
            run_inputs=["query_id", "answer"],
            qrel_inputs=["query_id", "gold"],
        )
        assert ratio.calc_aggregate(gold, answers) == 0.5
        assert set(module.run_inputs([ratio])) == {"query_id", "answer"}
        assert set(module.qrel_inputs([ratio, module.AP])) == {"query_id", "gold", "doc_id", "relevance"}
        with pytest.raises(ValueError, match=r"."):
            ratio.calc_aggregate(gold.rename(columns={"query_id": "q"}), answers)


# -- converters


def test_converters() -> None:
    for module in BOTH:
        tuples = named_tuples(module)
        for qrels, run in ((QRELS, RUN), tuples, (iter(tuples[0]), iter(tuples[1])), frames()):
            of_qrels, of_run = (
                converter.tee(5) for converter in (module.util.QrelsConverter(qrels), module.util.RunConverter(run))
            )
            assert of_qrels[0].as_dict_of_dict() == QRELS
            assert list(of_qrels[1].as_namedtuple_iter()) == tuples[0]
            assert_frame_equal(of_qrels[2].as_pd_dataframe(), frames()[0])
            with of_qrels[3].as_tmp_file() as file:
                assert file.readline() == "1 0 d1 2\n"
            assert of_run[0].as_dict_of_dict() == RUN
            assert_frame_equal(of_run[1].as_pd_dataframe(), frames()[1])
            assert [one.doc_id for one in of_run[2].as_sorteddict()["1"]] == ["x", "d1", "d3", "d4"]
            assert [one.doc_id for one in of_run[3].as_sorted_namedtuple_iter()][:5] == ["x", "d1", "d3", "d4", "x"]
            with of_run[4].as_tmp_file() as file:
                assert file.read().splitlines()[1] == "1 Q0 x 1 2.0 run"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pandas.DataFrame({"query_id": ["1"], "docno": ["a"], "relevance": [1], "score": [1.0]}), r"\['doc_id'\]"),
        ([("1", "a", 1)], "namedtuple"),
        (object(), "object|unexpected"),
    ],
)
def test_converters_refuse_other_data(data: Any, message: str) -> None:
    for module in BOTH:
        for converter in (module.util.QrelsConverter, module.util.RunConverter):
            with pytest.raises(ValueError, match=f"unknown (qrels|run) format: .*{message}"):
                converter(data).as_dict_of_dict()


def test_old_names_still_work() -> None:
    qrels, run = "1 0 d1 2\n", "1 Q0 d1 1 2.5 tag\n"
    for module in BOTH:
        with pytest.warns(DeprecationWarning, match="deprecated"):
            assert module.GenericQrel("1", "d1", 2) == module.Qrel("1", "d1", 2, "0")
        with pytest.warns(DeprecationWarning, match="deprecated"):
            assert module.GenericScoredDoc("1", "d1", 2.5)._fields == ("query_id", "doc_id", "score")
        with pytest.warns(DeprecationWarning, match="deprecated"):
            assert module.convert_trec_name("P_5") == [module.P @ 5]
        with pytest.warns(DeprecationWarning, match="deprecated"):
            assert list(module.parse_trec_qrels(qrels)) == list(module.read_trec_qrels(qrels))
        with pytest.warns(DeprecationWarning, match="deprecated"):
            assert list(module.parse_trec_run(run)) == list(module.read_trec_run(run))
        with pytest.warns(DeprecationWarning, match="deprecated"), module.calc_ctxt([module.AP], QRELS) as score:
            assert {metric.query_id for metric in score(RUN)} >= {"1", "2", "3"}


# -- providers

PROVIDERS = ["pytrec_eval", "cwl_eval", "compat", "judged", "msmarco", "gdeval", "accuracy"]
ASKED = [
    "P@5", "P(rel=2)@5", "P(judged_only=True)@5", "RR", "RR@2", "AP", "AP@3", "Rprec", "nDCG", "nDCG@3",
    "nDCG(dcg='exp-log2')@3", "nDCG(dcg='exp-log2')", "nDCG(gains={1:3})", "R@3", "Bpref", "NumRet", "NumRet(rel=2)",
    "NumRel", "NumRel(rel=2)", "NumQ", "SetP", "SetRelP", "SetF(beta=0.5)", "Success@2", "IPrec@0.5", "infAP", "ERR@3",
    "ERR", "RBP(rel=1)", "RBP", "RBP(rel=1)@5", "INST(max_rel=3)", "BPM(max_rel=3)@5", "SDCG(max_rel=3)@5", "Judged",
    "Judged@2", "Compat", "Accuracy", "Accuracy@2", "alpha_nDCG@5", "StRecall@5", "NERR10(max_rel=3)",
]  # fmt: skip


@pytest.mark.parametrize("name", [*PROVIDERS, "pyndeval", "ranx", "trectools", "runtime"])
def test_providers_support_the_same_measures(name: str) -> None:
    theirs, mine = ir_measures.providers.registry[name], ours.providers.registry[name]
    assert mine.is_available()
    assert type(mine).__name__ == type(theirs).__name__
    assert getattr(ours.providers, type(mine).__name__) is type(mine)
    for measure in ASKED:
        supported = mine.supports(ours.parse_measure(measure))
        assert supported == theirs.supports(ir_measures.parse_measure(measure)), measure


@pytest.mark.parametrize("name", PROVIDERS)
def test_providers_give_the_same_values(name: str) -> None:
    theirs, mine = ir_measures.providers.registry[name], ours.providers.registry[name]
    for measure in ASKED:
        asked = ir_measures.parse_measure(measure)
        if not theirs.supports(asked):
            continue
        expected = {one.query_id: one for one in theirs.iter_calc([asked], QRELS, RUN)}
        results = {one.query_id: one for one in mine.iter_calc([ours.parse_measure(measure)], QRELS, RUN)}
        assert {topic for topic in expected if topic != "9"} == results.keys(), measure
        for topic, metric in results.items():
            assert type(metric).__name__ == type(expected[topic]).__name__
            assert metric[2:] == pytest.approx(expected[topic][2:], abs=1e-9), (measure, topic)


def test_gdeval_rounds_and_has_exponential_gains() -> None:
    for module in BOTH:
        by_topic = {metric.query_id: metric.value for metric in module.gdeval.iter_calc([module.nDCG @ 3], QRELS, RUN)}
        assert by_topic["1"] == round(by_topic["1"], 5)
    exact = {metric.query_id: metric.value for metric in (ours.nDCG(dcg="exp-log2") @ 3).iter_calc(QRELS, RUN)}
    assert by_topic == {topic: round(value, 5) for topic, value in exact.items()}


@pytest.mark.parametrize(("qrels", "run"), [(QRELS, {}), ({}, RUN), ({}, {}), ([], []), (QRELS, [])])
def test_nothing_judged_or_retrieved(qrels: Any, run: Any) -> None:
    for names in (["P@5", "NumRet"], ["AP"], ["Compat"], ["NumQ"]):
        results = [
            module.calc([module.parse_measure(name) for name in names], qrels, run) for module in (ir_measures, ours)
        ]
        theirs, mine = ({str(measure): value for measure, value in result.aggregated.items()} for result in results)
        np.testing.assert_equal(mine, theirs)
        assert len(results[0].per_query) == len(results[1].per_query)


class Fixed(ours.Provider):
    """A provider of a user."""

    NAME = "fixed"
    SUPPORTED_MEASURES = [ours.measures._AP(rel=ours.providers.base.Choices(2))]  # noqa: RUF012

    def _evaluator(self, measures: Any, qrels: Any) -> ours.Evaluator:
        class One(ours.Evaluator):
            def _iter_calc(self, run: Any) -> Any:
                yield from (ours.Metric("1", measure, 0.5) for measure in self.measures)

        return One(measures, {"1", "2"})


def test_providers_of_a_user() -> None:
    """By hand: 0.5 on topic 1, and 0 on topic 2, for which the provider has no value."""
    pipeline = ours.providers.FallbackProvider([Fixed(), ours.pytrec_eval])
    assert pipeline.calc_aggregate([ours.AP(rel=2)], QRELS, RUN) == {ours.AP(rel=2): 0.25}
    both = pipeline.calc_aggregate([ours.AP(rel=2), ours.AP], QRELS, RUN)
    assert both[ours.AP] == ours.AP.calc_aggregate(QRELS, RUN)
    with pytest.raises(ValueError, match=r"Unsupported measures \{ERR@5\}"):
        pipeline.calc_aggregate([ours.ERR @ 5], QRELS, RUN)

    class Absent(Fixed):
        def initialize(self) -> None:
            raise RuntimeError("not installed")

        def install_instructions(self) -> str:
            return "pip install absent"

    with pytest.raises(RuntimeError, match="fixed is not available; install it: pip install absent"):
        Absent().calc_aggregate([ours.AP(rel=2)], QRELS, RUN)
    with pytest.raises(ValueError, match="not installed support some of them: fixed"):
        ours.providers.FallbackProvider([Absent()]).calc_aggregate([ours.AP(rel=2)], QRELS, RUN)


# -- rows in any order and of any kind


def _rows(module: Any, *rows: tuple[Any, Any, Any]) -> list[Any]:
    return [module.ScoredDoc(*row) for row in rows]


@pytest.mark.parametrize(
    "rows",
    [
        [("1", "d1", 3.0), ("2", "d2", 1.0), ("1", "d3", 4.0), ("2", "x", 1.0), ("9", "d1", 1.0), ("1", "é", 3.5)],
        [("1", "d1", 3), ("1", "d3", np.float64(4.0)), ("1", "x", 2**60)],
        [("1", "d1", 1.0), ("1", "d3", float("inf")), ("1", "x", float("-inf"))],
        [("1", "d1", 1.00000001), ("1", "d3", 1.0)],  # equal as 32-bit numbers
        [("9", "d1", 1.0)],
    ],
)
def test_rows_of_a_run_in_any_order(rows: list[Any]) -> None:
    lists: dict[str, dict[str, float]] = {}
    for topic, doc, score in rows:
        lists.setdefault(topic, {})[doc] = float(score)
    names = ["AP", "nDCG@2", "RR", "NumRet", "P(judged_only=True)@1"]
    expected = ours.calc([ours.parse_measure(name) for name in names], QRELS, lists)
    theirs = [ir_measures.parse_measure(name).calc_aggregate(QRELS, lists) for name in names]
    assert list(expected.aggregated.values()) == pytest.approx(theirs, abs=1e-9)
    records = _rows(ours, *rows)
    for run in (
        records,
        iter(records),
        pandas.DataFrame(records),
        pandas.DataFrame(records).astype({"doc_id": object}),
    ):
        assert ours.calc([ours.parse_measure(name) for name in names], QRELS, run) == expected


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("1", "d1", 1.0), ("1", "d1", 2.0)], "record 2: document 'd1' appears twice for topic '1'"),
        ([("1", "d1", 1.0), ("1", "d2", "x")], "record 2: the score is 'x', expected a number"),
        ([("1", "d1", 1.0), ("1", "d2", float("nan"))], "record 2: the score is nan"),
        ([("1", "d1", 1.0), ("1", "", 1.0)], "record 2: the document is empty"),
        ([("1", None, 1.0)], "record 1: the document is None"),
        ([("1", "d1", True)], "record 1: the score is True"),
    ],
)
def test_rows_that_cannot_be_read_are_named(rows: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ours.calc_aggregate([ours.AP], QRELS, _rows(ours, *rows))


def test_numbers_as_ids() -> None:
    assert ours.calc_aggregate([ours.AP], {"1": {"7": 1}}, _rows(ours, (1, 7, 2.0), (1, 8, 1.0))) == {ours.AP: 1.0}
