"""How a verb is declared: a class whose fields are its arguments and options, with a method `run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from importlib import import_module
from typing import Any, ClassVar

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

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False, match_args=False)(cls)  # generating no code, it starts faster

    def __init__(self, **values: Any) -> None:
        for parameter in declared(type(self)):
            setattr(self, parameter.name, values.get(parameter.name, parameter.default))

    def values(self, *names: str) -> dict[str, Any]:
        """Some options by name, for a function whose parameters have the same names."""
        return {name: getattr(self, name) for name in names}

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

    def check_written(self) -> None:
        """Raise an `InputLost` if a file to write is also an input, which the result would replace."""
        paths = {parameter: _paths(getattr(self, parameter.name)) for parameter in declared(type(self))}
        inputs = [path for one, named in paths.items() if one.is_input for path in named]
        for one, named in paths.items():
            if one.writes and any(_same_file(path, other) for path in named for other in inputs):
                raise InputLost(f"{one.label} {named[0]} is an input, which would be lost; name another file")

    def perform(self) -> int | None:
        """Do all the work; return the exit code, where None is 0."""
        return self.run()

    @classmethod
    def failed(cls, words: Sequence[str], error: Exception) -> None:
        """Tell other programs that there is no result, and why; `words` are those of the command line."""

    def run(self) -> int | None:
        """Do the work; return the exit code, where None is 0."""
        raise NotImplementedError


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
    own = verb.__annotations__
    parameters = [
        replace(
            one.metadata["parameter"],
            name=one.name,
            kind=str(one.type).partition(" ")[0].partition("[")[0],
            default=None if one.default is MISSING else one.default,
            **({"reads": True, "solves": f"{one.name}="} if one.metadata["parameter"].group == SIDE else {}),
            **({"writes": True} if _is_result(one.metadata["parameter"]) else {}),
        )
        for one in fields(verb)
    ]
    parameters.sort(key=lambda one: bool(one.spellings) or (one.name not in own and 0.5))
    return _DECLARED.setdefault(verb, tuple(parameters))
