"""Formulas for a terminal: the LaTeX of a measure's docstring in letters that every terminal has."""

from __future__ import annotations

import re

SYMBOLS = {
    "sum": "Σ", "prod": "Π", "cdot": "·", "le": "≤", "ge": "≥", "cap": "∩", "in": "∈", "ldots": "…", "alpha": "α",
    "beta": "β", "gamma": "γ", "epsilon": "ε", "lfloor": "⌊", "rfloor": "⌋", "qquad": "\n", "quad": "\n", "left": "",
    "right": "", "infty": "∞", "times": "×",
}  # fmt: skip
"""Commands by the letters that stand for them; a command that is not here is read as its own name: \\log, \\min."""


def readable(latex: str) -> str:
    r"""A formula in plain text, a line for each of its parts.

    >>> readable(r"\frac{1}{R}\sum_{r \le l} g^*(r)\,p^{r-1}")
    '1/R Σ_{r ≤ l} g*(r) p^(r-1)'
    """
    text = " ".join(latex.split())
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    while found := _innermost_fraction(text):
        begin, above, below, end = found
        text = f"{text[:begin]} {_atom(above)}/{_atom(below)} {text[end:]}"
    text = text.replace(r"\{", "⦃").replace(r"\}", "⦄")
    text = re.sub(r"\\([a-zA-Z]+)", lambda command: SYMBOLS.get(command[1], command[1]), text)
    text = re.sub(r"\\[,;:! ]", " ", text)
    text = re.sub(r"_\{(\w+)\}", r"_\1", text.replace("^*", "*"))
    text = re.sub(r"\^\{(\w+)\}", r"^\1", text)
    text = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text)
    text = re.sub(r"(?<=[\w)}*])([ΣΠ])", r" \1", text.replace("⦃", "{").replace("⦄", "}"))
    text = re.sub(r"(?<=[(⌊]) +| +(?=[),⌋])", "", re.sub(r" {2,}", " ", text))
    return "\n".join(line.strip().rstrip(",") for line in text.split("\n"))


def _innermost_fraction(text: str) -> tuple[int, str, str, int] | None:
    """Where the last fraction begins, what is above and below its line, and where it ends; it holds no other."""
    begin = text.rfind(r"\frac")
    if begin < 0:
        return None
    above, after = _group(text, begin + len(r"\frac"))
    below, end = _group(text, after)
    return begin, above, below, end


def _group(text: str, at: int) -> tuple[str, int]:
    """What is within the braces that open at `at`, and where they end; a single letter needs none."""
    if text[at] != "{":
        return text[at], at + 1
    depth, i = 0, at
    while True:
        depth += (text[i] == "{") - (text[i] == "}")
        i += 2 if text[i] == "\\" and text[i + 1] in "{}" else 1
        if depth == 0:
            return text[at + 1 : i - 1].strip(), i


def _atom(text: str) -> str:
    """In brackets, unless it is one thing: a name, a number, a call, an amount between bars."""
    one_thing = re.fullmatch(r"[\w^*']+(\([\w']*\))?|\\(?:min|max|log_2)\([^()]*(\(\w*\))?[^()]*\)|\|[^|]*\|", text)
    return text if one_thing else f"({text})"
