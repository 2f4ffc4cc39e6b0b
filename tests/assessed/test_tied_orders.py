"""The best and the worst order of tied documents."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.assessed.changed_lists.tied_orders import ranks_by_grade


@pytest.mark.parametrize(("reading", "ranks"), [("best", [2, 1, 4, 5]), ("worst", [3, 4, 1, 5])])
def test_high_grades_come_first_or_last_and_unjudged_documents_stand_between(reading: str, ranks: list[int]) -> None:
    # Ranks 1 to 4 are tied: documents of grades 1, 2 and 0, and an unjudged one, which is no hit; rank 5 is alone.
    row, grade = np.zeros(4, dtype=np.int64), np.array([1.0, 2.0, 0.0, 3.0])
    first, last = np.array([1, 1, 1, 5]), np.array([4, 4, 4, 5])
    assert ranks_by_grade(row, first, last, grade, reading).tolist() == ranks
