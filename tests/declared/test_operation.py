"""Settings are declared once, in signatures: calls are checked, and options and schemas follow."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict, Unpack

import pytest

from cranfield.cli import every_verb, find
from cranfield.cli.declare import Verb, _option_of, declared, operation_settings
from cranfield.declared.operation import Level, Seed, about, declared_settings, operation, schema_of, settings_of
from cranfield.declared.settings import Setting
from cranfield.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
VERBS = [verb for verb in every_verb() if find(verb).operation]


class Steps(TypedDict, total=False):
    steps: Annotated[int, about("The largest number of steps.", 1000, least=1, only="em")]
    seed: Annotated[Seed, about("Seed of the starts.", 7)]


@operation
def draw(
    data: Any,
    kind: Annotated[str, about("The kind: {names}.", choices=("plain", "odd"))] = "plain",
    *,
    sizes: Annotated[int | Sequence[int] | None, about("The sizes.", least=1)] = None,
    share: Annotated[float, about("The share.", above=0, most=1)] = 0.5,
    level: Level = 0.95,
    many: Annotated[int, about("How many are drawn.", least=1, most=5_000_000)] = 10,
    **settings: Unpack[Steps],
) -> dict[str, Any]:
    """Draw something. More about it."""
    return {"sizes": sizes, "share": share, **settings}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "even"}, "draw: kind == 'even', must be one of 'plain', 'odd'"),
        ({"sizes": [3, 0]}, "draw: sizes == 0, must be a whole number, 1 or more"),
        ({"sizes": 2.5}, "draw: sizes == 2.5, must be a whole number, 1 or more"),
        ({"share": 0}, "draw: share == 0, must be above 0 and at most 1"),
        ({"share": float("nan")}, "draw: share == nan, must be a number"),
        ({"share": None}, "draw: share == None, must be a number"),
        ({"level": 1}, "draw: level == 1, must be above 0 and below 1"),
        ({"many": 0}, "draw: many == 0, must be a whole number, 1 or more"),
        ({"many": True}, "draw: many == True, must be a whole number, 1 or more"),
        ({"many": 10**9}, "draw: many == 1000000000, must be at most 5,000,000"),
        ({"steps": 0}, "draw: steps == 0, must be a whole number, 1 or more"),
    ],
)
def test_a_call_with_a_value_that_is_not_allowed_is_an_error(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        draw([], **given)
    assert str(error.value) == message


def test_values_by_place_are_checked_as_values_by_name() -> None:
    with pytest.raises(UsageError, match="kind == 'even'"):
        draw([], "even")


def test_a_misspelled_setting_is_an_error_as_of_any_function() -> None:
    with pytest.raises(TypeError, match=r"draw\(\) got an unexpected keyword argument 'stepz'"):
        draw([], stepz=5)  # type: ignore[call-arg]


def test_what_is_allowed_is_passed_on_as_it_is() -> None:
    assert draw([], "odd", sizes=(1, 2), share=1, steps=3) == {"sizes": (1, 2), "share": 1, "steps": 3}
    assert draw([], sizes=None) == {"sizes": None, "share": 0.5}


def test_settings_have_their_default_kind_and_sentence() -> None:
    settings = settings_of(draw)
    assert list(settings) == ["kind", "sizes", "share", "level", "many", "steps", "seed"]
    kinds = [setting.kind for setting in settings.values()]
    assert kinds == ["str", "ints", "float", "float", "int", "int", "int"]
    assert [setting.default for setting in settings.values()] == ["plain", None, 0.5, 0.95, 10, 1000, 7]
    assert settings["seed"].summary == "Seed of the starts."
    assert declared_settings(Steps)["steps"].only == "em"


def test_a_schema_describes_the_settings() -> None:
    schema = schema_of(draw)
    assert schema["title"] == "draw"
    assert schema["description"] == "Draw something. More about it."
    assert schema["properties"]["kind"]["enum"] == ["plain", "odd"]
    assert schema["properties"]["sizes"]["items"] == {"minimum": 1, "type": "integer"}
    assert schema["properties"]["share"]["exclusiveMinimum"] == 0
    assert schema["properties"]["steps"]["default"] == 1000
    json.dumps(schema)


def test_the_options_of_verbs_are_those_of_their_operations() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "make_operations.py", "--check"], capture_output=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_passes_the_defaults_of_its_operation(verb: str) -> None:
    """Without an option, each setting has its default; those for some methods only are left to the method."""
    kind = find(verb)
    required = {parameter.name: "" for parameter in declared(kind) if parameter.required}
    passed = kind(**required).settings()
    settings = operation_settings(kind.operation)
    own = vars(kind).get("__annotations__", {})
    for name, value in passed.items():
        assert not settings[name].only, name
        if name not in own and name not in required:
            assert value == settings[name].default, name


def test_the_option_of_a_setting_that_is_true_turns_it_off() -> None:
    white = _option_of("white_space", Setting(True, "Count white space.", kind="bool"))
    assert (white.spellings, white.help, white.default) == (("--no-white-space",), "Do not count white space.", False)
    about_pairs = Setting(True, "Keep pairs.", kind="bool", spelled="--first", off="Keep only the first of a pair.")
    assert (_option_of("pairs", about_pairs).spellings, _option_of("pairs", about_pairs).help) == (
        ("--first",),
        "Keep only the first of a pair.",
    )


def test_a_setting_must_not_be_hidden_by_an_inherited_option_with_other_values() -> None:
    hidden = runpy.run_path(str(ROOT / "tools" / "make_operations.py"))["hidden"]
    orders = Setting("found", "The order of rows.", choices=("found", "alone"))
    (fault,) = hidden(find("pool contributions"), {"order": orders})  # which inherits --order score|rank|file
    assert "the setting 'order' of building.pools.pool_coverage:pool_contributions has no option" in fault
    assert "rename the setting" in fault
    assert not any(hidden(find(verb), operation_settings(find(verb).operation)) for verb in VERBS)


def test_an_operation_that_is_not_listed_says_which_tool_lists_it() -> None:
    class NewVerb(Verb, of="meta.stability.new:new"):
        """New."""

    with pytest.raises(UsageError, match=r"operations.json does not list meta.stability.new:new; run: python tools/ma"):
        declared(NewVerb)


def test_the_options_of_settings_are_read_as_their_values() -> None:
    class TryVerb(Verb, of="meta.stability.swap:swap_rates"):
        """Try."""

    names = {parameter.name: parameter.label for parameter in declared(TryVerb)}
    assert names["replacement"] == "--disjoint"
    values = TryVerb(replacement=True, sizes="3, 5", rate=0.1).settings()
    assert (values["replacement"], values["sizes"], values["rate"]) == (False, [3, 5], 0.1)
    with pytest.raises(UsageError, match=r"--size 3;5: expected whole numbers separated by commas"):
        TryVerb(sizes="3;5").settings()
    with pytest.raises(UsageError, match=r"--size 2.5: expected whole numbers"):
        TryVerb(sizes="2.5").settings()
