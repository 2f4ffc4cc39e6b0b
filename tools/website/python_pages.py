"""Pages of the Python interface: the public names of each package, with signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import cranfield
from cranfield.measures.base import Measure
from website import text
from website.staging import write

FOLDER = "reference/python"
PACKAGES = (
    *("evaluation", "views", "assessed", "scores", "fairness", "comparison", "comparison.gate", "meta"),
    *("building.topic_sets", "building.agreement", "building.merging", "building.effect", "fusion"),
    *("online.logs", "online.log_measures", "online.log_measures.satisfaction"),
    *("online.experiments", "online.interleaving", "online.clicks", "online.calibration", "online.policies"),
    *("online.prediction", "online.engines", "answers", "answers.sessions", "report.figures"),
)
"""The packages with a page. Those that replace other packages have the interface of what they replace."""


def write_pages(folder: Path) -> dict[str, str]:
    """Write the pages of all packages, and the page that lists them; return {package: path}."""
    paths = {"cranfield": f"{FOLDER}/cranfield.md"}
    write(folder / paths["cranfield"], package_text(cranfield, sorted(cranfield._HOMES)))
    for name in PACKAGES:
        module = import_module(f"cranfield.{name}")
        paths[module.__name__] = f"{FOLDER}/{text.slug(name)}.md"
        write(folder / paths[module.__name__], package_text(module, sorted(module.__all__)))
    write(folder / FOLDER / "index.md", index(paths))
    return paths


def index(paths: dict[str, str]) -> str:
    rows = [
        (f"[`{name}`]({Path(path).name})", first_line(import_module(name)).rstrip(".")) for name, path in paths.items()
    ]
    return text.page(
        "# Python",
        "[The Python interface](../../python.md) explains it from one call to a measure of your own. The pages below "
        "list the public names of each package. The names of `cranfield` itself are enough to evaluate and compare; "
        "all [measures](../measures/index.md) are there too, as `cranfield.nDCG` and so on.",
        text.table(["package", "what it has"], rows),
    )


def first_line(thing: Any) -> str:
    """The first paragraph of a docstring, in a line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def package_text(module: ModuleType, names: list[str]) -> str:
    """The page of a package."""
    things = {name: getattr(module, name) for name in names}
    things = {name: thing for name, thing in things.items() if not _is_measure(thing)}
    shown = {name: thing for name, thing in things.items() if inspect.isclass(thing) or inspect.isroutine(thing)}
    rows = [(f"[`{name}`](#{anchor(name)})", text.plain(first_line(thing))) for name, thing in shown.items()]
    parts = [f"# {module.__name__}", text.from_docstring(inspect.getdoc(module) or ""), text.table(["name", ""], rows)]
    for name, thing in shown.items():
        parts += described(name, thing)
    others = [f"`{name}`" for name in things if name not in shown]
    parts.append(f"Constants: {', '.join(others)}" if others else "")
    return text.page(*parts)


def _is_measure(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, Measure)


def anchor(name: str) -> str:
    """The anchor that mkdocs gives to a heading of code."""
    return re.sub(r"[^\w-]", "", name.lower())


def described(name: str, thing: Any) -> list[str]:
    """The signature and docstring of a function or class, with the methods of the class."""
    doc = text.from_docstring(inspect.getdoc(thing) or "")
    parts = [f"## `{name}`", text.code(signature(name, thing), "python"), doc]
    if not inspect.isclass(thing) or issubclass(thing, Exception):
        return parts
    rows = []
    for method, value in sorted(vars(thing).items()):
        if method.startswith("_") or not (callable(value) or isinstance(value, property | classmethod | staticmethod)):
            continue
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        call = f"`{method}`" if isinstance(value, property) else f"`{method}{short_signature(function)}`"
        rows.append((call, text.plain(first_line(value))))
    return [*parts, text.table(["method or property", ""], rows)]


def signature(name: str, thing: Any) -> str:
    """How a thing is called; on several lines if it is long."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return name
    shown = [re.sub(r"<[^>]*>", "...", unquoted(str(each))) for each in parameters if each.name != "self"]
    if any(each.kind is each.KEYWORD_ONLY for each in parameters) and not any(word.startswith("*") for word in shown):
        shown.insert(next(n for n, each in enumerate(parameters) if each.kind is each.KEYWORD_ONLY), "*")
    line = f"{name}({', '.join(shown)})"
    return line if len(line) <= 88 else f"{name}(\n" + "".join(f"    {word},\n" for word in shown) + ")"


def unquoted(parameter: str) -> str:
    """A parameter whose type is not in quotes.

    >>> unquoted("how: 'str | None' = 'first'")
    "how: str | None = 'first'"
    """
    return re.sub(r"""^(\**\w+): (['"])(.*?)\2(?= = |$)""", r"\1: \3", parameter)


def short_signature(function: Any) -> str:
    """The names of the parameters, with ... for those that have a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "()"
    words = []
    for each in parameters:
        if each.name in ("self", "cls"):
            continue
        star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        words.append(f"{star}{each.name}" + ("" if each.default is each.empty else "=..."))
    return f"({', '.join(words)})"
