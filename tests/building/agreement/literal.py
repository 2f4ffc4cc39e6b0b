"""Agreement between assessors by its definitions, in loops over items and pairs of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations, permutations

Given = Mapping[tuple[str, str], float]
"""{(item, assessor): label}."""
Weight = Callable[[float, float], float]


def same(a: float, b: float) -> float:
    return float(a == b)


def weighted(scale: list[float], power: int) -> Weight:
    return lambda a, b: 1 - (abs(a - b) / (max(scale) - min(scale))) ** power


def by_item(given: Given) -> dict[str, dict[str, float]]:
    items: dict[str, dict[str, float]] = {}
    for (item, assessor), label in given.items():
        items.setdefault(item, {})[assessor] = label
    return items


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def observed(given: Given, weight: Weight = same) -> float:
    agreed = [
        mean([weight(a, b) for a, b in permutations(labels.values(), 2)])
        for labels in by_item(given).values()
        if len(labels) > 1
    ]
    return mean(agreed)


def shares(given: Given, scale: list[float]) -> dict[float, float]:
    items = by_item(given).values()
    return {k: mean([list(labels.values()).count(k) / len(labels) for labels in items]) for k in scale}


def fleiss(given: Given, scale: list[float], weight: Weight = same) -> float:
    share = shares(given, scale)
    chance = sum(share[a] * share[b] * weight(a, b) for a in scale for b in scale)
    return (observed(given, weight) - chance) / (1 - chance)


def gwet(given: Given, scale: list[float], weight: Weight = same) -> float:
    share, q = shares(given, scale), len(scale)
    total = sum(weight(a, b) for a in scale for b in scale)
    chance = total / (q * (q - 1)) * sum(p * (1 - p) for p in share.values())
    return (observed(given, weight) - chance) / (1 - chance)


def of_assessor(given: Given, assessor: str) -> dict[str, float]:
    return {item: label for (item, name), label in given.items() if name == assessor}


def conger(given: Given, scale: list[float], weight: Weight = same) -> float:
    names = sorted({name for _, name in given})
    own = {name: Counter(of_assessor(given, name).values()) for name in names}
    share = {name: {k: own[name][k] / own[name].total() for k in scale} for name in names}
    chance = mean(
        [sum(share[x][a] * share[y][b] * weight(a, b) for a in scale for b in scale) for x, y in combinations(names, 2)]
    )
    return (observed(given, weight) - chance) / (1 - chance)


def cohen(first: dict[str, float], second: dict[str, float], scale: list[float], weight: Weight = same) -> float | None:
    common = [item for item in first if item in second]
    agreed = mean([weight(first[item], second[item]) for item in common])
    p = {k: mean([float(first[item] == k) for item in common]) for k in scale}
    q = {k: mean([float(second[item] == k) for item in common]) for k in scale}
    chance = sum(p[a] * q[b] * weight(a, b) for a in scale for b in scale)
    return None if abs(1 - chance) < 1e-12 else (agreed - chance) / (1 - chance)


def cohen_over_pairs(given: Given, scale: list[float], weight: Weight = same, few: int = 10) -> float:
    sums = []
    pairs = []
    for x, y in combinations(sorted({name for _, name in given}), 2):
        first, second = of_assessor(given, x), of_assessor(given, y)
        number = len(first.keys() & second.keys())
        if number:
            pairs.append((number, cohen(first, second, scale, weight)))
    least = min(few, max(number for number, _ in pairs) / 2)
    sums = [(number, kappa) for number, kappa in pairs if number >= least and kappa is not None]
    return sum(number * kappa for number, kappa in sums) / sum(number for number, _ in sums)


def alpha(given: Given, scale: list[float], distance: Weight) -> float:
    """Krippendorff's α from pairs of labels within items, and pairs of all labels that are paired."""
    units = [list(labels.values()) for labels in by_item(given).values() if len(labels) > 1]
    every = [label for unit in units for label in unit]
    seen = sum(sum(distance(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units) / len(every)
    by_chance = sum(distance(a, b) for a, b in permutations(every, 2)) / (len(every) * (len(every) - 1))
    return 1 - seen / by_chance


def overlap(given: Given, size: int, relevant: float = 1) -> float:
    both = either = 0
    for labels in by_item(given).values():
        for group in combinations(labels.values(), size):
            both += all(label >= relevant for label in group)
            either += any(label >= relevant for label in group)
    return both / either
