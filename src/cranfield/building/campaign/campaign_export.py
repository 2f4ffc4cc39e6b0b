"""Write a campaign as plain files. Those that `campaign_import` does not read are computed from the others."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import warnings
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from cranfield.assessed.dimensions import RELEVANCE
from cranfield.building.campaign.campaign_config import FILE
from cranfield.building.campaign.campaign_results import NoResultsError, Results, sampled_judgments, score
from cranfield.building.campaign.campaign_store import FACT, SAMPLE, Campaign, Submission
from cranfield.building.serve.project.exporting import EXPORTS, date_text, export_lines, log_record
from cranfield.building.serve.project.judgment_log import select
from cranfield.collection.whole_folder import whole_folder
from cranfield.declared.operation import operation
from cranfield.errors import CranfieldWarning, DataError
from cranfield.text import guarded

SUBMISSION_FIELDS = ("order", "digest", "team", "tag", "counts", "submitted", "bytes", "lists", "documents", "name",
                     "file")  # fmt: skip
TEAM_FIELDS = ("order", "team", "title", "contact", "state", "joined")
FACET_FIELDS = ("topic", "kind", "id", "text", "type", "weight", "by")
Write = Callable[[str, str | Iterable[str]], None]
"""Writes a file with a name, from its text or its lines."""
ASSESSOR_FIELDS = ("name", "role", "state", "created")


@operation
def export_campaign(campaign: Campaign, folder: str) -> list[str]:
    """Write everything into a new or empty folder; returns the names of the files."""
    if os.path.isdir(folder) and os.listdir(folder):
        raise DataError(folder, None, "is not empty; give a new folder, so that no file of another export stays in it")
    with whole_folder(folder) as made:
        return _write_files(campaign, made)


def _write_files(campaign: Campaign, folder: str) -> list[str]:
    written: list[str] = []

    def write(name: str, text: str | Iterable[str]) -> None:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            parts = [text] if isinstance(text, str) else text
            file.writelines(part.encode("utf-8", "surrogateescape") for part in parts)
        written.append(name)

    shutil.copyfile(os.path.join(campaign.folder, FILE), os.path.join(folder, FILE))
    campaign.store.topics().write(os.path.join(folder, "topics.jsonl"))
    written += [FILE, "topics.jsonl"]
    _write_inputs(campaign, write)
    for submission in campaign.submissions():
        name = run_file(submission)
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        shutil.copyfile(campaign.path_of(submission.digest), os.path.join(folder, name))
        written.append(name)
    _write_judging(campaign, write)
    with suppress(NoResultsError):
        _write_results(score(campaign), write)
    return written


def run_file(submission: Submission) -> str:
    """Where the export has the file of a submission. The name of a file cannot be a tag, which may be any text."""
    return f"runs/{submission.team}/{submission.number:04d}-{submission.digest[:12]}.run"


def _write_inputs(campaign: Campaign, write: Write) -> None:
    read = campaign.store.database.read
    documents = campaign.store.database.stream("SELECT id, title, text, kind, extra FROM document ORDER BY number")
    names = ("id", "title", "text", "kind", "extra")
    rows = (dict(zip(names, (*row[:4], json.loads(row[4])), strict=True)) for row in documents)
    write("documents.jsonl", _json_lines(rows))
    write("document-ids.txt", "".join(f"{id}\n" for (id,) in read("SELECT id FROM known_document ORDER BY id")))
    teams = campaign.teams()
    state = {True: "active", False: "off"}
    write(
        "teams.csv",
        _csv(
            TEAM_FIELDS,
            (
                (at, team.name, team.title, team.contact, state[team.active], date_text(team.joined_at))
                for at, team in enumerate(teams, 1)
            ),
        ),
    )
    people = read("SELECT name, role, active, created_at FROM assessor WHERE role <> 'team' ORDER BY created_at, name")
    rows_of_people = ((name, role, state[bool(active)], date_text(at)) for name, role, active, at in people)
    write("assessors.csv", _csv(ASSESSOR_FIELDS, rows_of_people))
    write(
        "submissions.csv", _csv(SUBMISSION_FIELDS, (_submission(submission) for submission in campaign.submissions()))
    )
    findings = (
        {"digest": submission.digest, "finding": finding}
        for submission in campaign.submissions()
        for finding in submission.findings
    )
    write("findings.jsonl", _json_lines(findings))
    events = (
        {"at": date_text(event.happened_at), "who": event.who, "what": event.what, "data": event.data}
        for event in campaign.events()
    )
    write("log.jsonl", _json_lines(events))
    pool = campaign.store.fact(FACT)
    facts = {"phase": campaign.phase, "pool": None if pool is None else json.loads(pool)}
    write("state.json", json.dumps(facts, ensure_ascii=False, indent=1) + "\n")


def _submission(made: Submission) -> tuple[Any, ...]:
    counts = "yes" if made.counts else "no"
    return (
        made.number, made.digest, made.team, made.tag, counts, date_text(made.submitted_at), made.bytes, made.lists,
        made.documents, made.file, run_file(made),
    )  # fmt: skip


def _write_judging(campaign: Campaign, write: Write) -> None:
    store = campaign.store
    write("pool.tsv", export_lines(store, "pool"))
    gold = store.database.read("SELECT topic, doc, grade FROM gold ORDER BY topic, doc")
    write("gold.qrels", "".join(f"{topic} 0 {doc} {grade:g}\n" for topic, doc, grade in gold))
    if (sample := store.fact(SAMPLE)) is not None:
        write("sample.tsv", sample)
        if (sampled := sampled_judgments(campaign)) is not None and (sampled.grade >= 0).any():
            write("qrels.sampled.txt", sampled.encoded().decode("utf-8", "surrogateescape"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)  # the leaderboard says it
        for name, export in EXPORTS.items():
            if campaign.config.mode in export.modes:
                write(export.file, export_lines(store, name))
    for dimension in campaign.config.dimensions:
        if dimension != RELEVANCE:
            write(f"qrels.{dimension}.txt", export_lines(store, "dimension-qrels", dimension=dimension))
    facets = store.database.read(
        "SELECT topic, kind, id, text, type, weight, added_by FROM facet ORDER BY topic, kind, position"
    )
    write("facets.jsonl", _json_lines(dict(zip(FACET_FIELDS, row, strict=True)) for row in facets))
    write("labels.tsv", export_lines(store, "labels"))
    write("judgments.jsonl", _judgments(campaign))
    guidelines = store.database.read("SELECT version, text, written_at, written_by FROM guideline ORDER BY version")
    write(
        "guidelines.jsonl",
        _json_lines(
            {"version": version, "text": text, "at": date_text(at), "by": by} for version, text, at, by in guidelines
        ),
    )


def _judgments(campaign: Campaign) -> Iterator[str]:
    """The log of judgments, with rows numbered from 1; the offers by which documents were shown are left out."""
    database = campaign.store.database
    ids = array("q", (id for (id,) in database.stream("SELECT id FROM judgment ORDER BY id")))
    for row in database.stream(select("ORDER BY id")):
        record = log_record(row) | {"offer": None}
        for name in ("id", "supersedes", "restores"):
            if record[name] is not None:
                record[name] = bisect_left(ids, record[name]) + 1
        yield json.dumps(record, ensure_ascii=False) + "\n"


def _write_results(results: Results, write: Write) -> None:
    boards = [results.leaderboard(str(measure)) for measure in results.scores.measures]
    header = ("measure", "rank", "run", "team", "mean", "low", "high", "groups")
    rows = [
        (board.measure, board.rank[at], board.run[at], board.team[at], *(
            float(values[at]) for values in (board.mean, board.low, board.high)), board.groups[at])
        for board in boards for at in range(len(board.run))
    ]  # fmt: skip
    write("leaderboard.csv", _csv(header, rows))
    write("scores.csv", results.scores.to_csv(change=guarded))
    for measure, comparison in results.comparisons.items():
        pairs = list(comparison.rows())
        write(f"comparisons/{_safe(measure)}.csv", _csv(tuple(pairs[0]), (tuple(row.values()) for row in pairs)))
    for team in dict.fromkeys(results.teams.values()):
        tables = [
            (sheet.run, sheet.measure, *row)
            for measure in results.scores.measures
            for sheet in results.sheets(team, str(measure))
            for row in zip(*(column.tolist() for column in sheet.columns().values()), strict=True)
        ]
        names = ("run", "measure", "topic", "score", "median", "best", "against median", "place")
        write(f"sheets/{team}.csv", _csv(names, tables))


def _safe(name: str) -> str:
    """A measure as the name of a file.

    >>> _safe("nDCG@10"), _safe("RBP(p=0.8)")
    ('nDCG@10', 'RBP(p=0.8)')
    """
    return "".join(letter if letter.isalnum() or letter in "@()=.,#'-_" else "_" for letter in name)


def _csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table for people and their spreadsheets, which run none of its texts: teams write them.

    All texts are in quotes, because some spreadsheets take a semicolon for the end of a cell.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(names)
    writer.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return out.getvalue()


def _json_lines(rows: Iterable[Any]) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
