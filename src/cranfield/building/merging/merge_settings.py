"""The settings of methods that merge labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import numpy as np

from cranfield import check
from cranfield.declared.operation import Seed, about
from cranfield.errors import UsageError

TIES = ("lowest", "highest", "random", "undecided")
STEPS, ALLOW_MORE = "methods that take steps", "allow more steps"


class MergeSettings(TypedDict, total=False):
    """The settings of a method. `MergingMethod.settings` names those of a method, in addition to `ties` and `seed`."""

    ties: Annotated[str, about("An item whose labels are equally probable: {names}.", "lowest", choices=TIES)]
    seed: Annotated[Seed, about("Seed of the random numbers.", 0, least=0)]
    steps: Annotated[int, about("The largest number of steps.", 1000, least=1, only=STEPS, solves=ALLOW_MORE)]
    tolerance: Annotated[
        float,
        about(
            "Stop if a step adds less to the log-likelihood per label, and labels settle.", 1e-7, least=0, only=STEPS
        ),
    ]
    class_prior: Annotated[
        str | Sequence[float] | None,
        about("Probabilities of labels: {names}, or numbers.", None, choices=("estimated", "uniform"), only=STEPS),
    ]
    class_counts: Annotated[
        float, about("Imaginary items of each label, if probabilities are estimated.", 0.0, least=0, only=STEPS)
    ]
    worker_prior: Annotated[
        Sequence[float] | None,
        about(
            "Imaginary right and wrong labels of each assessor, such as 2,1.",
            None,
            only="weighted, dawid-skene, one-coin and mace",
        ),
    ]
    weight: Annotated[
        str, about("The weight of a vote: {names}.", "log-odds", choices=("log-odds", "accuracy"), only="weighted")
    ]
    inference: Annotated[
        str,
        about("{names} (variational Bayes, maximum likelihood).", "vb", choices=("vb", "em"), only="mace"),
    ]
    restarts: Annotated[int, about("Random starts in addition to the start from the votes.", 0, least=0, only="mace")]
    alpha: Annotated[
        float | None,
        about("The level at which a majority must be significant; else undecided.", None, above=0, below=1, only="bmv"),
    ]
    window: Annotated[int, about("Labels in a row with the same accuracy.", 10, least=1, only="gp")]
    length: Annotated[
        float, about("Windows over which the accuracy changes.", 5.0, above=0, only="gp", spelled="--length-scale N")
    ]


def check_priors(method: str, settings: MergeSettings, classes: int) -> None:
    """Raise an error for imaginary labels that are not allowed with this number of labels."""
    if settings["worker_prior"] is not None:
        _check_worker_prior(method, settings["worker_prior"])
    if settings["class_prior"] is not None:
        _check_class_prior(method, settings["class_prior"], classes)


def _check_worker_prior(method: str, prior: Any) -> None:
    allowed = "two numbers, 0 or more: imaginary right and wrong labels of each assessor"
    try:
        right, wrong = (float(number) for number in prior)
    except (TypeError, ValueError):
        raise check.wrong(method, "worker_prior", prior, allowed) from None
    if not (0 <= right < np.inf and 0 <= wrong < np.inf):
        raise check.wrong(method, "worker_prior", prior, allowed)


def _check_class_prior(method: str, prior: Any, classes: int) -> None:
    if isinstance(prior, str):
        if prior not in ("estimated", "uniform"):
            raise check.wrong(method, "class_prior", prior, "'estimated', 'uniform' or a probability per label")
        return
    try:
        probabilities = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise check.wrong(method, "class_prior", prior, "a probability per label") from None
    if probabilities.shape != (classes,):
        raise check.wrong(method, "class_prior", prior, f"a probability for each of the {classes} labels of the scale")
    if not (probabilities > 0).all():
        raise UsageError(
            f"{method}: class_prior == {prior!r}, must be above 0 for every label; a label with probability 0 could "
            "never be chosen, so leave it out of the scale or give it a small probability"
        )
    if abs(probabilities.sum() - 1) > 1e-6:
        raise check.wrong(method, "class_prior", prior, f"probabilities with sum 1, not {probabilities.sum():g}")
