"""The papers' pseudo-code of the resampling tests, line by line, with the same random numbers as the core."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
TIE = 1e-9
"""Sums of decimal fractions that are equal on paper must count as equal."""


class Random:
    """xoshiro256++ from splitmix64, as published by Blackman and Vigna, with plain integers."""

    def __init__(self, seed: int, resample: int) -> None:
        state = mixed((seed + GOLDEN) & MASK) ^ mixed((resample * GOLDEN + 1) & MASK)
        self.state = []
        for _ in range(4):
            state = (state + GOLDEN) & MASK
            self.state.append(mixed(state))

    def bits(self) -> int:
        s = self.state
        result = (rotated((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        shifted = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotated(s[3], 45)
        return result

    def below(self, n: int) -> int:
        """Uniform on 0 .. n − 1: of 2^32 values, those above the last multiple of n are rejected."""
        while True:
            product = (self.bits() >> 32) * n
            if product % 2**32 >= 2**32 % n:
                return product >> 32

    def shuffled(self, row: Sequence[float]) -> list[float]:
        """Fisher and Yates, from the last entry down."""
        out = list(row)
        for left in range(len(out), 1, -1):
            at = self.below(left)
            out[left - 1], out[at] = out[at], out[left - 1]
        return out


def mixed(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def rotated(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & MASK


def mean(z: Sequence[float]) -> float:
    return math.fsum(z) / len(z)


def studentised(z: Sequence[float]) -> float:
    """Sakai 2014 (48-49); without variance, 0 or infinite."""
    n, middle = len(z), mean(z)
    deviation = math.sqrt(math.fsum((x - middle) ** 2 for x in z) / (n - 1))
    if deviation < 1e-12:
        return 0.0 if abs(middle) < 1e-12 else math.copysign(math.inf, middle)
    return middle / (deviation / math.sqrt(n))


def bootstrap_samples(z: Sequence[float], resamples: int, seed: int) -> list[list[float]]:
    """Sakai 2014 Fig. 11, and the first half of Sakai 2013 Fig. 2."""
    middle = mean(z)
    w = [x - middle for x in z]
    samples = []
    for b in range(resamples):
        random = Random(seed, b)
        sample = [random.below(len(w)) for _ in w]
        samples.append([w[j] for j in sample])
    return samples


def paired_bootstrap_asl(z: Sequence[float], resamples: int, seed: int) -> float:
    """Sakai 2014 Fig. 12 (Sakai 2013 Fig. 2)."""
    count = 0
    for w in bootstrap_samples(z, resamples, seed):
        if abs(studentised(w)) >= abs(studentised(z)) * (1 - TIE):
            count += 1
    return count / resamples


def bootstrap_delta(z: Sequence[float], resamples: int, seed: int, alpha: float) -> tuple[float, float]:
    """Sakai 2013 Fig. 3, for one pair: the Bα-th largest |t(w*)|, and |mean(w*)| of that resample."""
    samples = bootstrap_samples(z, resamples, seed)
    ordered = sorted(((abs(studentised(w)), abs(mean(w))) for w in samples), reverse=True)
    return ordered[round(resamples * alpha) - 1]


def unpaired_bootstrap_asl(
    x: Sequence[float], y: Sequence[float], summary: Callable[[Sequence[float]], float], resamples: int, seed: int
) -> float:
    """Sakai 2014 Fig. 13 and 14."""
    v = [*x, *y]
    observed = summary(x) - summary(y)
    count = 0
    for b in range(resamples):
        random = Random(seed, b)
        sample = [v[random.below(len(v))] for _ in v]
        if abs(summary(sample[: len(x)]) - summary(sample[len(x) :])) >= abs(observed) - TIE:
            count += 1
    return count / resamples


def randomised_tukey_asl(u: Sequence[Sequence[float]], resamples: int, seed: int) -> dict[tuple[int, int], float]:
    """Sakai 2014 Fig. 15 (Sakai 2013 Fig. 4), with means taken after all topics are permuted, and ties counted."""
    systems = range(len(u[0]))
    count = dict.fromkeys(combinations(systems, 2), 0)
    means = [mean([row[j] for row in u]) for j in systems]
    for b in range(resamples):
        random = Random(seed, b)
        permuted = [random.shuffled(row) for row in u]
        columns = [mean([row[j] for row in permuted]) for j in systems]
        for first, second in count:
            if max(columns) - min(columns) >= abs(means[first] - means[second]) - TIE:
                count[first, second] += 1
    return {pair: hits / resamples for pair, hits in count.items()}


def tukey_delta(u: Sequence[Sequence[float]], asl: dict[tuple[int, int], float], alpha: float) -> float:
    """Sakai 2013 Fig. 5: the smallest difference of means among the pairs that differ."""
    means = [mean([row[j] for row in u]) for j in range(len(u[0]))]
    return min(abs(means[a] - means[b]) for (a, b), level in asl.items() if level < alpha)


def randomisation_asl(z: Sequence[float], resamples: int, seed: int) -> float:
    """Flip signs at random: one random number for 64 topics, lowest bit first."""
    count = 0
    for b in range(resamples):
        random = Random(seed, b)
        words = [random.bits() for _ in range(0, len(z), 64)]
        flipped = [-x if words[t // 64] >> t % 64 & 1 else x for t, x in enumerate(z)]
        if abs(math.fsum(flipped)) >= abs(math.fsum(z)) - TIE:
            count += 1
    return count / resamples
