"""The values of options: what a word of the command line stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cranfield.errors import UsageError

if TYPE_CHECKING:
    from cranfield.measures import Measure


def bytes_of(text: str) -> int:
    """The value of `--max-size`.

    >>> bytes_of("20G"), bytes_of("1.5k"), bytes_of("100")
    (21474836480, 1536, 100)
    """
    size = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", text.strip().upper())
    if size is None:
        raise UsageError(f"--max-size {text}: expected a number of bytes, such as 500M or 20G")
    return int(float(size[1]) * 1024 ** (" KMGT".index(size[2]) if size[2] else 0))


def assumed_length(text: str | None) -> float | str | None:
    """The value of `--missing-length`.

    >>> assumed_length("500"), assumed_length("mean")
    (500.0, 'mean')
    """
    return float(text) if text is not None and re.fullmatch(r"\d+(\.\d*)?", text) else text


def columns_of(text: str | None) -> dict[str, str] | list[str]:
    """The value of `--columns`: names by role, or the names of all columns of a file without a header.

    >>> columns_of("topic=search term, doc=sku"), columns_of("topic, doc, grade")
    ({'topic': 'search term', 'doc': 'sku'}, ['topic', 'doc', 'grade'])
    """
    words = [word.strip() for word in (text or "").split(",")]
    if len(words) > 1 and all(words) and "=" not in (text or ""):
        return words
    return roles_of(text)


def roles_of(text: str | None) -> dict[str, str]:
    """The value of `--columns` where it names columns by role."""
    columns: dict[str, str] = {}
    for pair in (text or "").split(",") if text else ():
        role, sign, name = (part.strip() for part in pair.partition("="))
        if not (role and sign and name):
            raise UsageError(f"--columns {text}: expected roles and columns, such as topic=search_term,doc=sku")
        if role in columns:
            raise UsageError(f"--columns {text}: {role} is given twice")
        columns[role] = name
    return columns


def grades_of(text: str | None) -> dict[str, float]:
    """The value of `--grades`.

    >>> grades_of("Exact=3, Partial=0.5")
    {'Exact': 3, 'Partial': 0.5}
    """
    grades: dict[str, float] = {}
    for pair in (text or "").split(",") if text else ():
        label, _, number = (part.strip() for part in pair.rpartition("="))
        try:
            grade = float(number)
        except ValueError:
            grade = float("nan")
        if not label or grade != grade:
            raise UsageError(f"--grades {text}: expected labels and numbers, such as Exact=3,Partial=1,Irrelevant=0")
        if label in grades:
            raise UsageError(f"--grades {text}: {label} is given twice")
        grades[label] = int(grade) if grade.is_integer() else grade
    return grades


def baseline_file(runs: list[str] | None, baseline: str | None) -> tuple[list[str] | None, str | None]:
    """The runs and the name of the baseline, if `--baseline` is a file or NAME=FILE instead of a name.

    >>> baseline_file(["a.run", "b.run"], "a")
    (['a.run', 'b.run'], 'a')
    """
    import os

    from cranfield.collection.source import named_paths, stem

    if baseline is None or runs is None:
        return runs, baseline
    is_file = os.path.isfile(baseline)
    if not is_file and not ("=" in baseline and os.path.isfile(baseline.partition("=")[2])):
        return runs, baseline
    (name, path), *_ = named_paths([baseline])
    name = name or stem(path)
    others = [run for run in runs if not (os.path.exists(run) and os.path.samefile(run, path))]
    return [*others, f"{name}={path}"], name


def named_files(texts: Iterable[str] | None) -> dict[str, str] | None:
    """The values of `--dimension`.

    >>> named_files(["credibility=cred.qrels"])
    {'credibility': 'cred.qrels'}
    """
    files: dict[str, str] = {}
    for text in texts or ():
        name, sign, path = text.partition("=")
        if not (name and sign and path):
            raise UsageError(f"--dimension {text}: expected a name and a file, such as credibility=FILE")
        if name in files:
            raise UsageError(f"--dimension {name}: given twice, as {files[name]} and {path}")
        files[name] = path
    return files or None


def numbers(label: str, text: str | None) -> list[float] | None:
    """Numbers separated by commas or blanks; None if the option was not given.

    >>> numbers("--rates", "0.5,0.1")
    [0.5, 0.1]
    """
    if text is None:
        return None
    try:
        values = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        values = []
    if not values:
        raise UsageError(f"{label} {text}: expected numbers separated by commas")
    return values


def whole_numbers(label: str, text: str | None) -> list[int] | None:
    """As `numbers`, for whole numbers from 1 on."""
    values = numbers(label, text)
    if any(value < 1 or value != int(value) for value in values or ()):
        raise UsageError(f"{label} {text}: expected whole numbers from 1 on, separated by commas")
    return None if values is None else [int(value) for value in values]


def chosen(texts: Iterable[str] | None) -> list[Measure]:
    """The measures that `-m` names, each once; the default ones if it was not given.

    The texts are words of the command line: a person wrote them, so `module:name` imports the module.
    """
    from cranfield.measures import DEFAULT, parse_many

    if not texts:
        return list(DEFAULT)
    measures: list[Measure] = []
    for name in measure_names(texts):
        for measure in parse_many(name, modules=True):
            if measure not in measures:
                measures.append(measure)
    return measures


def imported(name: str) -> str:
    """A name of the command line for a function that takes names: `module:name` is imported, and named as it prints."""
    return str(chosen([name])[0]) if ":" in name else name


def score_names(texts: Iterable[str] | None) -> list[str]:
    """The names that `-m` gives, as a file of scores has them: as measures print, others unchanged."""
    names = []
    for name in measure_names(texts) if texts else []:
        try:
            names.append(str(chosen([name])[0]))
        except UsageError:
            names.append(name)
    return names


def measure_names(texts: Iterable[str]) -> list[str]:
    """The names in the values of `-m`; none is an error."""
    from cranfield.measures.naming.parse import names_in

    names = names_in(texts)
    if not names:
        raise UsageError("-m names no measure; give one such as nDCG@10")
    return names


def interval_level(ci: bool, level: float | None) -> float | None:
    """The level of the intervals that `--ci` or `--level` asks for; None without intervals."""
    if level is not None and not 0 < level < 1:
        raise UsageError(f"--level == {level:g}, must be above 0 and below 1, such as 0.95")
    return 0.95 if ci and level is None else level
