"""The providers of ir_measures, all computed by cranfield, and one that asks other providers in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any as Anything
from typing import ClassVar

from cranfield.compat.ir_measures.measure import Measure
from cranfield.compat.ir_measures.named_tuples import TYPE_QREL, TYPE_RUN, Metric, QrelsConverter, RunConverter
from cranfield.compat.ir_measures.names import CLASSES
from cranfield.compat.ir_measures.provider import NOT_PROVIDED, Any, Choices, Evaluator, Provider, register

_ANY = Any()
_NEEDED = Any(required=True)
_FALSE = Choices(False)
_ABSENT = Choices(NOT_PROVIDED)
_ONE = Choices(1)


def _known(name: str, **params: Anything) -> Measure:
    return CLASSES[name](**params)


class CoreProvider(Provider):
    """A provider that cranfield computes."""

    EVALUATOR: ClassVar[str] = "CoreEvaluator"
    RANKING: ClassVar[str] = "TREC_EVAL"
    """How the original ranks documents: the name of a ranking of `plan`."""

    def adapted(self, measure: Measure) -> Measure:
        """The measure that it computes for this one."""
        return measure

    def plan(self, measure: Measure) -> Anything:
        """How to compute a measure. A parameter that the measure does not have is ignored, as in ir_measures."""
        if measure.NAME not in {known.NAME for known in self.SUPPORTED_MEASURES}:
            raise ValueError(f"unsupported measure {measure}")
        adapted = self.adapted(measure)
        params = {name: value for name, value in adapted.params.items() if name in adapted.SUPPORTED_PARAMS}
        return self.ranked(str(adapted.NAME), params)

    def ranked(self, name: str, params: Anything) -> Anything:
        """The plan for a measure with these parameters, with the ranking of this provider."""
        from dataclasses import replace

        from cranfield.compat.ir_measures import core_evaluators

        return replace(core_evaluators.plan(name, params), ranking=getattr(core_evaluators, self.RANKING))

    def _evaluator(self, measures: Iterable[Measure], qrels: TYPE_QREL) -> Evaluator:
        from cranfield.compat.ir_measures import core_evaluators

        kind: type[core_evaluators.CoreEvaluator] = getattr(core_evaluators, self.EVALUATOR)
        return kind({measure: self.plan(measure) for measure in measures}, qrels)


class PytrecEvalProvider(CoreProvider):
    """The measures of trec_eval."""

    NAME = "pytrec_eval"
    SUPPORTED_MEASURES: ClassVar = [
        _known("P", cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _known("RR", cutoff=_ABSENT, rel=_ANY, judged_only=_ANY),
        _known("Rprec", rel=_ANY, judged_only=_ANY),
        _known("AP", cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _known("nDCG", cutoff=_ANY, dcg=Choices("log2"), gains=_ANY, judged_only=_ANY),
        _known("R", cutoff=_ANY, judged_only=_ANY),
        _known("Bpref", rel=_ANY),
        _known("NumRet", rel=_ANY),
        _known("NumQ"),
        _known("NumRel", rel=_ONE),
        _known("SetAP", rel=_ANY, judged_only=_ANY),
        _known("SetF", rel=_ANY, beta=_ANY, judged_only=_ANY),
        _known("SetP", rel=_ANY, relative=_ANY, judged_only=_ANY),
        _known("SetR", rel=_ANY),
        _known("Success", rel=_ANY, cutoff=_ANY, judged_only=_ANY),
        _known("IPrec", recall=_ANY, judged_only=_ANY),
        _known("infAP", rel=_ANY),
    ]


class CwlEvalProvider(CoreProvider):
    """The measures of the C/W/L framework; results are `CwlMetric`s."""

    NAME = "cwl_eval"
    RANKING = "AS_GIVEN"
    EVALUATOR = "CwlEvaluator"
    SUPPORTED_MEASURES: ClassVar = [
        _known("P", cutoff=_ANY, rel=_ANY, judged_only=_FALSE),
        _known("RR", cutoff=_ABSENT, rel=_ANY, judged_only=_FALSE),
        _known("AP", cutoff=_ABSENT, rel=_ANY, judged_only=_FALSE),
        _known("RBP", cutoff=_ABSENT, rel=_NEEDED, p=_ANY),
        _known("BPM", cutoff=_ANY, T=_ANY, min_rel=_ANY, max_rel=_NEEDED),
        _known("SDCG", cutoff=_NEEDED, dcg=Choices("log2"), min_rel=_ANY, max_rel=_NEEDED),
        *(_known(name, cutoff=_NEEDED, min_rel=_ANY, max_rel=_NEEDED) for name in ("NERR8", "NERR9")),
        _known("NERR10", p=_ANY, min_rel=_ANY, max_rel=_NEEDED),
        *(_known(name, T=_ANY, min_rel=_ANY, max_rel=_NEEDED) for name in ("NERR11", "INST", "INSQ")),
    ]


class CompatProvider(CoreProvider):
    """Compatibility."""

    NAME = "compat"
    RANKING = "BY_ID"
    SUPPORTED_MEASURES: ClassVar = [_known("Compat", p=_ANY, normalize=_ANY)]


class PyNdEvalProvider(CoreProvider):
    """The measures of diversity."""

    NAME = "pyndeval"
    RANKING = "BY_ID"
    SUPPORTED_MEASURES: ClassVar = [
        *(_known(name, cutoff=_ANY, rel=_ANY, judged_only=_ANY) for name in ("ERR_IA", "nERR_IA")),
        *(_known(name, cutoff=_ANY, alpha=_ANY, rel=_ANY, judged_only=_ANY) for name in ("alpha_DCG", "alpha_nDCG")),
        *(_known(name, alpha=_ANY, beta=_ANY, rel=_ANY) for name in ("NRBP", "nNRBP")),
        _known("AP_IA", rel=_ANY, judged_only=_ANY),
        _known("P_IA", cutoff=_ANY, rel=_ANY, judged_only=_ANY),
        _known("StRecall", cutoff=_ANY, rel=_ANY),
    ]


class JudgedProvider(CoreProvider):
    """The fraction of documents that are judged."""

    NAME = "judged"
    RANKING = "BY_ID"
    SUPPORTED_MEASURES: ClassVar = [_known("Judged", cutoff=_ANY)]


class MsMarcoProvider(CoreProvider):
    """The reciprocal rank."""

    NAME = "msmarco"
    RANKING = "BY_ID"
    SUPPORTED_MEASURES: ClassVar = [_known("RR", cutoff=_ANY, rel=_ANY, judged_only=_FALSE)]


class GdevalProvider(CoreProvider):
    """The measures of gdeval, which has exponential gains and prints five decimals."""

    NAME = "gdeval"
    RANKING = "GDEVAL"
    SUPPORTED_MEASURES: ClassVar = [
        _known("nDCG", cutoff=_NEEDED, dcg=Choices("exp-log2"), gains=_ABSENT, judged_only=_FALSE),
        _known("ERR", cutoff=_NEEDED),
    ]

    def adapted(self, measure: Measure) -> Measure:
        return measure(dcg="exp-log2") if measure.NAME == "nDCG" else measure

    def plan(self, measure: Measure) -> Anything:
        from dataclasses import replace

        return replace(super().plan(measure), decimals=5)


class TrectoolsProvider(CoreProvider):
    """The measures of trectools."""

    NAME = "trectools"
    SUPPORTED_MEASURES: ClassVar = [
        _known("P", cutoff=_ANY, rel=_ONE, judged_only=_FALSE),
        _known("RR", cutoff=_ABSENT, rel=_ONE, judged_only=_FALSE),
        _known("Rprec", rel=_ONE, judged_only=_FALSE),
        _known("AP", cutoff=_ANY, rel=_ONE, judged_only=_FALSE),
        _known("nDCG", cutoff=_ANY, dcg=_ANY, gains=_ABSENT, judged_only=_FALSE),
        _known("Bpref", rel=_ONE),
        _known("RBP", cutoff=_ANY, p=_ANY, rel=_ANY),
    ]


class AccuracyProvider(CoreProvider):
    """Accuracy; topics without a retrieved relevant document have no value."""

    NAME = "accuracy"
    RANKING = "AS_GIVEN"
    EVALUATOR = "DefinedEvaluator"
    SUPPORTED_MEASURES: ClassVar = [_known("Accuracy", cutoff=_ANY, rel=_ANY)]


class RanxProvider(CoreProvider):
    """The measures of ranx."""

    NAME = "ranx"
    SUPPORTED_MEASURES: ClassVar = [
        _known("P", cutoff=_ANY, rel=_ANY, judged_only=_FALSE),
        _known("SetP", rel=_ANY, judged_only=_FALSE),
        _known("RR", cutoff=_ABSENT, rel=_ANY, judged_only=_FALSE),
        _known("Rprec", rel=_ANY, judged_only=_FALSE),
        _known("AP", cutoff=_ANY, rel=_ANY, judged_only=_FALSE),
        _known("nDCG", cutoff=_ANY, dcg=Choices("log2", "exp-log2"), gains=_ABSENT, judged_only=_FALSE),
        _known("R", cutoff=_ANY, judged_only=_FALSE),
        _known("SetR", rel=_ANY),
        _known("NumRet", rel=_NEEDED),
        _known("Success", cutoff=_NEEDED, rel=_ANY, judged_only=_FALSE),
    ]


class CranfieldProvider(CoreProvider):
    """What cranfield computes and no other provider does, such as ERR without a cutoff or NumRel(rel=2)."""

    NAME = "cranfield"
    SUPPORTED_MEASURES: ClassVar = [kind() for kind in CLASSES.values()]


for _provider in (
    AccuracyProvider, CompatProvider, CwlEvalProvider, PyNdEvalProvider, PytrecEvalProvider, JudgedProvider,
    GdevalProvider, TrectoolsProvider, MsMarcoProvider, RanxProvider,
):  # fmt: skip
    register(_provider())


class FallbackProvider(Provider):
    """Every measure is computed by the first provider that is available and supports it."""

    NAME = "fallback"

    def __init__(self, providers: Sequence[Provider]) -> None:
        super().__init__()
        self.providers = providers

    def supports(self, measure: Measure) -> bool:
        return any(provider.is_available() and provider.supports(measure) for provider in self.providers)

    def _shared_out(self, measures: Iterable[Measure]) -> dict[Measure, Provider | None]:
        """The provider of each measure."""
        available = [provider for provider in self.providers if provider.is_available()]
        return {
            measure: next((provider for provider in available if provider.supports(measure)), None)
            for measure in measures
        }

    def _evaluator(self, measures: Iterable[Measure], qrels: TYPE_QREL) -> Evaluator:
        shares = self._shared_out(measures)
        unsupported = [measure for measure, provider in shares.items() if provider is None]
        if unsupported:
            raise ValueError(f"Unsupported measures {{{', '.join(map(str, unsupported))}}}.{self._hint(unsupported)}")
        groups: dict[Anything, dict[Measure, Provider]] = {}
        for measure, provider in shares.items():
            assert provider is not None
            # what cranfield computes is computed together: the run is read once
            key = CoreProvider if isinstance(provider, CoreProvider) else provider
            groups.setdefault(key, {})[measure] = provider
        copies = QrelsConverter(qrels, strict=False).tee(len(groups)) if len(groups) > 1 else [qrels]
        evaluators = [
            _of_group(group, copy.qrels if isinstance(copy, QrelsConverter) else copy)
            for group, copy in zip(groups.values(), copies, strict=True)
        ]
        return evaluators[0] if len(evaluators) == 1 else FallbackEvaluator(list(shares), evaluators)

    def _hint(self, measures: list[Measure]) -> str:
        missing = [
            f"{provider.NAME} ({provider.install_instructions()})"
            for provider in self.providers
            if not provider.is_available() and any(map(provider.supports, measures))
        ]
        return f" Providers that are not installed support some of them: {', '.join(missing)}" if missing else ""

    def run_inputs(self, measures: Iterable[Measure]) -> list[str]:
        return self._inputs(measures, "run_inputs")

    def qrel_inputs(self, measures: Iterable[Measure]) -> list[str]:
        return self._inputs(measures, "qrel_inputs")

    def _inputs(self, measures: Iterable[Measure], method: str) -> list[str]:
        shares = self._shared_out(measures).items()
        return list({column for measure, by in shares if by for column in getattr(by, method)([measure])})


def _of_group(group: dict[Measure, Provider], qrels: TYPE_QREL) -> Evaluator:
    providers = set(group.values())
    if len(providers) == 1:
        provider = providers.pop()
        if not isinstance(provider, CoreProvider) or provider.NAME == "accuracy":
            return provider.evaluator(group, qrels)
    from cranfield.compat.ir_measures.core_evaluators import CoreEvaluator

    plans = {
        measure: provider.ranked(str(measure.NAME), measure.params)
        for measure, provider in group.items()
        if isinstance(provider, CoreProvider)
    }
    return CoreEvaluator(plans, qrels)


class FallbackEvaluator(Evaluator):
    """The evaluators of several providers."""

    def __init__(self, measures: Iterable[Measure], evaluators: Sequence[Evaluator]) -> None:
        super().__init__(measures, evaluators[0].qrel_qids)
        self.evaluators = evaluators

    def _iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
        copies = RunConverter(run, strict=False).tee(len(self.evaluators))
        for evaluator, copy in zip(self.evaluators, copies, strict=True):
            yield from evaluator.iter_calc(copy.run)
