"""The database of a judging project: settings, topics, pool, documents, gold, guidelines.

Judgments are in `judgment_log`, offers in `offers`, people in `accounts`; all of them share this database.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cranfield.building.serve.database.database import Connection, Database, StoreError, open_database
from cranfield.building.serve.database.schema import TABLES, VERSION, VIEWS, statements
from cranfield.building.serve.project.judging_modes import (
    Document,
    Facet,
    PoolEntry,
    Settings,
    facet_kind,
    intents_of,
    topic_of,
    topic_record,
)
from cranfield.collection.doors import UNFORESEEN
from cranfield.collection.topics import Topics
from cranfield.errors import CranfieldError, DataError, UsageError
from cranfield.text import counted, listed, one_line, shown

LONGEST_GUIDELINES = 200_000
BATCH = 1_000
"""Rows of documents that are written together."""


class Store:
    """A judging project in a database.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/judgments.db") as store:
    ...     store.add_topics(Topics.from_dict({"1": "wing flutter"}))
    ...     store.add_pool([PoolEntry("1", "d1", {"run": "bm25", "rank": 1}), PoolEntry("1", "d2", {})])
    ...     store.pool_size()
    1
    2
    2
    """

    def __init__(self, where: str) -> None:
        self.database: Database = open_database(where)
        self.origin = self.database.engine.origin
        self._settings: Settings | None = None
        self._topic_data: dict[str, Mapping[str, Any]] = {}
        self.database.reconnected.append(self._forget)
        try:
            self.database.write(self._make)
        except BaseException:
            self.database.close()
            raise

    def _make(self, connection: Connection) -> None:
        made = connection.run(self.database.engine.words["tables"])
        names = {name for (name,) in made}
        if names and "judgment" not in names:
            raise StoreError(self.origin, f"is the database of another program, with tables {listed(sorted(names))}")
        if not names:
            engine = self.database.engine
            for statement in (*statements(TABLES + VIEWS, engine.words), *engine.search_tables):
                connection.run(statement)
            self._set(connection, "version", str(VERSION))
            self._set(connection, "settings", Settings().to_json())
        try:
            version = int(self._get(connection, "version") or 0)
        except ValueError:
            what = "the database is damaged (its version cannot be read); restore a backup"
            raise StoreError(self.origin, what, "damaged") from None
        if version > VERSION:
            raise StoreError(
                self.origin, f"was made by a newer cranfield (tables {version}, this one reads {VERSION}); update it"
            )

    def _forget(self) -> None:
        """Read settings and topics again: another server may have changed them."""
        self._settings = None
        self._topic_data.clear()

    @staticmethod
    def _set(connection: Connection, name: str, value: str) -> None:
        connection.run(
            "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )

    @staticmethod
    def _get(connection: Connection, name: str) -> str | None:
        rows = connection.run("SELECT value FROM setting WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, UNFORESEEN) and not isinstance(error, CranfieldError):
                self._need_intact()
        finally:
            self.close()

    def _need_intact(self) -> None:
        """Raise an error if the database is damaged: then an error that no check foresaw is not a bug."""
        statement = self.database.engine.words["check"]
        if statement and (answer := self.database.read(statement)) != [("ok",)]:
            raise StoreError(
                self.origin, f"the database is damaged ({one_line(answer[0][0])}); restore a backup", "damaged"
            )

    def close(self) -> None:
        """Finish what waits to be written, and close the database."""
        self.database.close()

    # ---- settings

    def fact(self, name: str) -> str | None:
        """A text that was kept under a name."""
        rows = self.database.glance("SELECT value FROM setting WHERE name = ?", name)
        return str(rows[0][0]) if rows else None

    def keep_fact(self, name: str, value: str) -> None:
        """Keep a text under a name."""
        self.keep_facts([(name, value)])

    def keep_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Keep texts under names, all of them or none."""

        def change(connection: Connection) -> None:
            for name, value in facts:
                self._set(connection, name, value)

        self.database.write(change)

    def settings(self) -> Settings:
        """The settings of the project; read once."""
        if self._settings is None:
            try:
                self._settings = Settings.from_json(self.fact("settings") or Settings().to_json())
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                what = "the database is damaged (its settings cannot be read); restore a backup"
                raise StoreError(self.origin, what, "damaged") from None
        return self._settings

    def set_settings(self, settings: Settings) -> None:
        """Replace the settings. The mode cannot change once something is judged."""
        settings.check()
        before = self.settings()
        if settings.mode != before.mode and self.database.read("SELECT 1 FROM judgment LIMIT 1"):
            raise UsageError(
                f"mode == {settings.mode!r}, but the project already has judgments in mode {before.mode!r}; "
                "start another database"
            )
        self.keep_fact("settings", settings.to_json())
        self._settings = settings

    # ---- topics, intents and nuggets

    def add_topics(self, topics: Topics) -> int:
        """Add topics, or replace those with the same id; their subtopics become intents. Returns how many there are."""
        rows = [(topic.id, position, json.dumps(topic_record(topic))) for position, topic in enumerate(topics.values())]
        intents = [intent for topic in topics.values() for intent in intents_of(topic)]

        def change(connection: Connection) -> None:
            connection.run_many(
                """INSERT INTO topic (id, position, data) VALUES (?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET position = excluded.position, data = excluded.data""",
                rows,
            )
            put_facets(connection, intents, keep=True)

        self.database.write(change)
        self._topic_data.clear()
        return len(rows)

    def topic_data(self, id: str) -> Mapping[str, Any]:
        """The texts of a topic; read once."""
        if id not in self._topic_data:
            rows = self.database.glance("SELECT data FROM topic WHERE id = ?", id)
            data = json.loads(rows[0][0]) if rows else {"id": id, "title": "", "description": "", "narrative": ""}
            self._topic_data[id] = data
        return self._topic_data[id]

    def topic_ids(self) -> list[str]:
        """The ids of the topics, in their order."""
        return [id for (id,) in self.database.read("SELECT id FROM topic ORDER BY position, id")]

    def topics(self) -> Topics:
        """The topics, in their order."""
        rows = self.database.read("SELECT data FROM topic ORDER BY position, id")
        return Topics(topic_of(json.loads(data)) for (data,) in rows)

    def add_facets(self, facets: Sequence[Facet], *, by: str | None = None, keep: bool = False) -> None:
        """Add intents or nuggets, or replace those with the same id; with `keep`, leave those that are there."""
        self.database.write(lambda connection: put_facets(connection, facets, by=by, keep=keep))

    def facets(self, kind: str, topic: str | None = None) -> list[Facet]:
        """Intents or nuggets, of a topic or of all, in their order."""
        rows = self.database.glance(
            f"""SELECT facet.topic, kind, facet.id, text, type, weight FROM facet
            LEFT JOIN topic ON topic.id = facet.topic
            WHERE kind = ? {"" if topic is None else "AND facet.topic = ?"}
            ORDER BY topic.position, facet.topic, facet.position""",
            *([kind] if topic is None else [kind, topic]),
        )
        return [Facet(*row) for row in rows]

    def need_facets(self) -> None:
        """Raise an error if a topic lacks the intents or nuggets that the mode works with."""
        mode = self.settings().mode
        kind = facet_kind(mode)
        if kind is None or mode == "nuggets":  # assessors may add nuggets
            return
        described = {facet.topic for facet in self.facets(kind)}
        pooled = [topic for (topic,) in self.database.read("SELECT DISTINCT topic FROM pool ORDER BY topic")]
        without = [topic for topic in pooled if topic not in described]
        if without:
            raise UsageError(
                f"mode {mode}: no {kind}s for topic {listed(without)}; add subtopics to the topics, or give a "
                f"file of {kind}s with lines of topic, {kind}, text"
            )

    # ---- the pool and gold

    def add_pool(self, entries: Iterable[PoolEntry], *, by: str | None = None) -> int:
        """Add documents to judge; those that are there stay as they are. Returns how many are new."""
        entries = list(entries)
        unknown = {entry.topic for entry in entries}.difference(self.topic_ids())
        if unknown:
            raise UsageError(
                f"the pool has {counted(len(unknown), 'topic')} without a text: {listed(sorted(unknown))}; "
                "add the text to the topics, or take the topic out of the pool"
            )
        return self.database.write(lambda connection: put_pool(connection, entries, by=by))

    def pool_size(self) -> int:
        """The number of documents to judge."""
        return int(self.database.read("SELECT COUNT(*) FROM pool")[0][0])

    def need_pool(self) -> None:
        """Raise an error if there is nothing to judge."""
        if not self.pool_size():
            raise StoreError(self.origin, "has no documents to judge; add a pool")

    def add_gold(self, gold: Iterable[tuple[str, str, float]]) -> int:
        """Add (topic, document, known grade); returns how many there are."""
        rows = [(topic, doc, float(grade)) for topic, doc, grade in gold]
        unknown = sorted({topic for topic, _, _ in rows}.difference(self.topic_ids()))
        if unknown:
            raise UsageError(f"gold documents of topics without a text: {listed(unknown)}")
        values = set(self.settings().values)
        outside = [row for row in rows if row[2] not in values]
        if outside:
            topic, doc, grade = outside[0]
            raise UsageError(
                f"gold: document {shown(doc)} of topic {shown(topic)} has grade {grade:g}, which is not a grade of the "
                f"project ({', '.join(f'{value:g}' for value in sorted(values))}); there are {len(outside):,} of these"
            )
        self.database.write(
            lambda connection: connection.run_many(
                """INSERT INTO gold (topic, doc, grade) VALUES (?, ?, ?)
                ON CONFLICT (topic, doc) DO UPDATE SET grade = excluded.grade""",
                rows,
            )
        )
        return int(self.database.read("SELECT COUNT(*) FROM gold")[0][0])

    # ---- documents

    def add_documents(self, documents: Iterable[Document], progress: Callable[[int], None] | None = None) -> int:
        """Add documents, or replace those with the same id, and index them for search. Returns how many were read."""
        count, batch = 0, []
        for document in documents:
            extra = json.dumps(dict(document.extra or {}))
            batch.append((document.id, document.title, document.text.replace("\0", ""), document.kind, extra))
            if len(batch) == BATCH:
                self._put_documents(batch)
                count += len(batch)
                batch = []
                if progress:
                    progress(count)
        if batch:
            self._put_documents(batch)
        return count + len(batch)

    def _put_documents(self, rows: Sequence[tuple[str, str, str, str, str]]) -> None:
        engine = self.database.engine

        def change(connection: Connection) -> None:
            indexed = []
            for row in rows:
                old = connection.run("SELECT number, title, text FROM document WHERE id = ?", (row[0],))
                same = bool(old) and (old[0][1], old[0][2]) == row[1:3]
                if old and not same:
                    engine.unindex(connection, *old[0])
                ((number,),) = connection.run(
                    """INSERT INTO document (id, title, text, kind, extra) VALUES (?, ?, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET title = excluded.title, text = excluded.text,
                    kind = excluded.kind, extra = excluded.extra RETURNING number""",
                    row,
                )
                if not same:
                    indexed.append((number, row[1], row[2]))
            engine.index(connection, indexed)

        self.database.write(change)

    def document(self, id: str) -> Document | None:
        """A document by its id."""
        rows = self.database.glance("SELECT id, title, text, kind, extra FROM document WHERE id = ?", id)
        return _document(rows[0]) if rows else None

    def search(self, query: str, limit: int = 20) -> list[Document]:
        """The documents that contain all words of a query, the best first."""
        statement, values = self.database.engine.search(query, limit)
        return [_document(row) for row in self.database.read(statement, *values)] if statement else []

    # ---- guidelines

    def guidelines(self) -> tuple[int, str]:
        """The version and text of the guidelines; 0 and an empty text if there are none."""
        rows = self.database.read("SELECT version, text FROM guideline ORDER BY version DESC LIMIT 1")
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")

    def write_guidelines(self, text: str, by: str) -> int:
        """Add a version of the guidelines, unless the text is the same; a judgment names the version it was made by."""
        if len(text) > LONGEST_GUIDELINES:
            raise UsageError(
                f"the guidelines have {len(text):,} characters, at most {LONGEST_GUIDELINES:,} are allowed"
            )
        version, before = self.guidelines()
        if text == before:
            return version

        def change(connection: Connection) -> int:
            statement = "INSERT INTO guideline (text, written_at, written_by) VALUES (?, ?, ?) RETURNING version"
            ((version,),) = connection.run(statement, (text, time.time(), by))
            return int(version)

        return self.database.write(change)


def _document(row: Sequence[Any]) -> Document:
    id, title, text, kind, extra = row
    return Document(id, title, text, kind, json.loads(extra) if extra != "{}" else None)


def put_pool(connection: Connection, entries: Sequence[PoolEntry], *, by: str | None = None) -> int:
    """Add documents to the pool, after those that are there; returns how many are new."""
    (before,) = connection.run("SELECT COUNT(*) FROM pool")[0]
    (last,) = connection.run("SELECT COALESCE(MAX(position), 0) FROM pool")[0]
    now = time.time()
    connection.run_many(
        """INSERT INTO pool (topic, doc, position, source, query, added_by, added_at, audit)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (topic, doc) DO NOTHING""",
        [
            (entry.topic, entry.doc, last + at, entry.source, entry.query, by, now, json.dumps(dict(entry.audit)))
            for at, entry in enumerate(entries, 1)
        ],
    )
    (after,) = connection.run("SELECT COUNT(*) FROM pool")[0]
    return int(after) - int(before)


def put_facets(connection: Connection, facets: Sequence[Facet], *, by: str | None = None, keep: bool = False) -> None:
    """Add intents or nuggets; with `keep`, those that are there stay as they are."""
    update = "NOTHING" if keep else "UPDATE SET text = excluded.text, type = excluded.type, weight = excluded.weight"
    for facet in facets:
        (last,) = connection.run(
            "SELECT COALESCE(MAX(position), 0) FROM facet WHERE topic = ? AND kind = ?", (facet.topic, facet.kind)
        )[0]
        connection.run(
            f"""INSERT INTO facet (topic, kind, id, position, text, type, weight, added_by)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (topic, kind, id) DO {update}""",
            (facet.topic, facet.kind, facet.id, last + 1, facet.text, facet.type, facet.weight, by),
        )


def existing(where: str) -> Store:
    """The store at a path or URL. A file that does not exist or is empty is an error: nothing is made in its place."""
    if "://" not in where:
        if not os.path.exists(where):
            raise DataError(where, None, "the database does not exist")
        if os.path.isfile(where) and not os.path.getsize(where):
            raise DataError(where, None, "is empty, expected the database of a judging project")
    return Store(where)
