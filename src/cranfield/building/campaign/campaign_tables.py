"""The tables that a campaign adds to the database of judgments: teams, submissions, and a log of what happened."""

from __future__ import annotations

from collections.abc import Mapping

TABLES = """
CREATE TABLE IF NOT EXISTS team (
    number {serial}, name TEXT NOT NULL UNIQUE REFERENCES assessor (name), title TEXT NOT NULL, contact TEXT NOT NULL,
    joined_at DOUBLE PRECISION NOT NULL);

CREATE TABLE IF NOT EXISTS submission (
    number {serial}, digest TEXT NOT NULL UNIQUE, team TEXT NOT NULL REFERENCES team (name), tag TEXT NOT NULL,
    file TEXT NOT NULL, bytes BIGINT NOT NULL, lists BIGINT NOT NULL, documents BIGINT NOT NULL,
    counts INTEGER NOT NULL, findings TEXT NOT NULL, submitted_at DOUBLE PRECISION NOT NULL);

CREATE UNIQUE INDEX IF NOT EXISTS one_counting_run_with_a_tag ON submission (tag) WHERE counts = 1;

CREATE TABLE IF NOT EXISTS event (
    number {serial}, happened_at DOUBLE PRECISION NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, data TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS known_document (id TEXT PRIMARY KEY);
"""
"""`number` is the order in which rows came; times are only shown, since two things can happen at the same time."""


def campaign_tables(words: Mapping[str, str]) -> list[str]:
    """The statements that make the tables; `words` has those that differ between databases.

    >>> len(campaign_tables({"serial": "INTEGER PRIMARY KEY"}))
    5
    """
    return [statement.strip() for statement in TABLES.format(**words).split(";") if statement.strip()]
