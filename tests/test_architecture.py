"""The flow of data is the order of the rooms: a module imports only from those above it."""

import ast
from pathlib import Path

import pytest

import cranfield

ROOMS = [
    "errors", "check", "_core",
    "collection",
    "segments", "by_rank", "by_dimension",
    "lengths", "groups", "sampling",
    "intent_files", "intents",
    "assessed",
    "tied_orders", "views",
    "hits_by_intent", "intent_views",
    "join_options", "joined_runs", "joining", "judged_documents",
    "measures",
    "aggregate", "table", "risk", "score_files", "score_labels", "scores",
    "evaluation", "residuals", "pool_bias",
    "fairness", "dimensions",
    "explained_intents", "explanation",
    "samples",
    "comparison",
    "meta",
    "report",
    "compat",
    "cli", "__main__",
]  # fmt: skip

PACKAGE = Path(cranfield.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room(dotted: str) -> str:
    return dotted.split(".")[1]


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("cranfield.")}
        elif isinstance(node, ast.ImportFrom) and node.module == "cranfield":
            found |= {f"cranfield.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cranfield."):
            found.add(node.module)
    return {name for name in found if room(name) in ROOMS}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rooms_above_it(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert own in ROOMS, f"{path.name}: say in ROOMS where {own} stands in the flow"
    below = {name for name in imported(path) if ROOMS.index(room(name)) > ROOMS.index(own)}
    assert not below, f"{own} imports from below: {sorted(below)}"
