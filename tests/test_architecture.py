"""The order of rooms follows the flow of data: a module imports only from its own room and from rooms above it."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import cranfield

ROOMS = [
    "_start", "_fork", "errors", "types", "text", "_address_space", "check", "declared", "frames", "table", "record",
    "_core",
    "collection",
    "assessed",
    "views",
    "measures",
    "scores",
    "evaluation",
    "fusion",
    "fairness",
    "samples",
    "comparison",
    "meta",
    "building",
    "online",
    "cluster",
    "answers",
    "report",
    "compat",
    "cli",
    "__main__",
]  # fmt: skip
"""Every folder and loose module of the package, in the order of the flow of data."""

MOST_LOOSE_MODULES = 8
PACKAGE = Path(cranfield.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room(dotted: str) -> str:
    return dotted.split(".")[1]


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("cranfield.")}
        elif isinstance(node, ast.ImportFrom) and node.module == "cranfield":
            names |= {f"cranfield.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cranfield."):
            names.add(node.module)
    return {name for name in names if room(name) in ROOMS}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_own_room_and_rooms_above(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert own in ROOMS, f"{path.name}: add {own} to ROOMS, at its place in the flow of data"
    below = {name for name in imported(path) if ROOMS.index(room(name)) > ROOMS.index(own)}
    assert not below, f"{own} imports from rooms below it: {sorted(below)}"


def test_there_are_few_loose_modules() -> None:
    loose = [path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("_")]
    assert len(loose) <= MOST_LOOSE_MODULES, loose


def test_no_two_modules_share_a_name() -> None:
    """Exempt are files named after verbs, after kinds of figures, and after modules of ir_measures."""
    exempt = {"verbs", "draw", "ir_measures"}
    named = [path for path in MODULES if path.name != "__init__.py" and not exempt & set(path.parts)]
    shared = {name: n for name, n in Counter(path.name for path in named).items() if n > 1}
    assert not shared


def test_every_folder_says_what_it_is_for() -> None:
    for path in PACKAGE.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), f"{path} has no docstring"


SHADOWED = """
import importlib, pkgutil, types
import cranfield
for package in pkgutil.walk_packages(cranfield.__path__, "cranfield."):
    if not package.ispkg or package.name.startswith("cranfield.compat."):
        continue  # the stand-in for ir_measures has submodules as public names, as the original
    module = importlib.import_module(package.name)
    own = {found.name for found in pkgutil.iter_modules(module.__path__)}
    for name in own & set(getattr(module, "__all__", ())):
        importlib.import_module(f"{package.name}.{name}")
        if isinstance(getattr(module, name), types.ModuleType):
            print(f"{package.name}.{name}")
"""


def test_no_public_function_is_hidden_by_a_module_of_its_name() -> None:
    done = subprocess.run([sys.executable, "-c", SHADOWED], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_no_container_is_built_again_for_every_item() -> None:
    """`[x for x in xs if x not in set(ys)]` builds the set for every x: the time grows with the square."""
    loops = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
    built = ("set", "list", "tuple", "dict", "sorted", "frozenset")
    found = []
    for path in PACKAGE.rglob("*.py"):
        for loop in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, loops)):
            own = {name.id for part in loop.generators for name in ast.walk(part.target) if isinstance(name, ast.Name)}
            for test in (node for part in loop.generators for node in part.ifs):
                for node in (inner for inner in ast.walk(test) if isinstance(inner, ast.Compare)):
                    right = node.comparators[-1]
                    is_call = isinstance(right, ast.Call) and getattr(right.func, "id", "") in built
                    names = {name.id for name in ast.walk(right) if isinstance(name, ast.Name)}
                    if (is_call or isinstance(right, loops)) and isinstance(node.ops[-1], ast.In | ast.NotIn):
                        found += [f"{path}:{node.lineno}"] if not names & own else []
    assert not found
