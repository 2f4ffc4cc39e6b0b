"""Simulate user studies: how often do the intervals of `cranfield meta users` contain the truth?

    python tools/user_coverage.py [STUDIES]

Users rate the results of systems; two measures follow what they rate, one closely and one loosely. Users and topics are
new in every study. The truth of a coefficient is its mean over all studies of the same size. The share of 95% intervals
that contain it should be 95%, within the error shown. `tests/meta/agreement/test_users.py` does the same with fewer
studies.
"""

from __future__ import annotations

import sys

import numpy as np

from cranfield.meta import UserRatings
from cranfield.meta.agreement.user_agreement import COEFFICIENTS, user_agreement
from cranfield.scores.scores import Scores

DESIGNS = {
    "8 users, 6 topics, 3 systems, one system per user and topic": (8, 6, 3, False),
    "12 users, 12 topics, 4 systems, one system per user and topic": (12, 12, 4, False),
    "40 users, 6 topics, 4 systems, one system per user and topic": (40, 6, 4, False),
    "24 users, 24 topics, 4 systems, one system per user and topic": (24, 24, 4, False),
    "6 users, 20 topics, 3 systems, all of them": (6, 20, 3, True),
}
RESAMPLES = 300


def simulated_study(
    rng: np.random.Generator, users: int, topics: int, systems: int = 4, crossed: bool = False
) -> tuple[Scores, UserRatings]:
    """Scores by a close and by a loose measure, and ratings of one system per user and topic, or of all of them."""
    quality = rng.normal(0, 0.6, (topics, 1)) + np.linspace(-0.3, 0.3, systems) + rng.normal(0, 0.7, (topics, systems))
    noisy = np.stack([quality + rng.normal(0, noise, quality.shape) for noise in (0.7, 1.5)])
    severity = rng.normal(0, 0.6, users)
    seen = [
        (user, topic, system)
        for user in range(users)
        for topic in range(topics)
        for system in (range(systems) if crossed else [(user + topic) % systems])
    ]
    ratings = [quality[topic, system] + severity[user] + rng.normal() for user, topic, system in seen]
    columns = ([f"{letter}{number[place]}" for number in seen] for place, letter in enumerate("uts"))
    names = [[f"{letter}{n}" for n in range(count)] for letter, count in (("s", systems), ("t", topics))]
    return Scores(["close", "loose"], *names, noisy.transpose(0, 2, 1)), UserRatings.of(*columns, rating=ratings)


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{studies} studies, {RESAMPLES} resamples; standard error {np.sqrt(0.95 * 0.05 / studies):.3f}")
    for design, (users, topics, systems, crossed) in DESIGNS.items():
        rng = np.random.default_rng(0)
        results = [
            user_agreement(*simulated_study(rng, users, topics, systems, crossed), resamples=RESAMPLES, seed=seed)
            for seed in range(studies)
        ]
        value, low, high = (np.stack([getattr(r, name)[:, 0] for r in results]) for name in ("values", "low", "high"))
        truth = value.mean(axis=0)
        covered = ((low <= truth) & (truth <= high)).mean(axis=0)
        print(f"\n{design}")
        for c, name in enumerate(COEFFICIENTS):
            print(
                f"  {name:9} truth {truth[c, 0]:.2f} {truth[c, 1]:.2f}  covered {covered[c, 0]:.3f} {covered[c, 1]:.3f}"
            )


if __name__ == "__main__":
    main()
