"""What the database of judgments holds: its tables, and the text that they can keep.

The statements are the same for SQLite and PostgreSQL, except `{serial}`. Judgments are only ever added. A change, an
undo and a second thought are rows of their own, which name the row that they replace in `supersedes`; that no two rows
replace the same one is a constraint, so a chain never forks. What counts now is a view.

Half of a surrogate pair (which JSON can write, as in "\\ud800") has no UTF-8, and PostgreSQL holds no NUL character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cranfield.errors import UsageError

VERSION = 1
"""The version of the tables, written into every database."""

TABLES = """
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS topic (id TEXT PRIMARY KEY, position INTEGER NOT NULL, data TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS facet (
    topic TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL,
    type TEXT NOT NULL, weight DOUBLE PRECISION, added_by TEXT, PRIMARY KEY (topic, kind, id));

CREATE TABLE IF NOT EXISTS document (
    number {serial}, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL, kind TEXT NOT NULL,
    extra TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS pool (
    topic TEXT NOT NULL, doc TEXT NOT NULL, position INTEGER NOT NULL, source TEXT NOT NULL, query TEXT,
    added_by TEXT, added_at DOUBLE PRECISION NOT NULL, audit TEXT NOT NULL, PRIMARY KEY (topic, doc));

CREATE TABLE IF NOT EXISTS gold (
    topic TEXT NOT NULL, doc TEXT NOT NULL, grade DOUBLE PRECISION NOT NULL, PRIMARY KEY (topic, doc));

CREATE TABLE IF NOT EXISTS assessor (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT, active INTEGER NOT NULL,
    created_at DOUBLE PRECISION NOT NULL);

CREATE TABLE IF NOT EXISTS session (
    token TEXT PRIMARY KEY, assessor TEXT NOT NULL REFERENCES assessor (name), csrf TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL, expires_at DOUBLE PRECISION NOT NULL);

CREATE TABLE IF NOT EXISTS guideline (
    version {serial}, text TEXT NOT NULL, written_at DOUBLE PRECISION NOT NULL, written_by TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS offer (
    id {serial}, topic TEXT NOT NULL, doc TEXT NOT NULL, assessor TEXT NOT NULL REFERENCES assessor (name),
    purpose TEXT NOT NULL, estimate DOUBLE PRECISION, offered_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL, state TEXT NOT NULL);

CREATE UNIQUE INDEX IF NOT EXISTS one_open_offer ON offer (topic, doc, assessor) WHERE state = 'open';

CREATE TABLE IF NOT EXISTS judgment (
    id {serial}, request TEXT NOT NULL UNIQUE, topic TEXT NOT NULL, doc TEXT NOT NULL,
    assessor TEXT NOT NULL REFERENCES assessor (name), action TEXT NOT NULL, state TEXT NOT NULL,
    grade DOUBLE PRECISION, payload TEXT, reason TEXT NOT NULL, milliseconds INTEGER, position INTEGER NOT NULL,
    judged_at DOUBLE PRECISION NOT NULL, purpose TEXT NOT NULL, counted INTEGER NOT NULL,
    supersedes BIGINT REFERENCES judgment (id), restores BIGINT REFERENCES judgment (id), guideline BIGINT,
    offer BIGINT, UNIQUE (assessor, position));

CREATE UNIQUE INDEX IF NOT EXISTS superseded_once ON judgment (supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX IF NOT EXISTS judgment_of_document ON judgment (topic, doc, assessor);
CREATE INDEX IF NOT EXISTS repeated_judgment ON judgment (assessor, topic, doc) WHERE purpose = 'repeat';
CREATE INDEX IF NOT EXISTS judgment_counts ON judgment (assessor, topic, state, purpose, counted, milliseconds);
"""
"""The statements that make the tables, each ended by a semicolon."""

VIEWS = """
CREATE VIEW standing_judgment AS
    SELECT * FROM judgment AS j
    WHERE j.state <> 'none' AND NOT EXISTS (SELECT 1 FROM judgment AS later WHERE later.supersedes = j.id);

CREATE VIEW current_qrels AS
    SELECT topic, doc, assessor, grade, payload FROM standing_judgment WHERE state = 'graded' AND counted = 1;
"""
"""A standing judgment is the last of its chain, unless that was an undo back to nothing."""


def statements(tables: str, words: Mapping[str, str]) -> list[str]:
    """The statements that make tables, from text; `words` has those that differ between databases.

    >>> statements(TABLES, {"serial": "INTEGER PRIMARY KEY"})[0]
    'CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL)'
    """
    return [statement.strip() for statement in tables.format(**words).split(";") if statement.strip()]


def judgment_indexes() -> dict[str, str]:
    """{name: statement} of the indexes of judgments; constraints are not among them.

    >>> list(judgment_indexes())
    ['superseded_once', 'judgment_of_document', 'repeated_judgment', 'judgment_counts']
    """
    made = re.findall(r"(CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\w+) ON judgment [^;]*);", TABLES)
    return {name: statement for statement, name in made}


_WRONG = re.compile("[\0\ud800-\udfff]")


def need_text(value: Any, name: str = "") -> None:
    """Raise an error for text, also within lists and mappings, that holds something other than characters.

    >>> need_text({"reason": "half \\ud83d of a pair"})
    Traceback (most recent call last):
    ...
    cranfield.errors.UsageError: reason has U+D83D at character 6, which is not a character; take it out and try again
    """
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            wrong = _WRONG.search(value)
            if wrong:
                code, place = f"U+{ord(wrong[0]):04X}", wrong.start() + 1
                raise UsageError(
                    f"{name} has {code} at character {place:,}, which is not a character; take it out and try again"
                )
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                waiting += [("a name", key), (str(key) if isinstance(inner, str) else name or str(key), inner)]
        elif isinstance(value, list | tuple):
            waiting += [(name, inner) for inner in value]


_UNSPACED = re.compile(r"([\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")
"""Characters of Chinese, Japanese and Korean, which are written without blanks or with few."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
MOST_WORDS = 20
_COMMON = frozenset(
    """a about an and any are as at be been by can could did do does for from had has have how i if in into is it its
    of on or should than that the their them there these they this those to was were what when where which who whom
    whose why will with would you your der die das und oder ein eine ist im in von zu le la les de des du et un une en
    el los las y o un una il lo gli e""".split()  # noqa: SIM905  (a list of words is easier to read as text)
)


def spaced(text: str) -> str:
    """The text with blanks around characters of languages that are written without blanks.

    >>> spaced("Tokyo 東京")
    'Tokyo  東  京 '
    """
    return _UNSPACED.sub(r" \1 ", text)


def phrases(query: str) -> list[str]:
    """The words of a query; characters that stand together without blanks are one phrase.

    >>> phrases('wing-flutter "東京" OR')
    ['wing', 'flutter', '東 京', 'OR']
    """
    return [" ".join(spaced(word).split()) for word in _WORD.findall(query)[:MOST_WORDS]]


@lru_cache(maxsize=1_000)
def marked_words(title: str) -> tuple[str, ...]:
    """The words of a topic that are marked in documents: all but the most common ones.

    >>> marked_words("What is the flutter of wings?")
    ('flutter', 'wings')
    """
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(title))
    return tuple([word for word in words if word not in _COMMON and (len(word) > 1 or not word.isascii())][:MOST_WORDS])
