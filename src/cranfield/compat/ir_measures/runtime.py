"""Measures that are functions of two data frames: `define` and `define_byquery`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cranfield.compat.ir_measures.measure import Measure, ParamInfo
from cranfield.compat.ir_measures.named_tuples import TYPE_QREL, TYPE_RUN, Metric, QrelsConverter, RunConverter
from cranfield.compat.ir_measures.provider import Evaluator, Provider, register

PandasFrame = Any
OfAll = Callable[[PandasFrame, PandasFrame], Iterable[tuple[str, float]]]
OfQuery = Callable[[PandasFrame, PandasFrame], float]


class RuntimeMeasure(Measure):
    """A measure that `define` makes."""

    RUN_INPUTS: list[str]
    QREL_INPUTS: list[str]
    impl: OfAll

    def runtime_impl(self, qrels: PandasFrame, run: PandasFrame) -> Iterator[Metric]:
        """The values of all topics. The frames are sorted: the run by topic and score."""
        cutoff = self.params.get("cutoff")
        if cutoff is not None:
            run = run.groupby("query_id").head(cutoff).reset_index(drop=True)
        for query_id, value in type(self).impl(qrels, run):
            yield Metric(query_id, self, value)

    def __repr__(self) -> str:
        return object.__repr__(self) if self.NAME is None else super().__repr__()


def define(
    impl: OfAll,
    name: str | None = None,
    support_cutoff: bool = True,
    *,
    run_inputs: list[str] | None = None,
    qrel_inputs: list[str] | None = None,
    pretty_name: str | None = None,
    short_desc: str | None = None,
) -> Measure:
    """A measure from a function of all judgments and the run, as pandas frames, that returns (topic, value) pairs."""
    cutoff = {"cutoff": ParamInfo(int, desc="the last rank that counts")} if support_cutoff else {}
    attributes = {
        "NAME": name, "__name__": name, "PRETTY_NAME": pretty_name, "SHORT_DESC": short_desc,
        "SUPPORTED_PARAMS": cutoff,
        "RUN_INPUTS": ["query_id", "doc_id", "score"] if run_inputs is None else run_inputs,
        "QREL_INPUTS": ["query_id", "doc_id", "relevance"] if qrel_inputs is None else qrel_inputs,
        "impl": staticmethod(impl),
    }  # fmt: skip
    kind: type[RuntimeMeasure] = type("_RuntimeMeasure", (RuntimeMeasure,), attributes)
    return kind()


def define_byquery(
    impl: OfQuery,
    name: str | None = None,
    support_cutoff: bool = True,
    *,
    run_inputs: list[str] | None = None,
    qrel_inputs: list[str] | None = None,
    pretty_name: str | None = None,
    short_desc: str | None = None,
) -> Measure:
    """A measure from a function of the judgments and the run of one topic, as pandas frames, that returns its value.

    >>> import cranfield.compat.ir_measures as ir_measures
    >>> length = ir_measures.define_byquery(lambda qrels, run: len(run), name="Length")
    >>> (length @ 2).calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}})
    2.0
    """

    def of_all(qrels: PandasFrame, run: PandasFrame) -> Iterator[tuple[str, float]]:
        judged = dict(tuple(qrels.groupby("query_id")))
        for query_id, retrieved in run.groupby("query_id"):
            yield query_id, impl(judged.get(query_id, qrels.iloc[:0]), retrieved)

    return define(
        of_all, name or getattr(impl, "__name__", repr(impl)), support_cutoff, run_inputs=run_inputs,
        qrel_inputs=qrel_inputs, pretty_name=pretty_name, short_desc=short_desc,
    )  # fmt: skip


class RuntimeProvider(Provider):
    """Computes the measures of `define` and `define_byquery`; judgments and runs may have any columns."""

    NAME = "runtime"

    def supports(self, measure: Measure) -> bool:
        measure.validate_params()
        return hasattr(measure, "runtime_impl")

    def run_inputs(self, measures: Iterable[Measure]) -> list[str]:
        return list({column for measure in measures for column in getattr(measure, "RUN_INPUTS", ())})

    def qrel_inputs(self, measures: Iterable[Measure]) -> list[str]:
        return list({column for measure in measures for column in getattr(measure, "QREL_INPUTS", ())})

    def _evaluator(self, measures: Iterable[Measure], qrels: TYPE_QREL) -> Evaluator:
        return RuntimeEvaluator(measures, _sorted(QrelsConverter(qrels, strict=False), {"doc_id": True}))


class RuntimeEvaluator(Evaluator):
    """Measures that are functions, and sorted judgments."""

    def __init__(self, measures: Iterable[Measure], qrels: PandasFrame) -> None:
        super().__init__(measures, set(qrels["query_id"].unique()))
        self.qrels = qrels

    def _iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
        frame = _sorted(RunConverter(run, strict=False), {"score": False})
        for measure in self.measures:
            if not isinstance(measure, RuntimeMeasure) and not hasattr(measure, "runtime_impl"):
                raise ValueError(f"unsupported measure {measure}")
            yield from measure.runtime_impl(self.qrels, frame)


def _sorted(converter: QrelsConverter | RunConverter, then: dict[str, bool]) -> PandasFrame:
    """The frame by topic, then by these columns if it has them (true: ascending)."""
    frame = converter.as_pd_dataframe()
    if "query_id" not in frame.columns:
        raise ValueError(f"no column query_id in the {converter.noun}; its columns: {list(frame.columns)}")
    keys = {"query_id": True, **{name: rising for name, rising in then.items() if name in frame.columns}}
    return frame.sort_values(by=list(keys), ascending=list(keys.values()))


register(RuntimeProvider())
