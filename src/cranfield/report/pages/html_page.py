"""A whole page as one file: its style and script are inside it, and its policy forbids everything else.

The Content-Security-Policy of a page allows exactly its own style and script, by their digests, and no request. So it
can be opened from a disk, sent by mail, or put on a server with a strict policy.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files

from cranfield.text import printable


@cache
def static_text(name: str) -> str:
    """The text of a file of styles or scripts."""
    return files("cranfield.report.pages").joinpath("static", name).read_text("utf-8")


def source_digest(text: str) -> str:
    """What a policy calls the text of a style or script.

    >>> source_digest("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def html_page(
    title: str,
    body: str,
    *,
    lead: str = "",
    footer: str = "",
    styles: tuple[str, ...] = ("page.css",),
    scripts: tuple[str, ...] = ("tables.js",),
) -> str:
    """A page: a heading, a line below it, the body (HTML), and a last line. Text is escaped; the body is not.

    `styles` and `scripts` are names of files in `static/`.
    """
    style, script = ("\n".join(map(static_text, names)) for names in (styles, scripts))
    policy = (
        f"default-src 'none'; style-src {source_digest(style)}; script-src {source_digest(script)}; base-uri 'none'; "
        "form-action 'none'"
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{shown_text(title)}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            f"<h1>{shown_text(title)}</h1>",
            *([f'<p class="lead">{shown_text(lead)}</p>'] if lead else []),
            body,
            *([f"<footer>{shown_text(footer)}</footer>"] if footer else []),
            "</main>",
            f"<script>{script}</script>",
            "</body>",
            "</html>",
        ]
    )


def shown_text(text: str) -> str:
    """Text for a page: markup and control characters are escaped.

    >>> shown_text("<b> & \\x1b")
    '&lt;b&gt; &amp; \\\\x1b'
    """
    return escape(printable(text)).encode("utf-8", "backslashreplace").decode()


def notes_list(notes: tuple[str, ...]) -> str:
    """Notes below a table."""
    return f'<ul class="notes">{"".join(f"<li>{shown_text(note)}</li>" for note in notes)}</ul>' if notes else ""
