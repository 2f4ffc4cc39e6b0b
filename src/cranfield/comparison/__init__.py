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
    from cranfield.comparison.anova.anova import anova, one_way, two_way
    from cranfield.comparison.anova.mixed import mixed
    from cranfield.comparison.anova.repeated import repeated_measures
    from cranfield.comparison.apply_test import apply_test
    from cranfield.comparison.compare import compare
    from cranfield.comparison.corrections import adjust, benjamini_hochberg, bonferroni, family_wise_error, holm
    from cranfield.comparison.data import Matrix
    from cranfield.comparison.document_sampling import document_bootstrap
    from cranfield.comparison.effects import omega_squared, paired_effect, unpaired_effect
    from cranfield.comparison.intervals import difference_interval, mean_interval
    from cranfield.comparison.methods.anova_bootstrap import bootstrap_anova
    from cranfield.comparison.methods.bayesian import bayesian_signed_rank, bayesian_t
    from cranfield.comparison.methods.equivalence import tost
    from cranfield.comparison.methods.friedman_and_kruskal import friedman, kruskal_wallis
    from cranfield.comparison.methods.paired_resampling import bootstrap_shift, paired_bootstrap, randomisation
    from cranfield.comparison.methods.pooled_t import pooled_t
    from cranfield.comparison.methods.randomised_tukey import randomised_tukey
    from cranfield.comparison.methods.t import one_sample_t, paired_t, unpaired_t
    from cranfield.comparison.methods.tukey import scheffe, tukey
    from cranfield.comparison.methods.unpaired_resampling import permutation, unpaired_bootstrap
    from cranfield.comparison.methods.wilcoxon_and_sign import rank_sum, sign_test, wilcoxon
    from cranfield.comparison.pair_tests import TESTS
    from cranfield.comparison.power.simulated_power import simulated_power
    from cranfield.comparison.power.topic_set_size import achieved_power, detectable_difference, topic_set_size
    from cranfield.comparison.power.variance import estimated_variance, pooled_variance
    from cranfield.comparison.result import Comparison
    from cranfield.comparison.test_result import Assumption, Effect, Interval, TestResult
    from cranfield.comparison.time_tests import compare_times

__all__ = [
    "TESTS",
    "Assumption",
    "Comparison",
    "Effect",
    "Interval",
    "Matrix",
    "TestResult",
    "achieved_power",
    "adjust",
    "anova",
    "apply_test",
    "bayesian_signed_rank",
    "bayesian_t",
    "benjamini_hochberg",
    "bonferroni",
    "bootstrap_anova",
    "bootstrap_shift",
    "compare",
    "compare_times",
    "detectable_difference",
    "difference_interval",
    "document_bootstrap",
    "estimated_variance",
    "family_wise_error",
    "friedman",
    "holm",
    "kruskal_wallis",
    "mean_interval",
    "mixed",
    "omega_squared",
    "one_sample_t",
    "one_way",
    "paired_bootstrap",
    "paired_effect",
    "paired_t",
    "permutation",
    "pooled_t",
    "pooled_variance",
    "randomisation",
    "randomised_tukey",
    "rank_sum",
    "repeated_measures",
    "scheffe",
    "sign_test",
    "simulated_power",
    "topic_set_size",
    "tost",
    "tukey",
    "two_way",
    "unpaired_bootstrap",
    "unpaired_effect",
    "unpaired_t",
    "wilcoxon",
]  # fmt: skip

_HOME = {
    "anova.anova": (
        "anova",
        "one_way",
        "two_way",
    ),
    "anova.mixed": ("mixed",),
    "anova.repeated": ("repeated_measures",),
    "apply_test": ("apply_test",),
    "compare": ("compare",),
    "corrections": (
        "adjust",
        "benjamini_hochberg",
        "bonferroni",
        "family_wise_error",
        "holm",
    ),
    "data": ("Matrix",),
    "document_sampling": ("document_bootstrap",),
    "effects": (
        "omega_squared",
        "paired_effect",
        "unpaired_effect",
    ),
    "intervals": (
        "difference_interval",
        "mean_interval",
    ),
    "methods.anova_bootstrap": ("bootstrap_anova",),
    "methods.bayesian": (
        "bayesian_signed_rank",
        "bayesian_t",
    ),
    "methods.equivalence": ("tost",),
    "methods.friedman_and_kruskal": (
        "friedman",
        "kruskal_wallis",
    ),
    "methods.paired_resampling": (
        "bootstrap_shift",
        "paired_bootstrap",
        "randomisation",
    ),
    "methods.pooled_t": ("pooled_t",),
    "methods.randomised_tukey": ("randomised_tukey",),
    "methods.t": (
        "one_sample_t",
        "paired_t",
        "unpaired_t",
    ),
    "methods.tukey": (
        "scheffe",
        "tukey",
    ),
    "methods.unpaired_resampling": (
        "permutation",
        "unpaired_bootstrap",
    ),
    "methods.wilcoxon_and_sign": (
        "rank_sum",
        "sign_test",
        "wilcoxon",
    ),
    "power.simulated_power": ("simulated_power",),
    "power.topic_set_size": (
        "achieved_power",
        "detectable_difference",
        "topic_set_size",
    ),
    "power.variance": (
        "estimated_variance",
        "pooled_variance",
    ),
    "pair_tests": ("TESTS",),
    "result": ("Comparison",),
    "test_result": (
        "Assumption",
        "Effect",
        "Interval",
        "TestResult",
    ),
    "time_tests": ("compare_times",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}


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
