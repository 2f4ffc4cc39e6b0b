"""List functions, classes, methods, fields and constants of the package that nothing but tests reads.

    python tools/unused.py        # a line for each; the exit code is 1 if there are any

A name counts as used if it occurs in the package outside its own definitions: in code, in a text, in a template or a
script of a page. It also counts if it is public: in `__all__`, or in README.md, docs/, bench/, fuzz/ or tools/. Names
are compared as words, so that a name with a namesake is not found; what is found is certain.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "cranfield"
READERS = ("README.md", "docs", "bench", "fuzz", "tools")
"""Where users and programs of the project read public names."""
CALLED_BY_OTHERS = re.compile(r"__\w+__|handle_\w+|wait_closed|startup|draw_\w+|\w+Verb")
"""Names that Python and its libraries call; kinds of figures and verbs are found by their names."""
OF_ORIGINALS = ("compat",)
"""Rooms whose names are those of another program."""
KEPT = {
    "page_log_likelihood": "tests hold the fits of click models against it",
    "power_of": "tests hold the numbers of users against it",
    "check_layer": "for Python users who run several experiments at once",
    "credit_low": "a column, found by the name of its estimate",
    "credit_high": "a column, found by the name of its estimate",
    "p_users": "a column, found by its heading",
    "LEVEL_MODULES": "importing these modules registers their measures",
}
"""Names that nothing but tests reads, and why they stay."""
WORD = re.compile(r"[^\W\d]\w*")


def defined(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a module defines, each with its line."""
    for node in ast.walk(tree):
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if named and not any(registers(decorator) for decorator in node.decorator_list):
            yield node.name, node.lineno
        if isinstance(node, ast.Module | ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    if "column(" not in ast.unparse(statement.annotation):  # a column of a record is shown
                        yield statement.target.id, statement.lineno
                elif isinstance(statement, ast.Assign):
                    yield from ((t.id, statement.lineno) for t in statement.targets if isinstance(t, ast.Name))


def registers(decorator: ast.expr) -> bool:
    """Whether a decorator may keep what it decorates, so that it is used without its name."""
    name = ast.unparse(decorator).partition("(")[0]
    return name not in ("property", "cached_property", "staticmethod", "classmethod", "dataclass", "cache", "operation")


def words_of(path: Path) -> Counter[str]:
    """How often each word occurs in a file; in Python, docstrings do not count."""
    text = path.read_text("utf-8")
    words = Counter(WORD.findall(text))
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            statements = getattr(node, "body", None)
            for statement in statements if isinstance(statements, list) else ():
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    words.subtract(WORD.findall(str(statement.value.value)))
    return words


def main() -> int:
    modules = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    definitions = {
        path: [] if path.relative_to(PACKAGE).parts[0] in OF_ORIGINALS else list(defined(tree))
        for path, tree in modules.items()
    }
    times_defined = Counter(name for names in definitions.values() for name, _ in names)
    pages = [path for path in PACKAGE.rglob("*") if path.suffix in (".html", ".js", ".json")]
    occurrences: Counter[str] = sum((words_of(path) for path in (*modules, *pages)), Counter())
    read: set[str] = set()
    for reader in READERS:
        place = ROOT / reader
        files = [place] if place.is_file() else [p for p in place.rglob("*") if p.suffix in (".md", ".py")]
        read |= {word for path in files for word in WORD.findall(path.read_text("utf-8"))}
    unused = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, names in definitions.items()
        for name, line in names
        if name not in KEPT
        and occurrences[name] <= times_defined[name]
        and name not in read
        and not CALLED_BY_OTHERS.fullmatch(name)
    ]
    print("\n".join(unused) or "nothing is unused")
    return 1 if unused else 0


if __name__ == "__main__":
    sys.exit(main())
