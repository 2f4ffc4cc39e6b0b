"""Modules that moved can still be imported by their old names, with a warning."""

import importlib
import subprocess
import sys

import pytest

from cranfield._moved import MOVED


@pytest.mark.parametrize(("old", "new"), sorted(MOVED.items()))
def test_an_old_module_name_warns_and_gives_the_objects_of_the_new_module(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"cranfield.{old}", raising=False)
    with pytest.warns(DeprecationWarning, match=f"cranfield.{old} has moved to cranfield.{new}"):
        module = importlib.import_module(f"cranfield.{old}")
    target = importlib.import_module(f"cranfield.{new}")
    public = [name for name in vars(target) if not name.startswith("_")]
    assert public
    for name in public:
        assert getattr(module, name) is getattr(target, name)


def test_an_old_module_name_is_an_attribute_of_the_package() -> None:
    code = "import cranfield; print(cranfield.lengths.__name__)"
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "cranfield.lengths\n"
    assert "cranfield.lengths has moved to cranfield.assessed.lengths" in done.stderr


def test_an_old_module_name_does_not_hide_the_function_of_the_same_name() -> None:
    code = "import cranfield.measures, cranfield.measures.parse; print(cranfield.measures.parse('nDCG@10'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "nDCG@10\n"


def test_a_name_that_never_existed_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="nonsense"):
        importlib.import_module("cranfield.nonsense")
