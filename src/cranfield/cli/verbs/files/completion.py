"""`cranfield completion`: a script that completes verbs, options and values in a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cranfield.cli import GROUPS, STAND_INS, VERBS, every_verb, find
from cranfield.cli.declare import HELP, Parameter, Verb, argument, declared
from cranfield.cli.printing import emit

SHELLS = ("bash", "zsh", "fish")
BASH = """\
_cranfield() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local verb=${{COMP_WORDS[1]}} second=${{COMP_WORDS[2]}} at=1 words="" known=""
    case "$verb" in
{groups}
    esac
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then words="{verbs}"
    elif (( COMP_CWORD == at )) && [[ $current != -* ]]; then words="$known"
    else
        case "$verb $previous" in
{values}
            *) case "$verb" in
{options}
            esac ;;
        esac
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$current") )
    if [[ ${{#COMPREPLY[@]}} == 0 ]]; then COMPREPLY=( $(compgen -f -- "$current") ); fi
}}
complete -o filenames -F _cranfield cranfield"""
ZSH = """\
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
"""
FISH = """\
function __cranfield_at
    set -l words (commandline -opc)
    set -l verb "$words[2]"
    if test (count $words) -gt 2
        switch "$verb"
{groups}
        end
    end
    test "$verb" = "$argv"
end
complete -c cranfield -n __cranfield_at -f -a '{verbs}'
{words}"""


class CompletionVerb(Verb):
    """Print a script that completes verbs, options and values in a shell.

    The script completes verbs, the options of each verb, values such as formats and tests, and otherwise file names.
    """

    summary = "complete verbs, options and values in a shell"
    examples = """
cranfield completion bash > ~/.local/share/bash-completion/completions/cranfield
cranfield completion zsh >> ~/.zshrc
cranfield completion fish > ~/.config/fish/completions/cranfield.fish
"""

    shell: str = argument("SHELL", "The shell: {names}.", choices=SHELLS, required=True)

    def run(self) -> None:
        emit(fish() if self.shell == "fish" else bash(zsh=self.shell == "zsh"))


def parameters_by_verb() -> dict[str, tuple[Parameter, ...]]:
    """All verbs that take options, as they are called, with their parameters."""
    return {verb: declared(find(verb)) for verb in every_verb()}


def first_words() -> str:
    """The words that may follow `cranfield`."""
    return " ".join([*VERBS, *GROUPS, *STAND_INS, "help"])


def completed(parameter: Parameter) -> tuple[str, ...]:
    """The values to complete; none for a file, as the shell completes file names."""
    return () if parameter.metavar == "FILE" else parameter.values()


def bash(*, zsh: bool = False) -> str:
    """The script for bash; zsh runs the same function."""
    values, options = [], []
    for verb, parameters in parameters_by_verb().items():
        for parameter in parameters:
            if parameter.spellings and (known := completed(parameter)):
                after = "|".join(shlex.quote(f"{verb} {spelling}") for spelling in parameter.spellings)
                values.append(f'            {after}) words="{" ".join(known)}" ;;')
        words = [*HELP, *(spelling for parameter in parameters for spelling in parameter.spellings)]
        words += [value for parameter in parameters if not parameter.spellings for value in parameter.choices]
        options.append(f'                {shlex.quote(verb)}) words="{" ".join(words)}" ;;')
    groups = []
    for word, group in GROUPS.items():
        own = f'        {word}) at=2 known="{" ".join(group.verbs)}"'
        if group.default:
            verbs = "|".join(group.verbs)
            own += f' verb="{word} {group.default}"; case "$second" in {verbs}) verb="{word} $second"; esac'
        else:
            own += f' verb="{word} $second"'
        groups.append(f"{own} ;;")
    script = BASH.format(
        verbs=first_words(), groups="\n".join(groups), values="\n".join(values), options="\n".join(options)
    )
    return ZSH + script if zsh else script


def fish() -> str:
    """The script for fish."""
    groups, words = [], []
    for word, group in GROUPS.items():
        groups.append(f"            case {word}")
        if group.default:
            groups.append(f'                set verb "{word} {group.default}"')
            groups.append(f'                contains -- "$words[3]" {" ".join(group.verbs)}')
            groups.append(f'                and set verb "{word} $words[3]"')
        else:
            groups.append(f'                set verb "{word} $words[3]"')
        alone = "" if group.default else " -f"
        words.append(f"complete -c cranfield -n '__cranfield_at {word}'{alone} -a '{' '.join(group.verbs)}'")
    lines = [FISH.format(verbs=first_words(), groups="\n".join(groups), words="\n".join(words))]
    for verb, parameters in parameters_by_verb().items():
        lines += [f"complete -c cranfield -n '__cranfield_at {verb}' {text}" for text in _fish(parameters)]
    return "\n".join(lines)


def _fish(parameters: tuple[Parameter, ...]) -> Iterator[str]:
    yield "-l help -s h -d 'Show the help'"
    yield "-l help-all -d 'Show all of the help'"
    for parameter in parameters:
        known = completed(parameter)
        values = f" -a {shlex.quote(' '.join(known))}" if known else ""
        if not parameter.spellings:
            if values:
                yield f"-f{values}"
            continue
        names = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in parameter.spellings
        )
        takes = "" if parameter.kind == "bool" else " -x" if values else " -r"
        yield f"{names}{takes}{values} -d {shlex.quote(parameter.described())}"
