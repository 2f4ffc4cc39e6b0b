"""Are these systems different? Significance tests, effect sizes, intervals and power.

`compare` tests many systems in one call. The other functions are single methods: each accepts arrays, {topic: score},
frames or `Scores`, and returns a record with the statistic, p, interval, effect size and assumptions.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cranfield import _fork

if TYPE_CHECKING:
    from cranfield.comparison.anova.anova import anova as anova
    from cranfield.comparison.anova.anova import one_way as one_way
    from cranfield.comparison.anova.anova import repeated_measures as repeated_measures
    from cranfield.comparison.anova.anova import two_way as two_way
    from cranfield.comparison.anova.mixed import mixed as mixed
    from cranfield.comparison.anova.residuals import residuals as residuals
    from cranfield.comparison.apply_test import apply_test as apply_test
    from cranfield.comparison.compare import compare as compare
    from cranfield.comparison.corrections import adjust as adjust
    from cranfield.comparison.corrections import benjamini_hochberg as benjamini_hochberg
    from cranfield.comparison.corrections import bonferroni as bonferroni
    from cranfield.comparison.corrections import family_wise_error as family_wise_error
    from cranfield.comparison.corrections import holm as holm
    from cranfield.comparison.data import Matrix as Matrix
    from cranfield.comparison.document_sampling import document_bootstrap as document_bootstrap
    from cranfield.comparison.effects import omega_squared as omega_squared
    from cranfield.comparison.effects import paired_effect as paired_effect
    from cranfield.comparison.effects import unpaired_effect as unpaired_effect
    from cranfield.comparison.intervals import difference_interval as difference_interval
    from cranfield.comparison.intervals import mean_interval as mean_interval
    from cranfield.comparison.methods.anova_bootstrap import bootstrap_anova as bootstrap_anova
    from cranfield.comparison.methods.bayesian import bayesian_signed_rank as bayesian_signed_rank
    from cranfield.comparison.methods.bayesian import bayesian_t as bayesian_t
    from cranfield.comparison.methods.equivalence import tost as tost
    from cranfield.comparison.methods.friedman_and_kruskal import friedman as friedman
    from cranfield.comparison.methods.friedman_and_kruskal import kruskal_wallis as kruskal_wallis
    from cranfield.comparison.methods.paired_resampling import bootstrap_shift as bootstrap_shift
    from cranfield.comparison.methods.paired_resampling import paired_bootstrap as paired_bootstrap
    from cranfield.comparison.methods.paired_resampling import randomisation as randomisation
    from cranfield.comparison.methods.simultaneous_resampling import randomised_tukey as randomised_tukey
    from cranfield.comparison.methods.t import one_sample_t as one_sample_t
    from cranfield.comparison.methods.t import paired_t as paired_t
    from cranfield.comparison.methods.t import unpaired_t as unpaired_t
    from cranfield.comparison.methods.tukey import pooled_t as pooled_t
    from cranfield.comparison.methods.tukey import scheffe as scheffe
    from cranfield.comparison.methods.tukey import tukey as tukey
    from cranfield.comparison.methods.unpaired_resampling import permutation as permutation
    from cranfield.comparison.methods.unpaired_resampling import unpaired_bootstrap as unpaired_bootstrap
    from cranfield.comparison.methods.wilcoxon_and_sign import rank_sum as rank_sum
    from cranfield.comparison.methods.wilcoxon_and_sign import sign_test as sign_test
    from cranfield.comparison.methods.wilcoxon_and_sign import wilcoxon as wilcoxon
    from cranfield.comparison.pair_tests import TESTS as TESTS
    from cranfield.comparison.power.designs import estimated_variance as estimated_variance
    from cranfield.comparison.power.designs import pooled_variance as pooled_variance
    from cranfield.comparison.power.designs import simulated_power as simulated_power
    from cranfield.comparison.power.topic_set_size import achieved_power as achieved_power
    from cranfield.comparison.power.topic_set_size import detectable_difference as detectable_difference
    from cranfield.comparison.power.topic_set_size import topic_set_size as topic_set_size
    from cranfield.comparison.result import Comparison as Comparison
    from cranfield.comparison.test_result import Assumption as Assumption
    from cranfield.comparison.test_result import Effect as Effect
    from cranfield.comparison.test_result import Interval as Interval
    from cranfield.comparison.test_result import TestResult as TestResult
    from cranfield.comparison.time_tests import compare_times as compare_times

_HOME = {
    "anova.anova": ("anova", "one_way", "repeated_measures", "two_way"),
    "anova.mixed": ("mixed",),
    "anova.residuals": ("residuals",),
    "apply_test": ("apply_test",),
    "compare": ("compare",),
    "corrections": ("adjust", "benjamini_hochberg", "bonferroni", "family_wise_error", "holm"),
    "data": ("Matrix",),
    "document_sampling": ("document_bootstrap",),
    "effects": ("omega_squared", "paired_effect", "unpaired_effect"),
    "intervals": ("difference_interval", "mean_interval"),
    "methods.anova_bootstrap": ("bootstrap_anova",),
    "methods.bayesian": ("bayesian_signed_rank", "bayesian_t"),
    "methods.equivalence": ("tost",),
    "methods.friedman_and_kruskal": ("friedman", "kruskal_wallis"),
    "methods.paired_resampling": ("bootstrap_shift", "paired_bootstrap", "randomisation"),
    "methods.simultaneous_resampling": ("randomised_tukey",),
    "methods.t": ("one_sample_t", "paired_t", "unpaired_t"),
    "methods.tukey": ("pooled_t", "scheffe", "tukey"),
    "methods.unpaired_resampling": ("permutation", "unpaired_bootstrap"),
    "methods.wilcoxon_and_sign": ("rank_sum", "sign_test", "wilcoxon"),
    "pair_tests": ("TESTS",),
    "power.designs": ("estimated_variance", "pooled_variance", "simulated_power"),
    "power.topic_set_size": ("achieved_power", "detectable_difference", "topic_set_size"),
    "result": ("Comparison",),
    "test_result": ("Assumption", "Effect", "Interval", "TestResult"),
    "time_tests": ("compare_times",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted(_MODULE)


class _Comparison(ModuleType):
    """This package: `compare` and `anova` are its functions, although modules have the same names."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULE):  # the import system sets imported modules
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Comparison


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a gate does not wait for analyses of variance."""
    if name not in _MODULE:
        raise AttributeError(f"cranfield.comparison has no {name!r}")
    with _fork.IMPORTING:
        value = getattr(import_module(f"cranfield.comparison.{_MODULE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
