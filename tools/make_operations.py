"""Write src/cranfield/declared/operations.json: the settings of every operation that a verb calls.

    python tools/make_operations.py            # after a change of a setting in a signature
    python tools/make_operations.py --check    # fails if the file is out of date

The command line reads its options from this file, and so it starts without importing the operations.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import fields
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from typing import Any

from cranfield.cli import every_verb, find
from cranfield.cli.declare import Verb
from cranfield.declared.operation import settings_of
from cranfield.declared.settings import NO_DEFAULT, Setting

LISTED = Path(__file__).resolve().parent.parent / "src" / "cranfield" / "declared" / "operations.json"


def entry(setting: Setting) -> dict[str, Any]:
    """The fields of a setting that say something, in their order."""
    values = {field.name: (getattr(setting, field.name), field.default) for field in fields(setting)}
    return {
        name: value
        for name, (value, usual) in values.items()
        if value is not NO_DEFAULT and value != usual and not (isinstance(value, float) and math.isinf(value))
    }


def hidden(verb: type[Verb], settings: dict[str, Setting]) -> list[str]:
    """The settings whose options are replaced by an inherited one that takes other values, which is not meant."""
    inherited = {field.name: field for field in fields(verb) if field.name not in get_annotations(verb)}
    return [
        f"the setting {name!r} of {verb.operation} has no option, as {verb.__name__} inherits "
        f"{field.metadata['parameter'].label}: rename the setting, or declare the field {name!r} in {verb.__name__}"
        for name, field in inherited.items()
        if name in settings and "parameter" in field.metadata
        if tuple(field.metadata["parameter"].choices) != tuple(settings[name].choices)
        or field.default != settings[name].default
    ]


def listed() -> str:
    """The text of the file."""
    operations = {}
    verbs = [find(verb) for verb in every_verb()]
    for home in sorted({home for verb in verbs for home in (verb.operation, *verb.other_operations)} - {""}):
        module, _, name = home.partition(":")
        function = getattr(import_module(f"cranfield.{module}"), name)
        settings = settings_of(function)
        faults = [fault for verb in verbs if verb.operation == home for fault in hidden(verb, settings)]
        if faults:
            sys.exit("\n".join(faults))
        operations[home] = {name: entry(setting) for name, setting in settings.items()}
    return json.dumps(operations, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    text = listed()
    if "--check" not in sys.argv[1:]:
        LISTED.write_text(text, "utf-8")
        return 0
    fresh = LISTED.read_text("utf-8") == text
    if not fresh:
        print(f"{LISTED.name} is out of date; run: python tools/make_operations.py")
    return 0 if fresh else 1


if __name__ == "__main__":
    sys.exit(main())
