"""A page for each verb of the command line, from its declarations."""

from __future__ import annotations

from pathlib import Path

from cranfield.cli import GROUPS, SECTIONS, STAND_INS, find, summary_of
from cranfield.cli.declare import OPTIONS, RARE, RESULT, Parameter, Verb, declared
from cranfield.cli.parser import call_line, spelled
from website import text
from website.staging import write

FOLDER = "reference/commands"
STAND_INS_TITLE = "Instead of other programs"


def write_pages(folder: Path) -> dict[str, str]:
    """Write the pages of all verbs, groups and stand-ins, and the page that lists them; return {verb: path}."""
    pages = {}
    for word in (word for words in SECTIONS.values() for word in words):
        if word in GROUPS:
            pages[word] = group_text(word)
            pages |= {f"{word} {verb}": verb_text(f"{word} {verb}") for verb in GROUPS[word].verbs}
        else:
            pages[word] = verb_text(word)
    pages |= {word: stand_in_text(word) for word in STAND_INS}
    paths = {word: f"{FOLDER}/{text.slug(word)}.md" for word in pages}
    for word, content in pages.items():
        write(folder / paths[word], content)
    write(folder / FOLDER / "index.md", index())
    return paths


def verb_text(name: str) -> str:
    """The page of a verb."""
    verb = find(name)
    first, *paragraphs = (verb.__doc__ or "").strip().split("\n\n")
    parameters = declared(verb)
    sections = {"Arguments": [parameter for parameter in parameters if not parameter.spellings]}
    for group in (OPTIONS, RESULT, *RARE):
        sections[group] = [parameter for parameter in parameters if parameter.spellings and parameter.group == group]
    parts = []
    for title, part in sections.items():
        if part:
            parts += [f"## {title}", text.table(["", "meaning", "default"], map(row, part))]
    return text.page(
        f"# cranfield {name}",
        text.plain(" ".join(first.split())),
        text.code(call_line(verb, f"cranfield {name}").removeprefix("usage: "), "text"),
        *(text.plain(" ".join(paragraph.split())) for paragraph in paragraphs),
        "## Examples",
        text.code(examples(verb), "sh"),
        *parts,
    )


def row(parameter: Parameter) -> tuple[str, str, str]:
    default = parameter.default
    return (
        f"`{spelled(parameter).rstrip()}`",
        text.plain(parameter.described()) + (" Required." if parameter.required and parameter.spellings else ""),
        "" if default in (None, False) else f"`{default}`",
    )


def examples(verb: type[Verb]) -> str:
    """The examples, with aligned comments."""
    lines = [line.partition("  #") for line in verb.examples.strip().splitlines()]
    return "\n".join(f"{command}  # {comment.strip()}" if comment else command for command, _, comment in lines)


def group_text(word: str) -> str:
    """The page of a group of verbs."""
    group = GROUPS[word]
    rows = [
        (f"[`cranfield {word} {verb}`]({text.slug(f'{word} {verb}')}.md)", text.plain(find(f"{word} {verb}").summary))
        for verb in group.verbs
    ]
    default = f"`cranfield {word}` alone means `cranfield {word} {group.default}`." if group.default else ""
    title = f"{group.title[:1].upper()}{group.title[1:]}"
    return text.page(
        f"# cranfield {word}", text.plain(title + ("" if title.endswith("?") else ".")), text.code(group.example, "sh"),
        text.table(["verb", "what it does"], rows), default,
    )  # fmt: skip


def stand_in_text(word: str) -> str:
    """The page of a verb that replaces another program."""
    summary, example = STAND_INS[word]
    return text.page(
        f"# cranfield {word}",
        f"{summary[:1].upper()}{summary[1:]}.",
        text.code(example, "sh"),
        "All words after the name are passed on unchanged, so its options are those of the program that it replaces.",
    )


def _summary(word: str) -> str:
    return STAND_INS[word][0] if word in STAND_INS else summary_of(word)[0]


def index() -> str:
    """The list of all verbs."""
    parts = [
        "# Command line",
        "`cranfield VERB --help` prints the options of a verb that are used most, and `--help-all` prints all of them. "
        "The pages below have all options.",
    ]
    for title, words in (*SECTIONS.items(), (STAND_INS_TITLE, STAND_INS)):
        rows = [
            (f"[`cranfield {word}`]({text.slug(word)}.md)", text.plain(_summary(word).partition("; see:")[0]))
            for word in words
        ]
        parts += [f"## {title}", text.table(["verb", "what it does"], rows)]
    return text.page(*parts)
