"""How a verb is declared: a class whose fields are its arguments and options, with a method `run`.

A verb of an operation, `class SwapVerb(Source, of="meta.stability.swap:swap_rates")`, also has an option for each
setting of that function. They are read from `operations.json`, which `tools/make_operations.py` writes, so that the
command line starts without importing the library.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from cranfield.declared.settings import NO_DEFAULT, Setting
from cranfield.errors import UsageError

OPTIONS, RESULT = "Options", "Output"
READING, RANKING, SIDE = "Reading files", "Ranking documents", "Files that some measures need"
MORE = "Rarely needed options"
MOST_RESAMPLES, MOST_PARTS = 50_000_000, 10_000
"""The largest number of resamples, and of parts that a verb writes or repeats; more would take days."""
RARE = (MORE, SIDE, READING, RANKING)
"""Groups that only `--help-all` shows, in its order."""

HELP = {"-h": False, "--help": False, "--help-all": True}
"""The words that ask for help, and whether they ask for all of it."""


class InputLost(UsageError):
    """A result would replace a file that is read. Nothing may be written, not even that there is no result."""


@dataclass(frozen=True)
class Parameter:
    """An argument or an option of a verb."""

    spellings: tuple[str, ...]
    """The long form first; empty for an argument."""
    help: str
    """`{names}` stands for the choices or names."""
    metavar: str = ""
    group: str = OPTIONS
    choices: tuple[str, ...] = ()
    """The only values allowed."""
    names: str = ""
    """Where the library lists the values, for help and completion: `module:NAME` and plain words, separated by blanks.
    The library checks these values itself, as it knows other spellings."""
    required: bool = False
    reads: bool = False
    """The value is a file to read, where `-` is standard input."""
    writes: bool = False
    """The value is a file to write. Each `FILE` of the group `RESULT` that is not read is one."""
    solves: str = ""
    """A pattern: an error of the library whose message matches it is solved by this option."""
    bare: tuple[str, str] | None = None
    """For an option whose value may be left out: the value it has then, and the pattern of other values."""
    endings: tuple[str, ...] | None = None
    """For a file to write: those of `TABLE_ENDINGS` that it may have; None: any, or the verb checks them itself."""
    most: int = 10_000_000_000
    """The largest whole number; a seed may be any below 2**64."""
    name: str = ""
    kind: str = "str"
    """`bool`, `int`, `float`, `str` or `list`."""
    default: Any = None

    @property
    def is_input(self) -> bool:
        """Is the value the path of something that is read, such as a file or a database?"""
        path = "FILE" in self.metavar if self.spellings else not self.choices and "NAME" not in self.metavar
        return self.reads or (path and not self.writes)

    @property
    def label(self) -> str:
        """The name in messages."""
        return self.spellings[0] if self.spellings else self.metavar

    def values(self) -> tuple[str, ...]:
        """The values that are known in advance."""
        values = list(self.choices)
        for word in self.names.split():
            module, sign, name = word.partition(":")
            listed = getattr(import_module(f"cranfield.{module}"), name) if sign else [word]
            values += listed() if callable(listed) else listed
        return tuple(dict.fromkeys(values))

    def described(self) -> str:
        """The help text, with the known values filled in."""
        if "{names}" not in self.help:
            return self.help
        *first, last = self.values()
        return self.help.replace("{names}", f"{', '.join(first)} or {last}" if first else last)


def argument(metavar: str, help: str, *, required: bool = False, **more: Any) -> Any:
    """A field for a word without a name; a list takes all words that are left."""
    return _field(Parameter((), help, metavar, required=required, **more), MISSING if required else None)


def option(spelled: str, help: str, *, default: Any = None, required: bool = False, **more: Any) -> Any:
    """A field for a value after its name, written as in the help: `option("--test, -t TEST", "The test.")`."""
    spellings, _, metavar = spelled.rpartition(" ")
    parameter = Parameter(tuple(spellings.split(", ")), help, metavar, required=required, **more)
    return _field(parameter, MISSING if required else default)


def flag(spelled: str, help: str, **more: Any) -> Any:
    """A field for a name without a value."""
    return _field(Parameter(tuple(spelled.split(", ")), help, **more), False)


def _field(parameter: Parameter, default: Any) -> Any:
    return field(default=default, metadata={"parameter": parameter})


@dataclass(init=False, repr=False, eq=False)
class Verb:
    """The base of all verbs, and of the groups of options that verbs share; every subclass is a dataclass.

    The docstring of a verb is its help: the first paragraph in `--help`, all of it in `--help-all`.
    """

    summary: ClassVar[str] = ""
    """What the verb does, in a few words, for the overview."""
    examples: ClassVar[str] = ""
    """Command lines, one per line; the overview shows the first."""

    operation: ClassVar[str] = ""
    """The function that the verb calls, as `module:function`; its settings are options."""
    other_operations: ClassVar[tuple[str, ...]] = ()
    """Further functions that the verb calls; their settings are options too."""
    not_options: ClassVar[tuple[str, ...]] = ()
    """Settings of the operation that are no options; a field of the same name replaces the option of a setting."""

    def __init_subclass__(cls, of: str = "") -> None:
        if of:
            cls.operation, *others = of.split()
            cls.other_operations = tuple(others)
        dataclass(init=False, repr=False, eq=False, match_args=False)(cls)  # generating no code, it starts faster

    def __init__(self, **values: Any) -> None:
        for parameter in declared(type(self)):
            setattr(self, parameter.name, values.get(parameter.name, parameter.default))

    def values(self, *names: str) -> dict[str, Any]:
        """Some options by name, for a function whose parameters have the same names."""
        return {name: getattr(self, name) for name in names}

    def settings(self, function: str = "") -> dict[str, Any]:
        """The settings of the operation by name, for its call; fields of the verb replace those of the same name.

        function: the name of another operation of the verb.
        """
        own = {each.name for each in fields(self) if "parameter" in each.metadata}
        homes = (self.operation, *self.other_operations)
        settings = operation_settings(next(home for home in homes if home.endswith(f":{function}" if function else "")))
        return {
            parameter.name: value if parameter.name in own else _passed(parameter, settings[parameter.name], value)
            for parameter in declared(type(self))
            if parameter.name in settings and parameter.name not in self.not_options
            for value in [getattr(self, parameter.name)]
            if value is not None or not settings[parameter.name].only
        }

    def given(self) -> bool:
        """Is there anything to work on? If not, a short usage is printed."""
        return True

    def check(self) -> None:
        """Raise a `UsageError` for options that do not go together, before any work is done."""
        files = [getattr(self, parameter.name) for parameter in declared(type(self)) if parameter.reads]
        paths = [path for value in files for path in (value if isinstance(value, list) else [value]) if path]
        if sum(path.rpartition("=")[2] == "-" for path in paths) > 1:
            raise UsageError("'-' is given more than once, but standard input can be read only once")
        seed = getattr(self, "seed", None)
        if isinstance(seed, int) and not 0 <= seed < 2**64:
            raise UsageError(f"--seed == {seed}, must be a whole number, 0 or more and below 2**64")
        for parameter in declared(type(self)):
            if parameter.endings is not None:
                check_ending(parameter.label, getattr(self, parameter.name), parameter.endings)
        if self.operation:
            self._check_settings()

    def _check_settings(self) -> None:
        """Raise a `UsageError` for a setting that the operation would refuse, before anything is read."""
        from cranfield.declared.operation import check_setting

        settings = all_settings(type(self))
        for parameter in declared(type(self)):
            value = getattr(self, parameter.name)
            if parameter.name in settings and value not in (None, parameter.default):
                check_setting("", parameter.label, value, settings[parameter.name])

    def check_written(self) -> None:
        """Raise an `InputLost` if a file to write is also an input, which the result would replace."""
        paths = {parameter: _paths(getattr(self, parameter.name)) for parameter in declared(type(self))}
        inputs = [path for parameter, named in paths.items() if parameter.is_input for path in named]
        for parameter, named in paths.items():
            if parameter.writes and any(_same_file(path, other) for path in named for other in inputs):
                raise InputLost(f"{parameter.label} {named[0]} is an input, which would be lost; name another file")

    def perform(self) -> int | None:
        """Do all the work; return the exit code, where None is 0."""
        return self.run()

    @classmethod
    def failed(cls, words: Sequence[str], error: Exception) -> None:
        """Tell other programs that there is no result, and why; `words` are those of the command line."""

    def run(self) -> int | None:
        """Do the work; return the exit code, where None is 0."""
        raise NotImplementedError


TABLE_ENDINGS = (".csv", ".tsv", ".json", ".tex", ".md", ".html", ".htm", ".parquet", ".xlsx")
"""The endings of files that name a format of tables."""
DATA_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
"""The endings of files that name a format of runs and judgments."""
FIGURE_ENDINGS = (".svg", ".pdf", ".png")
"""The endings of files that only hold figures."""
OFFICE_ENDINGS = (".doc", ".docx", ".odt", ".ods", ".xls", ".ppt", ".pptx")
"""The endings of files that office programs write, and nothing here."""


def check_ending(label: str, path: str | None, endings: Sequence[str]) -> None:
    """Raise a `UsageError` for a file whose ending names a format that the verb does not write.

    >>> check_ending("--output", "pool.xlsx", [".tsv"])
    Traceback (most recent call last):
    cranfield.errors.UsageError: --output pool.xlsx: .xlsx is not written here; name a file that ends in .tsv
    """
    import os

    ending = os.path.splitext(path or "")[1].lower()
    if ending in (*TABLE_ENDINGS, *FIGURE_ENDINGS, *OFFICE_ENDINGS) and ending not in endings:
        *first, last = [each for each in endings if each != ".htm"] or ["nothing that names a table, such as .txt"]
        known = f"{', '.join(first)} or {last}" if first else last
        raise UsageError(f"{label} {path}: {ending} is not written here; name a file that ends in {known}")


def _is_result(parameter: Parameter) -> bool:
    return parameter.group == RESULT and parameter.metavar == "FILE" and not parameter.reads


def _paths(value: Any) -> list[str]:
    """The files that a value names, patterns filled in; `credibility=FILE` names one too."""
    words = [word for word in (value if isinstance(value, list) else [value]) if isinstance(word, str) and word]
    paths = [part for word in words for part in dict.fromkeys((word, word.rpartition("=")[2]))]
    patterns = [path for path in paths if any(sign in path for sign in "*?[")]
    if not patterns:
        return paths
    from glob import glob

    return [*paths, *(path for pattern in patterns for path in glob(pattern, recursive=True))]


def _same_file(path: str, other: str) -> bool:
    """Whether two paths lead to one regular file, or the first is a file of a log in the folder `other`.

    Devices and pipes may be read and written; and so may a folder that is not a log, such as that of a campaign.
    """
    import os

    if not os.path.isfile(path) or not os.path.exists(other):
        return False
    inside = os.path.dirname(os.path.realpath(path))
    return os.path.samefile(path, other) or (_is_log(other) and inside == os.path.realpath(other))


def _is_log(folder: str) -> bool:
    import os

    return os.path.isdir(folder) and not os.path.exists(os.path.join(folder, "campaign.toml"))


_DECLARED: dict[type[Verb], tuple[Parameter, ...]] = {}


def declared(verb: type[Verb]) -> tuple[Parameter, ...]:
    """The arguments and options of a verb.

    Its own arguments come before those of the groups it inherits. Options of `SIDE` are files to read, and solve errors
    in which the library names the parameter of the same name.
    """
    if verb in _DECLARED:
        return _DECLARED[verb]
    own = inspect.get_annotations(verb)
    known = [each for each in fields(verb) if "parameter" in each.metadata]  # others only say the type of a setting
    parameters = [
        replace(
            each.metadata["parameter"],
            name=each.name,
            kind=str(each.type).partition(" ")[0].partition("[")[0],
            default=None if each.default is MISSING else each.default,
            **({"reads": True, "solves": f"{each.name}="} if each.metadata["parameter"].group == SIDE else {}),
            **({"writes": True} if _is_result(each.metadata["parameter"]) else {}),
        )
        for each in known
    ]
    taken = {*verb.not_options, *(parameter.name for parameter in parameters)}
    parameters += [_option_of(name, setting) for name, setting in all_settings(verb).items() if name not in taken]
    parameters.sort(key=lambda parameter: bool(parameter.spellings) or (parameter.name not in own and 0.5))
    return _DECLARED.setdefault(verb, tuple(parameters))


@cache
def operation_settings(operation: str) -> dict[str, Setting]:
    """The settings of an operation by name; none without an operation."""
    if not operation:
        return {}
    import json
    from pathlib import Path

    from cranfield import declared

    listed = json.loads(Path(declared.__file__).with_name("operations.json").read_text("utf-8"))
    if operation not in listed:
        raise UsageError(f"operations.json does not list {operation}; run: python tools/make_operations.py")
    return {name: Setting(**{"default": NO_DEFAULT, **entry}) for name, entry in listed[operation].items()}


def all_settings(verb: type[Verb]) -> dict[str, Setting]:
    """The settings of all operations of a verb; of two with a name, that of the first."""
    homes = (verb.operation, *verb.other_operations)
    return {name: setting for home in reversed(homes) for name, setting in operation_settings(home).items()}


METAVARS = {"int": "N", "float": "X", "str": "NAME", "ints": "N,N,...", "floats": "X,X,...", "strs": "NAME,..."}


def _option_of(name: str, setting: Setting) -> Parameter:
    """The option for a setting. That of a truth value which is true by default is `--no-NAME`."""
    no = "no-" if setting.default is True else ""
    spelled = setting.spelled or f"--{no}{name.replace('_', '-')} {METAVARS.get(setting.kind, '')}".rstrip()
    spellings, metavar = (spelled, "") if setting.kind == "bool" else spelled.rpartition(" ")[::2]
    required, is_list = setting.default is NO_DEFAULT, setting.kind.endswith("s")
    default = False if setting.kind == "bool" else None if required or setting.only else _written(setting.default)
    if setting.kind == "float" and default is not None:
        default = float(default)  # as the option reads what is typed
    return Parameter(
        tuple(spellings.split(", ")),
        _sentence(setting),
        metavar,
        MORE if setting.rare or setting.only else OPTIONS,
        choices=() if is_list else tuple(setting.choices),
        names=setting.names or (" ".join(setting.choices) if is_list else ""),
        required=required,
        solves=setting.solves,
        most=int(setting.most) if setting.most < 2**63 else Parameter.most,
        name=name,
        kind="str" if is_list else setting.kind or "str",
        default=default,
    )


def _sentence(setting: Setting) -> str:
    """What an option does, what it is for, and the default of a setting that is passed on only if it was given."""
    if setting.default is True:
        return setting.off or f"Do not {setting.summary[:1].lower()}{setting.summary[1:]}"
    if not setting.only:
        return setting.summary
    usual = "" if setting.default in (None, NO_DEFAULT) else f"; default: {_shown(setting.default)}"
    return f"For {setting.only}: {setting.summary[:1].lower()}{setting.summary[1:].removesuffix('.')}{usual}."


def _written(default: Any) -> Any:
    """A default as it would be typed."""
    return ",".join(map(str, default)) if isinstance(default, list) else default


def _shown(default: Any) -> str:
    """A default in a sentence."""
    return f"{default:g}" if isinstance(default, float) else str(_written(default))


def _passed(parameter: Parameter, setting: Setting, value: Any) -> Any:
    """The value of an option as the operation takes it."""
    if setting.kind == "bool":
        return value is not bool(setting.default)
    if not setting.kind.endswith("s") or not isinstance(value, str) or value in setting.choices:
        return value
    words = [word for word in value.replace(",", " ").split() if word]
    if setting.kind == "strs":
        return words
    wanted = "whole numbers" if setting.kind == "ints" else "numbers"
    try:
        numbers: list[Any] = [float(word) for word in words]
        if setting.kind == "ints":
            if any(number != int(number) for number in numbers):
                raise ValueError
            numbers = [int(number) for number in numbers]
    except (ValueError, OverflowError):
        numbers = []
    if not numbers:
        raise UsageError(f"{parameter.label} {value}: expected {wanted} separated by commas")
    return numbers
