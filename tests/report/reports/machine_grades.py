"""Judgments of two machine judges: people's, with some grades changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.collection.qrels import Qrels


def machine_grades(qrels: Any) -> dict[str, Any]:
    """{name: judgments}: one judge is right in 9 of 10 cases, the other in half of them; both are lenient."""
    people = Qrels.of(qrels).to_dict()
    rng = np.random.default_rng(0)
    return {
        name: {
            topic: {doc: min(3, grade + (rng.random() < wrong)) for doc, grade in grades.items()}
            for topic, grades in people.items()
        }
        for name, wrong in (("good", 0.1), ("bad", 0.5))
    }
