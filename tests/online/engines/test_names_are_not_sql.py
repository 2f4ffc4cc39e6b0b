"""Names of files, tables and columns are names: none is run as SQL, taken as a pattern, or fetched from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf
from cranfield.online.engines import open_engine
from cranfield.online.engines.duckdb_engine import DuckDBEngine
from tests.cli.conftest import in_process
from tests.cli.every_verb import FILES

FILE_NAMES = (
    "a[1].csv", "a?.csv", "a*.csv", "**.csv", "[!b]1.csv", "{a1,ab}.csv", "~.csv", "it's.csv", '"q".csv',
    "a;b.csv", "x') --.csv", "new\nline.csv", "a::b.csv", "-a.csv", "$HOME.csv", "%41.csv", "a#b.csv",
)  # fmt: skip
TABLES = (
    "a1.csv", "read_csv('a1.csv')", "(SELECT 1)", "x; COPY (SELECT 1) TO 'trace'", "duckdb_settings()",
    "information_schema.tables",
)  # fmt: skip
COLUMNS = ('re"venue', "re'venue", "sum(x); --", "a.b", "select", "*", "\") FROM read_csv('a1.csv') --")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a1.csv", "ab.csv"):
        Path(name).write_text("user,arm\nother,A\n")


def test_only_the_file_of_this_name_is_read(tmp_path: Path) -> None:
    with open_engine("duckdb") as engine:
        for name in FILE_NAMES:
            other = name.replace(".csv", ".jsonl")
            for file, text in ((name, "user,arm\nmine,A\n"), (other, '{"user": "mine", "n": 1}\n')):
                Path(file).write_text(text)
                for path, read in (
                    (file, engine.read),
                    ([file], engine.read_rows),
                    (str(tmp_path / file), engine.read),
                ):
                    assert engine.fetch(read(path)).column("user").to_pylist() == ["mine"], path
                Path(file).unlink()


def test_only_the_folder_of_this_name_is_read() -> None:
    for name in ("log[1]", "log1"):
        Path(name).mkdir()
        Path(name, "part.csv").write_text(f"user,arm\n{name},A\n")
    with open_engine("duckdb") as engine:
        assert engine.fetch(engine.read("log[1]")).column("user").to_pylist() == ["log[1]"]


def test_a_table_of_the_engine_is_not_sql_or_a_file() -> None:
    import duckdb

    connection = duckdb.connect()
    for sql in ('TABLE "it""s; x" AS SELECT 7 AS user', "SCHEMA s", "VIEW s.v AS SELECT 8 AS user"):
        connection.execute(f"CREATE {sql}")
    engine = open_engine(connection)
    for name in TABLES:
        with pytest.raises(cf.DataError, match="no table") as raised:
            engine.read(f"::{name}")
        assert raised.value.path == f"::{name}"
    assert not Path("trace").exists()
    assert engine.fetch(engine.read('::it"s; x')).to_pylist() == [{"user": 7}]
    assert engine.fetch(engine.read("::s.v")).to_pylist() == [{"user": 8}]


def test_a_view_in_a_database_reads_no_other_file() -> None:
    """Whoever made the database would choose what is read on this machine, or fetched by it."""
    import duckdb

    here = Path("a1.csv").absolute()
    views = {
        "outside": f"FROM read_csv('{here}')",
        "named": f"FROM '{here}'",
        "words": f"FROM read_text('{here}')",
        "behind": "FROM outside",
        "called": "FROM reads()",
        "inside": "FROM kept",
    }
    with duckdb.connect("log.duckdb") as database:
        database.execute("CREATE TABLE kept AS SELECT 'mine' AS user, 'A' AS arm")
        database.execute(f"CREATE MACRO reads() AS TABLE FROM read_csv('{here}')")
        for name, query in views.items():
            database.execute(f"CREATE VIEW {name} AS {query}")
    with open_engine("duckdb") as engine:
        for name in set(views) - {"inside"}:
            with pytest.raises(cf.DataError, match=f"log.duckdb::{name}: the view '{name}' reads other files"):
                engine.read(f"log.duckdb::{name}")
        for name in ("inside", "kept"):
            assert engine.fetch(engine.read(f"log.duckdb::{name}")).column("user").to_pylist() == ["mine"]


@pytest.mark.parametrize("name", COLUMNS)
def test_the_name_of_a_column_is_not_sql(name: str) -> None:
    import csv

    with open("users.csv", "w", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerows([["user", "arm", name], *([f"u{n}", "AB"[n % 2], n % 7] for n in range(40))])
    engine = DuckDBEngine()
    assert sum(engine.fetch(engine.read("users.csv")).column(name).to_pylist()) == sum(n % 7 for n in range(40))
    done = in_process("ab", "analyse", "users.csv", "--metric", name)
    assert "this is a bug" not in done.err
    assert "Parser Error" not in done.err


VERBS = {"log check": "{}", "log measures": "{} --least 1", "log sessions": "{}", "log preferences": "{} --least 1"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_reads_the_log_of_this_name(verb: str) -> None:
    """The log beside it, whose name the pattern means, has no users."""
    for folder in ("l[1]';", "l1';"):
        Path(folder).mkdir()
        for name in ("ubi_queries.jsonl", "ubi_events.jsonl"):
            Path(folder, name).write_text(FILES[f"log/{name}"] if "[" in folder else '{"a": 1}\n')
    done = in_process(*verb.split(), *(word.format("l[1]';") for word in VERBS[verb].split()))
    assert done.code == 0, done.err
