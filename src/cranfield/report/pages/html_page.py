"""A whole page as one file, from a template: style and script are inside it, and its policy forbids all else.

The Content-Security-Policy of a page allows exactly its own style and script, by their digests, and no request. So it
can be opened from a disk, sent by mail, or put on a server with a strict policy. The templates escape all text.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from cranfield.errors import UsageError
from cranfield.frames import install_command
from cranfield.report.pages.sortable_table import PLAIN, notes_list, sortable_table
from cranfield.text import control_free, printable

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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
    template: str,
    title: str,
    *,
    lead: str = "",
    footer: str = "",
    styles: Sequence[str] = ("page.css",),
    scripts: Sequence[str] = ("tables.js",),
    **parts: Any,
) -> str:
    """A page from a file in `templates/`: a heading, a line below it, what the template makes of `parts`, a last line.

    `styles` and `scripts` are names of files in `static/`.
    """
    style, script = ("\n".join(map(static_text, names)) for names in (styles, scripts))
    policy = (
        f"default-src 'none'; style-src {source_digest(style)}; script-src {source_digest(script)}; base-uri 'none'; "
        "form-action 'none'"
    )
    frame = {"title": title, "lead": lead, "footer": footer, "style": style, "script": script, "policy": policy}
    made = environment()
    from markupsafe import Markup

    body = Markup(made.get_template(template).render(title=title, **parts))
    return str(made.get_template("page.html").render(**frame, body=body))


@cache
def environment() -> Any:
    """Where templates are; the error says how to install jinja2."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise UsageError(f"HTML pages need jinja2, which is not installed: {install_command('plot')}") from None
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("cranfield.report.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_controls,
    )
    made.filters["listing"] = lambda text: Markup(listing_text(text))
    made.globals |= {"sortable_table": sortable_table, "notes_list": notes_list}
    return made


def _without_controls(value: Any) -> Any:
    """Text that a template shows, with control characters escaped; markup comes from `sortable_table` or a template."""
    return printable(value) if type(value) is str and not PLAIN.fullmatch(value) else value


def listing_text(text: str) -> str:
    """Text of several lines for a page; the parser of HTML would drop a line break at the beginning."""
    lines = "\n".join(map(control_free, text.split("\n"))) if CONTROLS.search(text) else text
    encodable = lines.encode("utf-8", "backslashreplace").decode()  # without lone surrogates, which UTF-8 does not have
    return ("\n" if lines.startswith("\n") else "") + escape(encodable)
