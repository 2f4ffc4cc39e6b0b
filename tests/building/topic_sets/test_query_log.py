"""Reading a query log."""

import gzip
import json
from pathlib import Path

import pytest

from cranfield import CranfieldError
from cranfield.building.topic_sets import QueryLog
from cranfield.building.topic_sets.query_log import normalised


def written(folder: Path, text: str | bytes, name: str = "log.txt") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def records(*rows: dict[str, object]) -> str:
    return "\n".join(map(json.dumps, rows))


@pytest.mark.parametrize(
    "text",
    [
        "Weather\nmaps\n\nweather \nweather\n",
        "Weather\t1\nmaps\t1\nweather\t2\n",
        "query,count\nWeather,1\nmaps,1\nweather,2\n",
        "count;query\n1;Weather\n1;maps\n2;weather\n",
        "AnonID\tQuery\tQueryTime\n1\tWeather\t2006-03-01 07:17:12\n1\tmaps\t2006-03-02 07:17:12\n"
        "2\tweather\t2006-03-03 07:17:12\n2\tweather\t2006-03-04 07:17:12\n",
        "\ufeffquery\r\nWeather\r\nmaps\r\nweather\r\nweather\r\n",
        records({"query": "Weather"}, {"query": "maps", "count": 1}, {"query": "weather", "count": 2}).replace(
            '{"query": "Weather"}', '{"query": "Weather", "count": 1.0}'
        ),
    ],
)
def test_all_forms_of_a_log_are_read_alike(tmp_path: Path, text: str) -> None:
    log = QueryLog.of(written(tmp_path, text))
    assert (log.queries, log.counts.tolist()) == (("weather", "maps"), [3, 1])


def test_a_compressed_log_is_read(tmp_path: Path) -> None:
    assert QueryLog.of(written(tmp_path, gzip.compress(b"a b\na b\n"), "log.gz")).counts.tolist() == [2]


def test_normalisation_is_by_option() -> None:
    queries = ["\uff37eather", "weather", "WEATHER!", "we\u0301"]
    assert QueryLog.of(queries).keys == ("weather", "weather!", "w\u00e9")
    assert len(QueryLog.of(queries, normalise=[])) == 4
    assert len(QueryLog.of(queries, normalise=["unicode", "case", "punctuation"])) == 2
    assert normalised("stra\u00dfe  \t x") == "strasse x"


def test_users_are_counted_once(tmp_path: Path) -> None:
    path = written(tmp_path, "user,query\na,Maps\na,maps\nb,maps\na,news\n")
    log = QueryLog.of(path)
    assert (log.queries, log.counts.tolist()) == (("maps", "news"), [3, 1])
    assert log.users is not None
    assert log.users.tolist() == [2, 1]
    limited = log.at_least(users=2)
    assert limited.queries == ("maps",)
    assert limited.notes == ("1 query asked by fewer than 2 users, left out (25.0% of the volume)",)


def test_the_order_of_the_log_does_not_matter() -> None:
    queries = ["b", "a", "A", "B", "c c", "C  c", "c c"]
    first, second = QueryLog.of(queries), QueryLog.of(queries[::-1])
    assert first.queries == second.queries == ("c c", "A", "B")
    assert first.counts.tolist() == second.counts.tolist() == [3, 2, 2]


def test_a_period_can_be_chosen(tmp_path: Path) -> None:
    path = written(tmp_path, "query,time\na,2026-01-01\nb,2026-01-02\nc,2026-01-03\nd,\n")
    log = QueryLog.of(path, since="2026-01-02", until="2026-01-03")
    assert log.queries == ("b",)
    assert log.notes == ("3 entries outside the period asked for, or without a time, left out",)


def test_queries_that_are_not_utf8_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, b"maps\ncaf\xe9\n")
    log = QueryLog.of(path)
    assert log.queries == ("maps",)
    assert log.notes[0].startswith("1 query is not UTF-8, such as b'caf\\xe9'; choose another by encoding=")
    assert QueryLog.of(path, encoding="latin-1").queries == ("caf\u00e9", "maps")


def test_unused_columns_and_empty_queries_are_noted(tmp_path: Path) -> None:
    log = QueryLog.of(written(tmp_path, "query,clicks\nmaps,3\n,4\n"))
    assert log.notes == ("columns of the log that are not used: clicks", "1 query without text, left out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty, expected a query per line"),
        (" \n\n", "is empty, expected a query per line"),
        ("query,count\n", "log.txt:1: holds only a header"),
        ("query,count\nmaps,many\n", "log.txt:2: the count is 'many', expected a whole number, 0 or above"),
        ("query,count\nmaps,-1\n", "log.txt:2: the count is '-1', expected a whole number, 0 or above"),
        ("query,count\nmaps,1,2\n", "log.txt:2: 3 columns, expected 2 as on line 1"),
        ("query,user,user\nmaps,1,2\n", "2 columns are called user"),
        ("maps\t1\nnews\t2\t3\n", "log.txt:2: 3 columns, expected 2: query, tab and count"),
        ("maps\tx\n", "log.txt:1: the count is 'x', expected a whole number"),
        ("maps\t0\n", "holds no queries"),
        ('{"text": "a"}\n', "no column for the query among text"),
        ('{"query": "a"}\n[1]\n', r"log.txt:2: is \[1\], expected an object with a query"),
        ('{"query": "a"\n', "log.txt:1: not valid JSON"),
        ("query,time\nmaps,yesterday\n", "log.txt:2: the time is 'yesterday', expected a number or a date"),
        (b"\xff\xfem\0a\0", "is UTF-16 text, expected UTF-8"),
        (b"caf\xe9\n", "1 query is not UTF-8"),
        (b"a\0b\n", "log.txt:1: a NUL byte"),
    ],
)
def test_bad_logs_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        QueryLog.of(written(tmp_path, text))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalise": ["accents"]}, "normalise == 'accents', must be one of 'unicode', 'case', 'punctuation'"),
        ({"since": "2026-01-01"}, "has no column for the time"),
        ({"encoding": "klingon"}, "encoding == 'klingon', must be the name of an encoding"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        QueryLog.of(written(tmp_path, "maps\n"), **options)  # type: ignore[arg-type]


def test_limits_that_leave_nothing_are_refused() -> None:
    with pytest.raises(
        CranfieldError, match="no query is left: all were asked fewer than 9 times; the most frequent one"
    ):
        QueryLog.of(["a", "a", "b"]).at_least(9)
    with pytest.raises(CranfieldError, match="does not name users, so queries of 2 users or more cannot be found"):
        QueryLog.of(["a", "a", "b"]).at_least(users=2)
