"""One interleaved list with its attribution record: what to show, what to log, and what clicks on it are worth."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield import _core, check
from cranfield.errors import UsageError
from cranfield.online.interleaving.mixing_methods import (
    MIXING_METHODS,
    MixingMethod,
    balanced_credit,
    pairwise_credit,
    sample_only_list,
)
from cranfield.online.interleaving.optimised_lists import ListPolicy, filled, list_policy
from cranfield.text import counted, shown

Rankings = Mapping[str, Sequence[str]] | Sequence[Sequence[str]]
"""{system: documents, best first}, or the lists of systems that are called A, B, C and so on."""
MOST_SEED = 2**53
"""Seeds are below this, so that every JSON reader keeps all digits."""


@dataclass(frozen=True, slots=True)
class Interleaved:
    """A list to show, with all that is needed to give credit for clicks on it, and to make it again.

    `str(record)` is one line of JSON to log; `Interleaved.from_json` reads it.
    """

    method: str
    """With its parameters, as in `probabilistic(tau=1)`."""
    length: int
    """The number of documents asked for; there are fewer if the lists are shorter."""
    seed: int
    systems: tuple[str, ...]
    documents: list[str]
    teams: list[int]
    """For each place the system that gave the document; -1 if clicks count for nobody, or if there are no teams."""
    worth: list[float]
    """Place by place, for each system: what a click adds; empty if credit follows from ranks."""
    ranks: list[int]
    """Place by place, for each system: the rank that it gives the document; 0 if it does not return it."""
    choices: list[float]
    """pairwise: the number of documents that could have been drawn at each place; else empty."""
    rankings: tuple[Sequence[str], ...] = ()
    """The lists that were mixed; a record that was read back does not have them."""
    read_digests: tuple[str, ...] = ()

    @property
    def digests(self) -> tuple[str, ...]:
        """A digest of each ranking, to recognise it again."""
        return self.read_digests or tuple(digest(ranking) for ranking in self.rankings)

    def to_dict(self) -> dict[str, Any]:
        """The attribution record, ready for JSON."""
        systems = len(self.systems)
        by_worth = MIXING_METHODS[MixingMethod.of(self.method).name].credit == "worth"
        places = []
        for place, (document, team) in enumerate(zip(self.documents, self.teams, strict=True)):
            part = slice(place * systems, (place + 1) * systems)
            entry: dict[str, Any] = {"position": place + 1, "doc": document}
            entry["team"] = self.systems[team] if team >= 0 else None
            if by_worth:
                entry["credit"] = self.worth[part]
            entry["ranks"] = self.ranks[part]
            if self.choices:
                entry["choices"] = int(self.choices[place])
            places.append(entry)
        return {
            "method": self.method, "length": self.length, "seed": self.seed, "systems": list(self.systems),
            "digests": list(self.digests), "shown": places,
        }  # fmt: skip

    def to_json(self) -> str:
        """The attribution record as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __str__(self) -> str:
        return self.to_json()

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Interleaved:
        """A record from its JSON; an error says what is missing or wrong."""
        try:
            systems = tuple(map(str, record["systems"]))
            number = {name: n for n, name in enumerate(systems)} | {None: -1}
            method = MixingMethod.of(record["method"])
            places = sorted(record["shown"], key=lambda place: place["position"])
            if [place["position"] for place in places] != list(range(1, len(places) + 1)):
                raise UsageError("an attribution record whose positions are not 1, 2, 3 and so on")
            made = Interleaved(
                str(method),
                int(record["length"]),
                int(record["seed"]),
                systems,
                [place["doc"] for place in places],
                [number[place["team"]] for place in places],
                [float(value) for place in places for value in place.get("credit", ())],
                [int(rank) for place in places for rank in place["ranks"]],
                [float(place["choices"]) for place in places if "choices" in place],
                read_digests=tuple(record.get("digests", ())),
            )
        except KeyError as error:
            raise UsageError(f"an attribution record without {error.args[0]!r}, or with an unknown one") from None
        except UsageError:
            raise
        except (TypeError, AttributeError, ValueError, OverflowError):
            raise UsageError(f"not an attribution record: {shown(record)}") from None
        if twice := next((doc for i, doc in enumerate(made.documents) if doc in made.documents[:i]), None):
            raise UsageError(f"an attribution record that shows {twice!r} twice")
        if not all(map(math.isfinite, made.worth)):
            raise UsageError("an attribution record with a credit that is not a finite number")
        if made.read_digests and len(made.read_digests) != len(systems):
            raise UsageError(f"an attribution record of {len(systems)} systems with {len(made.read_digests)} digests")
        size = len(places) * len(systems)
        by_worth = method.family.credit == "worth"
        if len(made.ranks) != size or len(made.worth) != (size if by_worth else 0):
            raise UsageError(f"an attribution record of {method.name} with a credit or rank for some systems only")
        if method.family.credit == "pairwise" and len(made.choices) != len(places):
            raise UsageError("an attribution record of pairwise without 'choices' at every position")
        return made

    @staticmethod
    def from_json(text: str | bytes) -> Interleaved:
        """A record from a line of JSON."""
        try:
            record = json.loads(text)
        except ValueError as error:
            raise UsageError(f"not valid JSON: {error}") from None
        return Interleaved.from_dict(record)

    def replay(self, rankings: Rankings) -> Interleaved:
        """Make the list again from the same rankings; an error if a ranking or the list differs."""
        again = interleave(rankings, self.method, length=self.length, seed=self.seed)
        for name, mine, theirs in zip(self.systems, self.digests, again.digests, strict=True):
            if mine != theirs:
                raise UsageError(f"replay: the ranking of {name!r} differs from the one that was recorded")
        if again.documents != self.documents:
            raise UsageError("replay: the same rankings and seed gave another list; the record was changed")
        return again

    def credit(self, clicks: Iterable[str | int]) -> dict[str, float]:
        """{system: credit} for clicks; see `credit`."""
        return credit(self, clicks)


class Interleaver:
    """A method with its parameters, ready to serve lists.

    Every list depends only on its rankings and its seed. Lists of different lengths are allowed. When the shorter one
    has ended, the page is filled from the others, and clicks on these documents count for nobody: else random clicks
    would favour the longer list.

    >>> serve = Interleaver("team-draft", length=3)
    >>> result = serve({"bm25": ["a", "b", "c"], "dense": ["b", "d", "a"]}, seed=7)
    >>> result.documents, [result.systems[team] for team in result.teams]
    (['b', 'a', 'c'], ['dense', 'bm25', 'bm25'])
    """

    def __init__(self, method: str | MixingMethod = "team-draft", *, length: int = 10, **parameters: Any) -> None:
        check.whole("interleave", length=length)
        self.method = MixingMethod.of(method, **parameters)
        self.length = int(length)
        values = self.method.values
        self._name = str(self.method)
        self.tau = float(values.get("tau", 3.0))
        self.skip_shared = bool(values.get("skip_shared", False))
        self.core = core_method(self.method)
        self._by_ranks = self.method.family.credit != "worth"

    def __call__(self, rankings: Rankings, seed: int | None = None) -> Interleaved:
        """Interleave rankings; without a seed, one is drawn, and the record holds it."""
        if isinstance(rankings, Mapping):
            systems, lists = tuple(rankings), list(rankings.values())
        else:
            lists = list(rankings)
            systems = letters(len(lists))
        self.method.check_systems(len(lists))
        if seed is None:
            seed = random.getrandbits(53)
        elif not 0 <= seed < MOST_SEED:
            raise check.wrong("interleave", "seed", seed, f"a whole number between 0 and {MOST_SEED - 1}")
        if str in map(type, lists):
            check_repeated(systems, lists)  # says which list is text
        if not self.core:
            return self._from_policy(systems, lists, seed)
        try:
            documents, teams, worth, ranks, choices = _core.interleave_list(
                lists, self.core, self.length, seed, self.tau, self.skip_shared
            )
        except (ValueError, TypeError) as error:
            raise _explained(error, systems, lists) from None
        if self.method.name == "sosm":
            worth = sample_only_list(ranks, len(systems), self.tau)
            teams = [-1] * len(documents)
        elif self._by_ranks:
            worth = []
        return Interleaved(
            self._name, self.length, seed, systems, documents, teams, worth, ranks, choices, tuple(lists)
        )

    def policy(self, lists: Sequence[Sequence[Any]]) -> ListPolicy:
        """optimised, roughly-optimised: all lists with their probabilities."""
        values = self.method.values
        weight = values.get("bias_weight")
        cut = tuple(tuple(ranking[: self.length]) for ranking in lists)
        return list_policy(cut, self.length, values["credit"], int(values["samples"]), weight)

    def _from_policy(self, systems: tuple[str, ...], lists: list[Sequence[str]], seed: int) -> Interleaved:
        check_repeated(systems, lists)
        policy = self.policy(lists)
        number = policy.chosen(_core.seeded_uniform(seed, 0))
        documents = filled(policy.lists[number], lists, self.length)
        rank = [{doc: n for n, doc in enumerate(ranking, 1)} for ranking in lists]
        ranks = [of_system.get(doc, 0) for doc in documents for of_system in rank]
        worth = policy.worth[number].ravel().tolist()
        worth += [0.0] * (len(ranks) - len(worth))
        teams = [-1] * len(documents)
        return Interleaved(self._name, self.length, seed, systems, documents, teams, worth, ranks, [], tuple(lists))


def interleave(
    rankings: Rankings,
    method: str | MixingMethod = "team-draft",
    *,
    length: int = 10,
    seed: int | None = None,
    **parameters: Any,
) -> Interleaved:
    """Interleave the rankings of two or more systems into one list, with its attribution record.

    rankings: {system: documents, best first}, or lists; a document that appears twice in a list is an error.
    method: `balanced`, `team-draft`, `probabilistic`, `optimised`, `roughly-optimised`, `pairwise` or `sosm`, with
        parameters as in `probabilistic(tau=1)` or `tau=1`; `MIXING_METHODS` describes them. All but balanced take any
        number of systems (multileaving).
    length: the number of documents to show.
    seed: the list depends only on the rankings and this number; None draws one, and the record holds it.

    >>> result = interleave({"bm25": ["a", "b", "c"], "dense": ["b", "d", "a"]}, seed=7, length=3)
    >>> result.documents
    ['b', 'a', 'c']
    >>> credit(result, ["c"])
    {'bm25': 1.0, 'dense': 0.0}
    """
    return _interleaver(method, length, tuple(sorted(parameters.items())))(rankings, seed)


@lru_cache(maxsize=256)
def _interleaver(method: str | MixingMethod, length: int, parameters: tuple[tuple[str, Any], ...]) -> Interleaver:
    return Interleaver(method, length=length, **dict(parameters))


def credit(record: Interleaved, clicks: Iterable[str | int]) -> dict[str, float]:
    """{system: credit} for the clicks on a list; the system with more credit wins the impression.

    clicks: clicked documents, or their positions from 1 on; a document that is clicked twice counts once. A click on
    something that was not shown is an error.

    >>> record = interleave([["a", "b"], ["b", "a"]], "probabilistic", seed=1)
    >>> record.documents, {system: round(value, 4) for system, value in credit(record, [1]).items()}
    (['a', 'b'], {'A': 0.8889, 'B': 0.1111})
    """
    clicked = {_place(record, click) for click in clicks}
    systems = len(record.systems)
    values: Sequence[float]
    family = MIXING_METHODS[record.method.partition("(")[0]]
    if family.credit == "worth":
        values = [sum(record.worth[place * systems + system] for place in clicked) for system in range(systems)]
    elif not record.documents:
        values = [0.0] * systems
    else:
        marks = np.zeros((1, len(record.documents)), dtype=bool)
        marks[0, list(clicked)] = True
        rank = np.array(record.ranks, dtype=np.int32).reshape(1, len(record.documents), systems)
        if family.credit == "balanced":
            values = balanced_credit(rank, np.array([record.teams]) >= 0, marks)[0].tolist()
        else:
            values = pairwise_credit(rank, np.array([record.choices]), marks)[0].tolist()
    return dict(zip(record.systems, map(float, values), strict=True))


def _place(record: Interleaved, click: str | int) -> int:
    if isinstance(click, str):
        if click in record.documents:
            return record.documents.index(click)
    elif 1 <= click <= len(record.documents):
        return int(click) - 1
    number = counted(len(record.documents), "document")
    raise UsageError(f"credit: a click on {click!r}, which was not shown; the list has {number}")


def digest(ranking: Sequence[str]) -> str:
    """A short digest of a ranking.

    >>> digest(["a", "b"]) == digest(["b", "a"])
    False
    """
    text = json.dumps(list(ranking), ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def letters(number: int) -> tuple[str, ...]:
    """Names for systems without: A, B, ..., Z, then S27 and so on.

    >>> letters(3)
    ('A', 'B', 'C')
    """
    return tuple(chr(65 + n) if n < 26 else f"S{n + 1}" for n in range(number))


def core_method(method: MixingMethod) -> str:
    """The name of the method in the core; empty if a linear programme finds the lists."""
    if method.name == "probabilistic":
        return "probabilistic" if method.values["replacement"] else "rounds"
    return {"sosm": "team-draft", "optimised": "", "roughly-optimised": ""}.get(method.name, method.name)


def check_repeated(systems: Sequence[str], lists: Sequence[Sequence[str]]) -> None:
    """Raise an error if a document appears twice in a list, or if a list is text."""
    for name, ranking in zip(systems, lists, strict=True):
        if isinstance(ranking, str):
            raise UsageError(f"interleave: the list of {name!r} is text, {shown(ranking)}; give a list of documents")
        if len(set(ranking)) == len(ranking):
            continue
        seen: dict[str, int] = {}
        for rank, document in enumerate(ranking, 1):
            if document in seen:
                raise UsageError(
                    f"interleave: document {document!r} appears twice in the list of {name!r}, at ranks "
                    f"{seen[document]} and {rank}; keep one of them"
                )
            seen[document] = rank


def _explained(error: Exception, systems: Sequence[str], lists: Sequence[Sequence[str]]) -> Exception:
    """The error of the core with the name of the system."""
    check_repeated(systems, lists)
    return UsageError(f"interleave: {error}")
