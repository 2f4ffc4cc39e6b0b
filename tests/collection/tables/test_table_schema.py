"""Small tables are read alike from every kind of source, with messages that name the place."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cranfield.collection.column_names import named_columns
from cranfield.collection.tables.table_schema import DOC, Numbers, Schema, Words
from cranfield.errors import DataError, UsageError

PRICES = Schema(
    "doc shop [price]", key=("doc", "shop"), doc=DOC, shop=Words(("shop", "store")), price=Numbers(least=0, default=1.0)
)
ROWS = [("d1", "north", 2.0), ("d1", "south", 0.5), ("d2", "north", 3.0)]
NAMED = [{"docid": doc, "Store": shop, "price": price} for doc, shop, price in ROWS]


def text(separator: str, header: str = "") -> str:
    return header + "".join(f"{separator.join(map(str, row))}\n" for row in ROWS)


TEXTS = {
    "tabs": text("\t"),
    "commas and a header": text(",", "docid,shop,price\n"),
    "semicolons": text(";"),
    "blanks": text(" "),
    "another order": "price,store,docno\n2,north,d1\n0.5,south,d1\n3,north,d2\n",
    "more columns": "docid,note,shop,price\nd1,x,north,2\nd1,,south,.5\nd2,y,north,3e0\n",
    "quotes": '"docid","shop","price"\n"d1","north","2"\n"d1","south","0.5"\n"d2","north","3"\n',
    "objects": '{"docid": "d1", "store": "north", "price": 2}\n{"docid": "d1", "store": "south", "price": 0.5}\n'
    '{"docid": "d2", "store": "north", "price": 3}\n',
}
OBJECTS: dict[str, Any] = {
    "tuples": ROWS,
    "dicts": NAMED,
    "pandas": pd.DataFrame(NAMED),
    "polars": pl.DataFrame(NAMED),
    "arrow": pa.Table.from_pylist(NAMED),
}


def read(source: Any) -> list[tuple[Any, ...]]:
    rows = PRICES.read(source, "prices")
    return [(doc, shop, float(price)) for doc, shop, price in rows]


@pytest.mark.parametrize("form", TEXTS)
def test_a_file_in_any_form_has_the_same_rows(form: str, tmp_path: Path) -> None:
    path = tmp_path / "prices"
    path.write_text(TEXTS[form])
    assert read(path) == ROWS
    assert read(str(path)) == ROWS


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_have_the_same_rows(kind: str) -> None:
    assert read(OBJECTS[kind]) == ROWS


def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(NAMED), tmp_path / "prices.parquet")
    assert read(tmp_path / "prices.parquet") == ROWS


def test_a_column_that_is_left_out_has_its_default_and_a_chosen_column_is_used(tmp_path: Path) -> None:
    path = tmp_path / "prices"
    path.write_text("d1 north\nd2 south\n")
    assert read(path) == [("d1", "north", 1.0), ("d2", "south", 1.0)]
    path.write_text("sku,shop\nd1,north\n")
    with named_columns({"doc": "sku"}):
        assert read(path) == [("d1", "north", 1.0)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("d1,north,cheap\n", ":1: document 'd1': the price is 'cheap', expected a number, 0 or above"),
        ("d1,north,1\nd1,south,-2\n", ":2: document 'd1': the price is '-2', expected a number, 0 or above"),
        ("d1,north,1_000\n", "the price is '1_000', expected a number"),
        ("d1,north,inf\n", "the price is 'inf', expected a number"),
        ("d1,,1\n", ":1: document 'd1': the shop is '', expected a text that is not empty"),
        ("d1,north,1\n\nd1,north,2\n", ":3: document 'd1' with shop 'north' appears twice, first on line 1"),
        ("docid,shop,shop\nd1,a,b\n", ":1: 2 columns are called shop"),
        ("docid,price\nd1,1\n", ":1: no column for the shop among docid, price; expected one called shop, store"),
        ("docid,shop\n", ":1: holds only a header, expected lines of doc shop"),
        ("d1,a,1,2\n", ":1: 4 columns, expected doc shop"),
        ("d1,a,1\nd2,b\n", ":2: 2 columns, expected 3"),
        ("", "is empty, expected lines of doc shop"),
        ('{"docid": "d1"}\n', "no column for the shop among docid"),
        ('{"docid": "d1"\n', ":1: not valid JSON"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_place(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "prices"
    path.write_text(content)
    with pytest.raises(DataError) as error:
        read(path)
    assert message in str(error.value)


def test_a_wrong_object_is_an_error_that_says_what_to_give() -> None:
    with pytest.raises(UsageError, match=r"prices: \('d1',\), must be \(doc, shop\[, price\]\)"):
        read([("d1",)])
    with pytest.raises(UsageError, match="int cannot be read as prices"):
        read(3)
    with pytest.raises(DataError, match="prices: is empty"):
        read([])
    with pytest.raises(DataError, match="frame: row 2: document 'd2': the price is None"):
        read(pl.DataFrame({"doc": ["d1", "d2"], "shop": ["a", "b"], "price": [1.0, None]}))


def test_equal_rows_count_once_where_the_schema_says_so() -> None:
    kinds = Schema("doc kind", key=("doc",), same=True, doc=DOC, kind=Words())
    assert list(kinds.read([("d1", "a"), ("d2", "b"), ("d1", "a")])) == [("d1", "a"), ("d2", "b")]
    with pytest.raises(DataError, match="row 2: document 'd1' appears twice, first in row 1"):
        kinds.read([("d1", "a"), ("d1", "b")])
