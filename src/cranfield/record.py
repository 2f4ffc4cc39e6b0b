"""Results as records: one mixin gives every result its table, JSON, LaTeX, HTML and frames.

Fields say that they are columns, `tau: Annotated[Array, column()]`, and under which heading if that is not their name.
A record whose columns are not fields defines `columns()` instead: an array per column, all of one length. It may also
have a `caption`, `notes`, sentences that a reader of the numbers needs, and `facts`, the names of attributes that hold
for all rows. The rest follows from these.

>>> from typing import Annotated
>>> @dataclass(frozen=True, eq=False, repr=False)
... class RunRanks(Record):
...     caption = "Ranks of runs"
...     run: Annotated[NDArray[Any], column()]
...     rank: Annotated[NDArray[Any], column("human rank", "machine rank")]
>>> print(RunRanks(np.array(["a", "b"], dtype=object), np.array([[1, 2], [2, 1]])))
Ranks of runs
run  human rank  machine rank
a             1             2
b             2             1
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints  # noqa: F401 the example above needs Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.frames import Tidy
from cranfield.table import Column, Estimate, Table

Columns = dict[str, NDArray[Any]]
"""An array per column, all of one length."""


@dataclass(frozen=True)
class Headings:
    """Says that a field of a record is a column, or several: then the array has a row for each."""

    names: tuple[str, ...] = ()
    """Empty: the name of the field, with blanks."""
    kind: str = ""
    """A kind of `table.KINDS`; empty: text, count or number, by the type of the array."""
    better: str = "neither"
    """Whether `higher` or `lower` values are better."""
    shown: str = ""
    """The heading in the table, if it is not that of the column."""
    ends: tuple[str, ...] = ()
    """The columns that hold the ends of the intervals; the table shows them in the same cell."""
    optional: bool = False
    """The table leaves the column out if it is empty: it has only NaN, only 0 as counts, or only empty texts."""
    hidden: bool = False
    """The table never has the column."""
    axis: bool = False
    """There is a row for each combination of the entries of such fields."""
    over: str = ""
    """The names of the axes that the array runs over, in the order of its dimensions."""


def column(*names: str, **more: Any) -> Headings:
    """For `Annotated`: this field of a record is a column, under its own name or another, or several columns.

    A field that is None has no columns. `more` are further fields of `Headings`.

    >>> @dataclass(frozen=True, eq=False, repr=False)
    ... class Rates(Record):
    ...     topics: Annotated[tuple[str, ...], column("topic", axis=True)]
    ...     rules: Annotated[tuple[str, ...], column("rule", axis=True)]
    ...     rate: Annotated[NDArray[Any], column(over="rules topics")]
    >>> print(Rates(("1", "2"), ("a",), np.array([[0.5, 1.0]])))
    topic  rule    rate
    1      a     0.5000
    2      a     1.0000
    """
    return Headings(names, **more)


def interval(name: str, **more: Any) -> Headings:
    """As `column`, for numbers with the low and the high ends of their intervals: three arrays.

    >>> interval("kappa").names
    ('kappa', 'kappa low', 'kappa high')
    """
    ends = (f"{name} low", f"{name} high")
    return Headings((name, *ends), ends=ends, **more)


def declared_columns(record: type) -> dict[str, Headings]:
    """The fields of a record that are columns, in their order."""
    if record in _DECLARED:
        return _DECLARED[record]
    hints: dict[str, Headings] = {}
    for name, hint in get_type_hints(record, include_extras=True).items():
        for part in (hint, *getattr(hint, "__args__", ())):  # also in `Annotated[...] | None`
            for fact in getattr(part, "__metadata__", ()):
                if isinstance(fact, Headings):
                    hints[name] = fact
    columns = {field.name: hints[field.name] for field in fields(record) if field.name in hints}
    return _DECLARED.setdefault(record, columns)


_DECLARED: dict[type, dict[str, Headings]] = {}


class Shown(Tidy):
    """A result with columns that a notebook shows as a table, and that may have a figure."""

    figure: ClassVar[str] = ""
    """The function of `report/figures/` that describes its figure: `plot`, `--plot` and reports draw the same one."""

    @property
    def caption(self) -> str:
        """The heading of the table; a text in the class, or a property."""
        return ""

    def columns(self) -> Columns:
        """The columns that the fields declare."""
        columns: Columns = {}
        kind: type = type(self)
        declared = declared_columns(kind)
        axes = [name for name, headings in declared.items() if headings.axis]
        sizes = [len(getattr(self, name)) for name in axes]
        of_axis = dict(zip(axes, np.indices(sizes).reshape(len(axes), math.prod(sizes)), strict=True))
        for name, headings in declared.items():
            value = getattr(self, name)
            if value is None:
                continue
            names = headings.names or (name.replace("_", " "),)
            arrays = map(labels, value if len(names) > 1 else (value,))
            over = tuple(of_axis[axis] for axis in (headings.over or (name if headings.axis else "")).split())
            columns |= {heading: array[over] if over else array for heading, array in zip(names, arrays, strict=True)}
        return columns

    def table(self) -> Table:
        """A row per entry of `columns`, with intervals in the cells of their numbers."""
        kind: type = type(self)
        declared: dict[str, Headings] = {}
        for name, headings in declared_columns(kind).items():
            first, *others = headings.names or (name.replace("_", " "),)
            declared |= {first: headings, **dict.fromkeys(others, replace(headings, shown="", ends=()))}
        columns, shown, headed = self.columns(), {}, {}
        ends = {end for headings in declared.values() for end in headings.ends}
        for name, values in columns.items():
            own = declared.get(name, Headings())
            if name in ends or own.hidden or (own.optional and is_empty(values)):
                continue
            heading = own.shown or name
            shown[heading] = estimates(values, *(columns[end] for end in own.ends)) if own.ends else values
            headed[heading] = own
        return table_of(
            shown, self.sorted_rows(), kinds={name: own.kind for name, own in headed.items() if own.kind},
            better={name: own.better for name, own in headed.items()}, caption=self.caption,
            notes=tuple(getattr(self, "notes", ())),
        )  # fmt: skip

    def sorted_rows(self) -> NDArray[Any] | None:
        """The rows of the table, in their order; None: all, as they are."""
        return None

    def plot(self, **options: Any) -> Any:
        """The figure of this result, which a notebook shows; `options` are those of its `describe_` function."""
        # report/ comes after all results, which is why it is imported by its name.
        return import_module("cranfield.report.figures.result_figures").figure_of(self, **options)

    def _repr_html_(self) -> str:
        return self.table().html()


class Record(Shown):
    """A result that can be shown in a terminal, a notebook or a paper, and read as JSON or as a frame."""

    facts: ClassVar[tuple[str, ...]] = ()
    """The attributes that hold for all rows."""

    def _metadata(self) -> dict[str, Any]:
        return self._facts(*self.facts, *(("notes",) if getattr(self, "notes", ()) else ()))

    def to_dict(self) -> dict[str, Any]:
        """Notes, facts and a row per entry of `columns`, ready for JSON; undefined is None."""
        facts = {"notes": getattr(self, "notes", ()), **self._metadata(), "rows": rows_of(self.columns())}
        return {name: plain(value) for name, value in facts.items()}

    def to_json(self) -> str:
        """The content of `to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=1)

    def to_latex(self) -> str:
        """The table in LaTeX."""
        return self.table().latex()

    def __str__(self) -> str:
        return self.table().text()

    def __repr__(self) -> str:
        return str(self)  # for dataclasses with repr=False

    def _facts(self, *names: str) -> dict[str, Any]:
        """Some attributes by name, as JSON holds them."""
        return {name: plain(getattr(self, name)) for name in names}

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]], **others: Any) -> Self:
        """A record from rows with an entry for each field that is a column, or a sequence for one with several.

        >>> @dataclass(frozen=True, eq=False, repr=False)
        ... class Ranks(Record):
        ...     run: Annotated[NDArray[Any], column()]
        ...     rank: Annotated[NDArray[Any], column("human", "machine")]
        >>> Ranks.of_rows([("a", (1, 2)), ("b", (2, 1))]).rank.tolist()
        [[1, 2], [2, 1]]
        """
        declared = declared_columns(cls)
        columns = list(zip(*rows, strict=True)) or [()] * len(declared)
        hints = get_type_hints(cls)
        for (name, headings), column in zip(declared.items(), columns, strict=True):
            several = len(headings.names)
            if get_origin(hints[name]) is tuple:
                others[name] = column
            elif several > 1:
                others[name] = np.array(column).reshape(-1, several).T
            else:
                (kind,) = get_args(get_args(hints[name])[-1])  # of the type of an array
                others[name] = np.array(column, dtype=object if kind is Any else kind)
        return cls(**others)


class OneRow(Record):
    """A record with a single row; it is a dataclass, and its JSON holds all fields."""

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON; undefined is None."""
        return dict(plain(self))

    def columns(self) -> dict[str, NDArray[Any]]:
        """All fields but `facts` and notes."""
        kind: type = type(self)
        names = [field.name for field in fields(kind) if field.name not in ("notes", *self.facts)]
        return one_row({name: getattr(self, name) for name in names})


def labels(values: Iterable[Any]) -> NDArray[Any]:
    """An array for a column; texts become objects."""
    if isinstance(values, np.ndarray):
        return values
    entries = list(values)
    return np.array(entries, dtype=object if not entries or isinstance(entries[0], str) else None)


def is_empty(values: NDArray[Any]) -> bool:
    """Whether a column has only NaN, only 0 as counts, or only empty texts.

    >>> is_empty(np.array([np.nan])), is_empty(np.array([0, 0])), is_empty(np.array([0.0]))
    (True, True, False)
    """
    return bool(np.isnan(values).all() if values.dtype.kind == "f" else not values.any())


def crossed(axes: Mapping[str, Iterable[Any]], values: Mapping[str, NDArray[Any]]) -> Columns:
    """Columns with a row for every combination of labels; the values have one dimension per axis, perhaps of length 1.

    >>> crossed({"run": ["a", "b"], "topic": [1]}, {"score": np.array([[0.5], [0.7]])})["run"].tolist()
    ['a', 'b']
    """
    names = [labels(axis) for axis in axes.values()]
    shape = [len(axis) for axis in names]
    index = np.indices(shape).reshape(len(names), -1)
    columns = {name: axis[i] for name, axis, i in zip(axes, names, index, strict=True)}
    return {**columns, **{name: np.broadcast_to(array, shape).ravel() for name, array in values.items()}}


def stacked(records: Iterable[Record]) -> Columns:
    """The columns of several records with the same columns, one record after the other."""
    parts = [record.columns() for record in records]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def estimates(values: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers with their intervals, for `table_of`; arrays of several dimensions become flat.

    >>> print(table_of({"tau": estimates(np.array([0.5]), np.array([0.2]), np.array([0.8]))}).text())
                        tau
    0.5000 [0.2000, 0.8000]
    """
    cells = np.empty(values.size, dtype=object)
    cells[:] = [
        Estimate("", "", *ends) for ends in zip(*(x.ravel().tolist() for x in (values, low, high)), strict=True)
    ]
    return cells


def without_empty(columns: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    """The columns, except those of `optional` that have no number.

    >>> list(without_empty({"run": ["a"], "p": np.array([np.nan])}, "p"))
    ['run']
    """
    return {name: column for name, column in columns.items() if name not in optional or not np.isnan(column).all()}


def table_of(
    columns: Mapping[str, Any],
    order: NDArray[Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    better: Mapping[str, str] | None = None,
    **options: Any,
) -> Table:
    """A table of columns; True is shown as "yes". `order` selects and sorts rows, `options` are passed to `Table`.

    kinds: the kinds of columns that are not text, counts or numbers.
    better: whether `higher` or `lower` values of a column are better.

    >>> columns = {"first": np.array(["a"], dtype=object), "p": np.array([0.2]), "differ": np.array([False])}
    >>> print(table_of(columns).text())
    first       p  differ
    a      0.2000
    """
    usual = {"O": "text", "b": "text", "i": "count"}
    named = {"p": "probability", "p adjusted": "probability"}
    heads, shown = [], []
    for name, column in columns.items():
        cells = labels(column)
        kind = (kinds or {}).get(name) or usual.get(cells.dtype.kind) or named.get(name, "number")
        if len(cells) and isinstance(cells[0], Estimate):
            kind = "number"
        heads.append(Column(name, kind, (better or {}).get(name, "neither")))
        shown.append(np.where(cells, "yes", "") if cells.dtype.kind == "b" else cells)
    rows = zip(*((column if order is None else column[order]).tolist() for column in shown), strict=True)
    return Table(tuple(heads), tuple(rows), **options)


def columns_of(rows: Sequence[Any], kind: type, *headings: str) -> dict[str, NDArray[Any]]:
    """The columns of rows that are dataclasses of a kind: all fields, or those of some headings.

    A blank in a heading is a `_` in the name of the field.

    >>> @dataclass
    ... class Pair:
    ...     first: str
    ...     p_value: float
    >>> {name: column.tolist() for name, column in columns_of([Pair("a", 0.2)], Pair, "first", "p value").items()}
    {'first': ['a'], 'p value': [0.2]}
    """
    hints = get_type_hints(kind)
    names = {heading: heading.replace(" ", "_") for heading in headings or [field.name for field in fields(kind)]}
    types = {str: object, int: np.int64, float: np.float64, bool: np.bool_}
    return {
        heading: np.array([getattr(row, name) for row in rows], dtype=types[hints[name]])
        for heading, name in names.items()
    }


def upper_triangle(
    names: Sequence[str], cell: Callable[[int, int], str], caption: str, notes: tuple[str, ...]
) -> Table:
    """A table of pairs: `cell(row, column)` above the diagonal, dashes below it."""
    rows = [(name, *["-"] * i, *(cell(i, j) for j in range(i + 1, len(names)))) for i, name in enumerate(names[:-1])]
    return Table((Column(""), *map(Column, names[1:])), tuple(rows), caption, notes)


def entries_of(columns: Mapping[str, NDArray[Any]]) -> Iterator[tuple[Any, ...]]:
    """The rows as tuples of Python values."""
    return zip(*(column.tolist() for column in columns.values()), strict=True)


def rows_of(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """A dict per row.

    >>> rows_of({"run": np.array(["a", "b"], dtype=object), "mean": np.array([0.2, 0.3])})
    [{'run': 'a', 'mean': 0.2}, {'run': 'b', 'mean': 0.3}]
    """
    return [dict(zip(columns, entry, strict=True)) for entry in entries_of(columns)]


def one_row(values: Mapping[str, Any]) -> Columns:
    """The columns of a record with a single row.

    >>> {name: column.tolist() for name, column in one_row({"test": "t", "p": 0.2}).items()}
    {'test': ['t'], 'p': [0.2]}
    """
    return {name: np.array([value], dtype=object if isinstance(value, str) else None) for name, value in values.items()}


def plain(value: Any) -> Any:
    """The value as JSON can hold it: NaN is None, infinity is text, tuples are lists, dataclasses are objects."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(entry) for entry in value]
    return value
