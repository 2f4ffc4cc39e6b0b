"""The base class of measures, parameters, aggregators and the registry."""

from cranfield.compat.ir_measures.measure import (
    _NOT_PROVIDED as _NOT_PROVIDED,
)
from cranfield.compat.ir_measures.measure import (
    Agg,
    BaseMeasure,
    MeanAgg,
    Measure,
    ParamInfo,
    SumAgg,
    register,
    registry,
)

__all__ = ["Agg", "BaseMeasure", "MeanAgg", "Measure", "ParamInfo", "SumAgg", "register", "registry"]
