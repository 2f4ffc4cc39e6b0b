"""Formulas for a terminal: the LaTeX of a measure's docstring as plain text."""

from __future__ import annotations

import re
import unicodedata

SYMBOLS = {
    "sum": "Σ", "prod": "Π", "cdot": "·", "le": "≤", "ge": "≥", "cap": "∩", "in": "∈", "ldots": "…", "alpha": "α",
    "beta": "β", "gamma": "γ", "epsilon": "ε", "lfloor": "⌊", "rfloor": "⌋", "qquad": "\n", "quad": "\n", "left": "",
    "right": "", "infty": "∞", "times": "×", "pi": "π", "Big": "", "big": "", "bigl": "", "bigr": "", "Bigl": "",
    "Bigr": "", "mid": "|", "lambda": "λ", "tau": "τ", "omega": "ω", "cup": "∪", "ne": "≠", "emptyset": "∅",
    "mathcal": "",
}  # fmt: skip
"""The letters for LaTeX commands; other commands become their name: \\log, \\min."""
ACCENTS = {"hat": "\u0302", "bar": "\u0304"}
"""The signs that these commands put on a letter."""


def readable(latex: str) -> str:
    r"""A formula in plain text, with a line for each of its parts.

    >>> readable(r"\frac{1}{R}\sum_{r \le l} g^*(r)\,p^{r-1}")
    '1/R Σ_{r ≤ l} g*(r) p^(r-1)'
    """
    text = " ".join(latex.split())
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    for command, accent in ACCENTS.items():
        text = re.sub(rf"\\{command}\s*(?:\{{(\w)\}}|(\w))", rf"\1\2{accent}", text)
    text = unicodedata.normalize("NFC", text)
    while parts := _innermost(r"\binom", text):
        begin, above, below, end = parts
        text = f"{text[:begin]}({above} choose {below}){text[end:]}"
    while parts := _innermost(r"\frac", text):
        begin, above, below, end = parts
        text = f"{text[:begin]} {_atom(above)}/{_atom(below)} {text[end:]}"
    text = text.replace(r"\{", "⦃").replace(r"\}", "⦄")
    text = re.sub(r"\\([a-zA-Z]+)", lambda command: SYMBOLS.get(command[1], command[1]), text)
    text = re.sub(r"\\[,;:! ]", " ", text)
    text = re.sub(r"_\{(\w+)\}", r"_\1", text.replace("^*", "*"))
    while "^{" in text:
        power, end = _group(text, begin := text.rindex("^{") + 1)
        power = power if re.fullmatch(r"[\w*]+", power) else f"({power})"
        text = text[:begin] + power + text[end:]
    text = re.sub(r"(?<=[\w)}*])([ΣΠ])", r" \1", text.replace("⦃", "{").replace("⦄", "}"))
    text = re.sub(r"(?<=[(⌊]) +| +(?=[),⌋])", "", re.sub(r" {2,}", " ", text))
    return "\n".join(line.strip().rstrip(",") for line in text.split("\n"))


def _innermost(command: str, text: str) -> tuple[int, str, str, int] | None:
    """The last fraction or binomial, which contains no other: its begin, numerator, denominator and end."""
    begin = text.rfind(command)
    if begin < 0:
        return None
    above, after = _group(text, begin + len(command))
    below, end = _group(text, after)
    return begin, above, below, end


def _group(text: str, at: int) -> tuple[str, int]:
    """The text in the braces that open at `at`, or a single letter, and where it ends."""
    at += len(text[at:]) - len(text[at:].lstrip())
    if text[at] != "{":
        return text[at], at + 1
    depth, i = 0, at
    while True:
        depth += (text[i] == "{") - (text[i] == "}")
        i += 2 if text[i] == "\\" and text[i + 1] in "{}" else 1
        if depth == 0:
            return text[at + 1 : i - 1].strip(), i


def _atom(text: str) -> str:
    """The text in brackets, unless it is a name, a number, a call or an amount between bars."""
    a_name, a_call = r"[\w^*'\u0302]+(\([\w']*\))?", r"\\(?:min|max|log_2)\([^()]*(\(\w*\))?[^()]*\)"
    single = re.fullmatch(rf"\\pi|(\\pi\(\w\))|{a_name}|{a_call}|\|[^|]*\|", text)
    return text if single else f"({text})"
