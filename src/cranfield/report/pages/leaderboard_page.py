"""The leaderboard as a page that sorts and filters."""

from __future__ import annotations

from cranfield import __version__
from cranfield.comparison.leaderboard import Leaderboard
from cranfield.measures.property_tables import better_of
from cranfield.report.pages.html_page import html_page
from cranfield.report.pages.sortable_table import (
    HtmlColumn,
    interval_column,
    number_column,
    text_column,
)
from cranfield.table import DIGITS
from cranfield.text import counted


def leaderboard_page(board: Leaderboard, title: str = "Leaderboard", digits: int | None = None) -> str:
    """The whole page, in one file. It makes no request."""
    teams = len({team for team in board.team if team})
    runs = counted(len(board.run), "run") + (f" of {counted(teams, 'team')}" if teams else "")
    lead = f"{runs} on {counted(board.topics, 'topic')}, ranked by {board.measure}"
    columns = leaderboard_columns(board, DIGITS if digits is None else digits)
    footer = f"Made by cranfield {__version__}."
    return html_page("leaderboard.html", title, lead=lead, footer=footer, columns=columns, notes=board.notes)


def leaderboard_columns(board: Leaderboard, digits: int = DIGITS) -> list[HtmlColumn]:
    """The columns of the table, for this page or for a part of another one."""
    mean, low, high = (column.tolist() for column in (board.mean, board.low, board.high))
    ends = zip(low, high, strict=True)
    spans = ["" if first != first else f"{first:.{digits}f} to {last:.{digits}f}" for first, last in ends]
    columns = [
        number_column("Rank", board.rank.tolist(), better="neither", shown=board.places),
        text_column("Run", board.run, name=True),
    ]
    if any(board.team):
        columns.append(text_column("Team", board.team, chosen=True))
    columns += [
        number_column(board.measure, mean, digits=digits, better=better_of(board.measure)),
        number_column(f"{board.level:.0%} interval", low, better="neither", shown=spans),
        interval_column("Mean and interval as a picture", low, mean, high),
        number_column("Ranks", board.rank_low.tolist(), better="neither", shown=board.rank_spans),
    ]
    if any(board.groups):
        columns.append(text_column("Groups", board.groups))
    elif (board.above >= 0).any():
        for name, counts in (("Above", board.above), ("Below", board.below)):
            columns.append(number_column(name, counts.tolist(), better="neither", shown=list(map(str, counts))))
        columns += [text_column("≠", board.against)] * any(board.against)
    for name, means in board.others.items():
        columns.append(number_column(name, means.tolist(), digits=digits, better=better_of(name)))
    if any(board.same_as):
        columns.append(text_column("Same as", board.same_as))
    return columns
