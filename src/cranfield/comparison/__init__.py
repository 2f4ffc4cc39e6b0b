"""Are these systems different? Significance tests, effect sizes, intervals and power.

`compare` tests many systems in one call. The other functions are single methods: each accepts arrays, {topic: score},
frames or `Scores`, and returns a record with the statistic, p, interval, effect size and assumptions.
"""

from cranfield.comparison.anova.anova import anova, one_way, two_way
from cranfield.comparison.anova.mixed import mixed
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
from cranfield.comparison.methods.randomised_tukey import randomised_tukey
from cranfield.comparison.methods.t import one_sample_t, paired_t, unpaired_t
from cranfield.comparison.methods.tukey import scheffe, tukey
from cranfield.comparison.methods.unpaired_resampling import permutation, unpaired_bootstrap
from cranfield.comparison.methods.wilcoxon_and_sign import rank_sum, sign_test, wilcoxon
from cranfield.comparison.power.simulated_power import simulated_power
from cranfield.comparison.power.topic_set_size import achieved_power, detectable_difference, topic_set_size
from cranfield.comparison.power.variance import estimated_variance, pooled_variance
from cranfield.comparison.registry import known_tests
from cranfield.comparison.result import Comparison
from cranfield.comparison.test_result import Assumption, Effect, Interval, TestResult
from cranfield.comparison.time_tests import compare_times

__all__ = [
    "Assumption", "Comparison", "Effect", "Interval", "Matrix", "TestResult", "achieved_power", "adjust", "anova",
    "apply_test", "bayesian_signed_rank", "bayesian_t", "benjamini_hochberg", "bonferroni", "bootstrap_anova",
    "bootstrap_shift", "compare", "compare_times", "detectable_difference", "difference_interval",
    "document_bootstrap", "estimated_variance", "family_wise_error", "friedman", "holm", "known_tests",
    "kruskal_wallis", "mean_interval", "mixed", "omega_squared", "one_sample_t", "one_way", "paired_bootstrap",
    "paired_effect", "paired_t", "permutation", "pooled_variance", "randomisation", "randomised_tukey", "rank_sum",
    "scheffe", "sign_test", "simulated_power", "topic_set_size", "tost", "tukey", "two_way", "unpaired_bootstrap",
    "unpaired_effect", "unpaired_t", "wilcoxon",
]  # fmt: skip
