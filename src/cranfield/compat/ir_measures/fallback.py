"""A provider that asks other providers in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cranfield.compat.ir_measures.converters import QrelsConverter, RunConverter
from cranfield.compat.ir_measures.core_providers import CoreProvider
from cranfield.compat.ir_measures.measure import Measure
from cranfield.compat.ir_measures.named_tuples import TYPE_QREL, TYPE_RUN, Metric
from cranfield.compat.ir_measures.provider import Evaluator, Provider


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
        groups: dict[Any, dict[Measure, Provider]] = {}
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
