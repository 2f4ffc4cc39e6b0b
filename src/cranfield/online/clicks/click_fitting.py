"""Fit a click model to a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from cranfield.declared.operation import Seed, about, operation
from cranfield.errors import NotedWarning, UsageError, warn_caller
from cranfield.notes import caution_note
from cranfield.online.clicks.click_estimates import CLICKS, ClickSettings, two_counts
from cranfield.online.clicks.click_kinds import (
    BROWSING,
    CLICK_MODELS,
    CONTINUATION,
    EXAMINATION,
    RANK,
    ClickKind,
    Fit,
    check_exact,
)
from cranfield.online.clicks.click_model import ClickModel
from cranfield.online.clicks.click_pages import SPLITS, Cells, Pages, sums
from cranfield.text import counted, listed
from cranfield.types import Array, Progress

FEW = 20.0
"""With fewer impressions for each document of a query, models with a parameter for each are not to be trusted."""
AT_BOUND = 0.999
"""An examination from here on is at the bound of 1, which is that of rank 1."""


@operation
def fit_clicks(
    source: Any,
    model: Annotated[str, about("The click model: {names}.", names="online.clicks.click_kinds:CLICK_MODELS")] = "PBM",
    *,
    prior: Annotated[
        Sequence[float] | None,
        about(
            "Imaginary clicks and skips of each document; 0,0 is maximum likelihood; default: 0.5 in all, as in the "
            "log.",
            least=0,
            spelled="--prior A,B",
            rare=True,
        ),
    ] = None,
    rank_prior: Annotated[
        Sequence[float] | None,
        about(
            "The same for parameters of ranks and of the whole model.", least=0, spelled="--rank-prior A,B", rare=True
        ),
    ] = None,
    steps: Annotated[
        int, about("The largest number of EM steps.", least=1, rare=True, solves="allow more steps")
    ] = 2000,
    tolerance: Annotated[
        float,
        about(
            "Stop if a step adds less to the log-likelihood per impression.",
            least=0,
            spelled="--tolerance T",
            rare=True,
        ),
    ] = 1e-8,
    level: Annotated[float, about("Confidence level of the intervals.", above=0, below=1, spelled="--level L")] = 0.95,
    intervals: Annotated[
        bool,
        about("Compute intervals.", off="Do not compute intervals, which saves time with EM models.", rare=True),
    ] = True,
    exact: Annotated[
        bool,
        about(
            "DCM and SDBN: fit by maximum likelihood.",
            off="DCM and SDBN: fit as if users stopped after their last click; without intervals.",
            spelled="--by-counting",
        ),
    ] = True,
    clicks: Annotated[
        str,
        about(
            "The clicks of a session that count: {names} (all, or only the highest in the list).",
            choices=CLICKS,
            spelled="--counted-clicks WHICH",
            rare=True,
        ),
    ] = "all",
    held_out: Annotated[
        float | None,
        about(
            "Do not fit on this share of the sessions, such as 0.2, so that evaluate can use them.",
            above=0,
            below=1,
            spelled="--held-out SHARE",
        ),
    ] = None,
    seed: Seed = 0,
    split: Annotated[
        str,
        about(
            "How sessions are held out: {names} (at random by a hash of the session, or the latest ones).",
            choices=SPLITS,
            spelled="--split HOW",
            rare=True,
        ),
    ] = "session",
    progress: Progress | None = None,
    **reading: Any,
) -> ClickModel:
    """Fit a click model.

    source: `Pages`, a `Log`, or anything that `click_rows` reads, such as a Parquet file with a row per impression.
        `reading` are parameters of `click_rows`: `engine`, `columns`, `depth`.
    held_out: the model can be evaluated there; by `split` and `seed`, see `ClickRows.split`.
    The other parameters are explained at `ClickSettings`.

    >>> pages = Pages.of(["cats"] * 4, [["d1", "d2"]] * 4, [[1, 0], [1, 0], [0, 1], [0, 0]])
    >>> fitted = fit_clicks(pages, "DCTR", prior=(0, 0))
    >>> fitted.of_pair("cats", "d1"), fitted.of_pair("cats", "d2")
    (0.5, 0.25)
    """
    kind = CLICK_MODELS.find(model)
    settings = ClickSettings(
        two_counts("prior", prior), two_counts("rank_prior", rank_prior), steps, tolerance,
        level if intervals else None, exact, clicks, progress,
    )  # fmt: skip
    check_exact(kind, settings)
    part = None if held_out is None else {"share": float(held_out), "seed": int(seed), "by": split}
    data = counted_clicks(source, kind, settings, part, **reading)
    if not data.impressions:
        why = [note for note in data.notes if note.endswith("left out")]
        raise UsageError(
            f"{kind.name}: there are no impressions to fit the model to" + "".join(f"; {note}" for note in why)
        )
    fit = kind.fit(data, settings)
    shown, clicked = data.pair_counts()
    notes = _notes(kind, data, shown, clicked, fit, settings)
    for message in _cautions(kind, fit, settings, float(clicked.sum())):
        notes.append(message)
        warn_caller(message, NotedWarning)
    return ClickModel(
        kind.name, data.names, fit.values, data.ranks, shown, clicked, fit.log_likelihood, fit.steps,
        fit.converged, settings.level, settings.exact, settings.prior, settings.rank_prior, settings.clicks, part,
        fit.trace, _observations(kind, data), tuple(notes),
    )  # fmt: skip


def counted_clicks(
    source: Any, kind: ClickKind, settings: ClickSettings, held_out: Mapping[str, Any] | None, **reading: Any
) -> Cells | Pages:
    """The counts that a model needs: by query, document and rank, or of whole pages."""
    if isinstance(source, Pages):
        if held_out is not None:
            raise UsageError("sessions of a log can be held out; pages are counted already")
        pages = source
    else:
        from cranfield.online.clicks.click_rows import click_rows, read_cells, read_pages

        rows = click_rows(source, **reading)
        if held_out is not None:
            rows, _ = rows.split(**held_out)
        if not kind.from_pages and settings.clicks == "all":
            return read_cells(rows)
        pages = read_pages(rows)
    return pages.first_clicks() if settings.clicks == "first" else pages


def _observations(kind: ClickKind, data: Cells | Pages) -> dict[str, Array]:
    """How many documents each parameter of ranks or places is based on."""
    counts: dict[str, Array] = {}
    for parameter, scope in kind.parameters.items():
        if scope == BROWSING:
            from cranfield.online.clicks.models.examination_models import browsing_cells

            assert isinstance(data, Pages)
            _, place, shown, _ = browsing_cells(data)
            counts[parameter] = sums(place, shown, data.ranks * (data.ranks + 1) // 2)
        elif scope == RANK:
            cells = data.cells() if isinstance(data, Pages) else data
            which = cells.clicked if parameter == CONTINUATION else cells.shown
            counts[parameter] = sums(cells.rank - 1, which, data.ranks)
    return counts


def _cautions(kind: ClickKind, fit: Fit, settings: ClickSettings, clicks: float) -> list[str]:
    """What makes the result doubtful."""
    cautions = []
    if clicks == 0:
        prior = settings.prior is None or sum(settings.prior) > 0
        known = "the estimates say little more than the prior" if prior else "nothing is learned"
        cautions.append(caution_note(f"{kind.name}: there is no click in these sessions, so that {known}"))
    if fit.converged is False:
        cautions.append(caution_note(f"{kind.name} did not converge in {counted(fit.steps, 'step')}; allow more steps"))
    return cautions


def _notes(
    kind: ClickKind, data: Cells | Pages, shown: Array, clicked: Array, fit: Fit, settings: ClickSettings
) -> list[str]:
    """What a reader of the result needs to know."""
    clicks = counted(int(clicked.sum()), "click")
    sentence = f"{counted(int(shown.sum()), 'impression')} with {clicks}"
    if isinstance(data, Pages):
        sessions = int(data.sessions.sum())
        sentence = f"{counted(sessions, 'session')} ({counted(len(data.sessions), 'distinct page')}), {sentence}"
    names = data.names
    sentence += f", {counted(len(names.queries), 'query', 'queries')}, {counted(len(names), 'document')} of queries"
    if fit.converged is not None:
        sentence += f"; {counted(fit.steps, 'step')}, {'converged' if fit.converged else 'not converged'}"
    if np.isfinite(fit.log_likelihood):
        sentence += f"; log-likelihood {fit.log_likelihood:,.1f}"
    notes = [sentence, *data.notes, *fit.notes]
    if settings.clicks == "first":
        notes.append(caution_note("only the first click of each session is counted"))
    if isinstance(data, Pages):
        silent = int(data.sessions[data.last < 0].sum())
        if silent:
            notes.append(f"{counted(silent, 'session')} without clicks, which count as shown and not clicked")
    once = int((shown == 1).sum())
    if once:
        notes.append(
            caution_note(f"{counted(once, 'document')} of queries shown only once, about which little can be known")
        )
    each = shown.sum() / max(len(shown), 1)
    if (kind.takes_steps or kind.can_be_counted) and each < FEW:
        notes.append(
            caution_note(
                f"caution: {each:.1f} impressions for each document of a query; with fewer than {FEW:g}, estimates and "
                "intervals depend on the prior and may be far off: use a longer log, or leave out rare queries"
            )
        )
    if not settings.exact:
        notes.append(
            caution_note("by counting, as if users stopped after their last click; if not, it is far off: no intervals")
        )
    scope = kind.parameters.get(EXAMINATION)
    if scope in (RANK, BROWSING):
        value = fit.values[EXAMINATION].value
        bound = np.flatnonzero(value[1:] > AT_BOUND) + 1
        if len(bound):
            ranks = bound + 1 if scope == RANK else np.unique(((np.sqrt(8 * bound + 1) - 1) // 2 + 1).astype(int))
            notes.append(
                caution_note(
                    f"examined as much as rank 1 or more, which is at the bound of 1: rank {listed(ranks.tolist())}"
                )
            )
    return notes
