"""Slow, literal versions of interleaving: all lists with their probabilities, credit by sums over assignments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations, product

Ranking = Sequence[str]


def remaining(ranking: Ranking, taken: Sequence[str]) -> list[str]:
    return [doc for doc in ranking if doc not in taken]


def balanced(a: Ranking, b: Ranking, length: int, a_first: bool) -> list[str]:
    """Ferro & Maistro 2024, Algorithm 1, with pointers that also move on from documents that are in the list."""
    mixed: list[str] = []
    ka, kb = 1, 1
    while ka <= len(a) and kb <= len(b) and len(mixed) < length:
        if ka < kb or (ka == kb and a_first):
            if a[ka - 1] not in mixed:
                mixed.append(a[ka - 1])
            ka += 1
        else:
            if b[kb - 1] not in mixed:
                mixed.append(b[kb - 1])
            kb += 1
    return mixed


Drafted = dict[tuple[tuple[str, ...], tuple[int, ...]], float]
"""{(documents, the system that chose each): probability}"""


def drafted_round(
    rankings: Sequence[Ranking], documents: tuple[str, ...], length: int, order: Sequence[int]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The textbook's round: each system in turn takes its best document that is left; those without are skipped."""
    owners: tuple[int, ...] = ()
    for system in order:
        left = remaining(rankings[system], documents)
        if left and len(documents) < length:
            documents, owners = (*documents, left[0]), (*owners, system)
    return documents, owners


def team_draft(rankings: Sequence[Ranking], length: int, *, credit: str = "textbook") -> Drafted:
    """All lists of a team draft, by all orders of all rounds.

    credit: `textbook` counts every place for the system that chose the document; `fair` only those places of a round at
    which no order leaves the system whose turn it is without a document (-1 otherwise).
    """
    whole: Drafted = defaultdict(float)
    orders = list(permutations(range(len(rankings))))

    def extend(documents: tuple[str, ...], teams: tuple[int, ...], probability: float) -> None:
        rounds = [drafted_round(rankings, documents, length, order) for order in orders]
        if len(documents) == length or not rounds[0][1]:
            whole[documents, teams] += probability
            return
        places = min(len(rankings), length - len(documents))
        fair = next(
            (
                n
                for n in range(places)
                if any(own[: n + 1] != order[: n + 1] for (_, own), order in zip(rounds, orders, strict=True))
            ),
            places,
        )
        for docs, owners in rounds:
            kept = owners if credit == "textbook" else owners[:fair] + (-1,) * len(owners[fair:])
            extend(docs, teams + kept, probability / len(orders))

    extend((), (), 1.0)
    return dict(whole)


def place_shares(lists: Drafted, systems: int, length: int) -> list[list[float]]:
    """For each place, the probability that it counts for each system."""
    shares = [[0.0] * systems for _ in range(length)]
    for (_, teams), probability in lists.items():
        for place, team in enumerate(teams):
            if team >= 0:
                shares[place][team] += probability
    return shares


def softmax(ranking: Ranking, taken: Sequence[str], tau: float) -> dict[str, float]:
    weight = {doc: 1 / rank**tau for rank, doc in enumerate(ranking, 1) if doc not in taken}
    return {doc: value / sum(weight.values()) for doc, value in weight.items()}


def assignments(systems: int, length: int, replacement: bool) -> Iterator[tuple[tuple[int, ...], float]]:
    """(which system gives each place, probability): any, or every system once in each round."""
    if replacement:
        for one in product(range(systems), repeat=length):
            yield one, systems**-length
        return
    rounds = -(-length // systems)
    orders = list(permutations(range(systems)))
    for one in product(orders, repeat=rounds):
        yield tuple(system for order in one for system in order)[:length], len(orders) ** -rounds


def probabilistic(
    rankings: Sequence[Ranking], length: int, tau: float, replacement: bool
) -> dict[tuple[str, ...], float]:
    """{documents: probability}."""
    whole: dict[tuple[str, ...], float] = defaultdict(float)
    for systems, probability in assignments(len(rankings), length, replacement):
        begun = {(): probability}
        for system in systems:
            longer: dict[tuple[str, ...], float] = defaultdict(float)
            for docs, before in begun.items():
                for doc, chance in softmax(rankings[system], docs, tau).items():
                    longer[(*docs, doc)] += before * chance
            begun = dict(longer)
        for docs, chance in begun.items():
            whole[docs] += chance
    return dict(whole)


def assigned(rankings: Sequence[Ranking], documents: Sequence[str], tau: float, replacement: bool) -> list[list[float]]:
    """For each place, the probability that each system gave the document: a sum over all assignments."""
    total, by_place = 0.0, [[0.0] * len(rankings) for _ in documents]
    for systems, probability in assignments(len(rankings), len(documents), replacement):
        for place, system in enumerate(systems):
            probability *= softmax(rankings[system], documents[:place], tau).get(documents[place], 0.0)
        total += probability
        for place, system in enumerate(systems):
            by_place[place][system] += probability
    return [[value / total for value in place] for place in by_place]


def pairwise(rankings: Sequence[Ranking], length: int) -> dict[tuple[str, ...], float]:
    """{documents: probability}."""
    begun: dict[tuple[str, ...], float] = {(): 1.0}
    for place in range(1, length + 1):
        longer: dict[tuple[str, ...], float] = defaultdict(float)
        for docs, probability in begun.items():
            pool = {doc for ranking in rankings for doc in ranking[:place]} - set(docs)
            for doc in pool:
                longer[(*docs, doc)] += probability / len(pool)
        begun = dict(longer)
    return begun


def pairwise_credit(rankings: Sequence[Ranking], documents: Sequence[str], clicked: set[str]) -> list[float]:
    """Oosterhuis & de Rijke 2017, pair by pair."""
    if not clicked:
        return [0.0] * len(rankings)
    lowest = max(documents.index(doc) for doc in clicked)
    considered = documents[: lowest + 2]

    def best(doc: str) -> int:
        return min(list(ranking).index(doc) + 1 for ranking in rankings if doc in ranking)

    def choices(place: int) -> int:
        return len({doc for ranking in rankings for doc in ranking[:place]} - set(documents[: place - 1]))

    credit = [0.0] * len(rankings)
    for good in clicked:
        for bad in considered:
            if bad in clicked:
                continue
            low, high = sorted((best(good), best(bad)))
            if min(documents.index(good), documents.index(bad)) + 1 < high:
                continue
            probability = 1.0
            for place in range(low, high):
                probability *= 1 - 1 / choices(place)
            for system, ranking in enumerate(rankings):
                place = {doc: n for n, doc in enumerate(ranking)}
                first, second = (place.get(doc, len(ranking)) for doc in (good, bad))
                credit[system] += ((first < second) - (first > second)) / probability
    return credit


def balanced_credit(a: Ranking, b: Ranking, documents: Sequence[str], clicked: set[str]) -> list[float]:
    """Radlinski, Kurup & Joachims 2008 §3.2."""
    if not clicked:
        return [0.0, 0.0]
    lowest = max(clicked, key=list(documents).index)
    k = min(list(ranking).index(lowest) + 1 for ranking in (a, b) if lowest in ranking)
    return [float(len(clicked & set(ranking[:k]))) for ranking in (a, b)]
