"""Imports follow the flow of data: a module imports from its own folder and those above it in CONTRIBUTING.md."""

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import cranfield

MOST_LOOSE_MODULES = 8
PACKAGE = Path(cranfield.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
TABLE = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text("utf-8").partition("Outside the package")[0]
ORDER = [
    re.sub(r"/$|\.py$", "", name)
    for row in re.findall(r"^\| (`.*?) \|", TABLE, re.MULTILINE)
    for name in re.findall(r"`([^`]*)`", row)
]
"""Every folder and loose module of the package, in the order of the flow of data."""
BELOW = {
    ("record", "report/figures"): "a result draws its own figure",
    ("report/figures", "report/figures/draw"): "a figure is data, and is drawn on demand",
    ("collection", "collection/file_formats"): "the functions for users read and write all formats",
    ("collection", "collection/tables"): "files of teams, shards and other lists are small tables",
    ("measures", "measures/naming"): "tables of properties are asked by the name of a measure",
    ("measures/several_needs", "measures/naming"): "the measure inside CAM and MM may be given by its name",
    ("comparison", "comparison/methods"): "the functions for users call the tests, which are registered here",
    ("building/merging", "building/merging/models"): "the registry loads its methods",
    ("online", "online/engines"): "a rule for the users of a log, counted on its engine",
    ("online/clicks", "online/clicks/models"): "the registry loads its models",
    ("cli", "cli/options"): "printed scores name the options of a verb",
    ("collection", "building/topic_sets"): "the functions for users choose topics and plan studies",
    ("meta", "online/prediction"): "the functions for users compare measures with live traffic",
    ("meta/study", "papers"): "a step of a study computes the worked examples of a text",
}
"""{(folder, folder below it that it imports from): why}."""


def path_in_package(path: Path) -> str:
    """`meta/agreement/overlap` for a module, `meta/agreement` for the `__init__.py` of a folder."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return name.removesuffix("/__init__")


NAMES = {path_in_package(path) for path in MODULES}
FOLDERS = {path_in_package(path) for path in MODULES if path.name == "__init__.py"}


def folder_of(name: str) -> str:
    """The folder of a module, or the module itself if it is loose."""
    return name if name in FOLDERS else name.rpartition("/")[0] or name


def module_of(dotted: str) -> str:
    """The module in a dotted name such as `meta.agreement.overlap.rbo`; empty if there is none."""
    name = dotted.replace(".", "/")
    while name and name not in NAMES:
        name = name.rpartition("/")[0]
    return name


def names_in_text(text: str) -> set[str]:
    """What is imported later: `cranfield.a.b`, also as the beginning of a longer name, and `a.b:name`."""
    if match := re.fullmatch(r"cranfield\.([\w.]+)", text):
        return {match[1]}
    match = re.fullmatch(r"([a-z_][\w.]*):[A-Za-z_]\w*( .*)?", text)
    return {match[1]} if match and module_of(match[1]) == match[1].replace(".", "/") else set()


def imported(path: Path) -> set[str]:
    """The modules of the package that a module imports, or names in a text."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.removeprefix("cranfield.") for alias in node.names if alias.name != "cranfield"}
        elif isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("cranfield."):
            names |= {f"{node.module}.{alias.name}".removeprefix("cranfield.") for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= names_in_text(node.value)
    return {module_of(name) for name in names} - {""}


@cache
def below(path: Path) -> dict[tuple[str, str], str]:
    """What a module imports from folders below its own; the names of a folder may come from the folders in it."""
    own, found = folder_of(path_in_package(path)), {}
    for name in imported(path):
        folder = folder_of(name)
        in_it = path.name == "__init__.py" and folder.startswith(f"{own}/")
        if ORDER.index(folder) > ORDER.index(own) and not in_it:
            found[own, folder] = name
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_own_folder_and_folders_above(path: Path) -> None:
    own = folder_of(path_in_package(path))
    assert own in ORDER, f"{path.name}: add {own}/ to the table of CONTRIBUTING.md, at its place in the flow of data"
    wrong = {name for pair, name in below(path).items() if pair not in BELOW}
    assert not wrong, f"{own} imports from folders below it: {sorted(wrong)}"


def test_every_exception_is_needed() -> None:
    assert BELOW.keys() == {pair for path in MODULES for pair in below(path)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cranfield.report.figures.draw.", "report.figures.draw."),  # the beginning of an f-string
        ("cranfield.record", "record"),
        ("meta.stability.swap:swap_rates", "meta.stability.swap"),
        ("meta.agreement.coefficients:COEFFICIENTS d-rank", "meta.agreement.coefficients"),
    ],
)
def test_modules_in_texts_are_imports(text: str, name: str) -> None:
    assert names_in_text(text) == {name}
    assert module_of(name)


def test_other_texts_are_no_imports() -> None:
    assert not names_in_text("topic:doc") | names_in_text("see cranfield.record") | names_in_text("note: none")


def test_there_are_few_loose_modules() -> None:
    loose = [path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("_")]
    assert len(loose) <= MOST_LOOSE_MODULES, loose


def test_no_two_modules_share_a_name() -> None:
    """Exempt are files named after verbs or groups of verbs, and after modules of ir_measures."""
    exempt = {"verbs", "operations", "ir_measures"}
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


LAZY = [path for path in MODULES if re.search("^_MODULE = |__dir__ = names_of", path.read_text("utf-8"), re.MULTILINE)]


@pytest.mark.parametrize("path", LAZY, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_names_that_are_imported_on_first_use_are_there(path: Path) -> None:
    """A module that is renamed does not take public names with it."""
    package = importlib.import_module(f"cranfield.{path_in_package(path).replace('/', '.')}")
    names = getattr(package, "_MODULE", None) or package._HOMES
    assert all(getattr(package, name) is not None for name in names)


@pytest.mark.parametrize("path", [PACKAGE / "__init__.py", *LAZY], ids=lambda path: str(path.relative_to(PACKAGE)))
def test_editors_know_the_names_that_are_imported_on_first_use(path: Path) -> None:
    """They are imported where only a type checker reads them, from the same modules."""
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    package = importlib.import_module(module)
    homes = package.__dict__.get("_HOMES", {})
    tree = ast.parse(path.read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.col_offset == 4]
    seen = {alias.asname: f"{node.module}:{alias.name}" for node in imports for alias in node.names if alias.asname}
    wanted = {name: f"cranfield.{home}" for name, home in homes.items()}
    folders = {name: ":".join(home.rsplit(".", 1)) for name, home in wanted.items() if ":" not in home}
    assert not homes or seen == wanted | folders
