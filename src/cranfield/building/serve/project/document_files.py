"""Read the texts of documents: JSON-lines, tables, a folder of files, or a dataset of ir_datasets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html.parser import HTMLParser

from cranfield.building.document_texts import DocumentRecord, read_records, readable
from cranfield.building.serve.project.project_parts import Document
from cranfield.collection.doors import reads
from cranfield.collection.records import DATASET_PREFIXES, load_dataset, outside_errors
from cranfield.collection.source import PathLike, load, shown_path, text_of
from cranfield.errors import DataError, UsageError
from cranfield.text import shown

IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
"""{suffix: type} of images that are shown."""
_MAGIC = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8", "image/webp": b"RIFF"}
TEXTS = (".txt", ".text", ".md", "")
PAGES = (".html", ".htm", ".xhtml")
LONGEST_TEXT = 2_000_000
"""Characters of a document that are shown; the rest is cut, and the text says so."""


def read_documents(source: PathLike) -> Iterator[Document]:
    """The documents in a JSON-lines file, a table with a header, a folder, or a dataset (`irds:NAME`)."""
    name = os.fspath(source)
    if name.startswith(DATASET_PREFIXES):
        yield from _dataset(name)
    elif os.path.isdir(name):
        yield from _folder(name)
    else:
        yield from _file(name)


def _file(path: str) -> Iterator[Document]:
    origin = shown_path(path)
    folder = os.path.realpath(os.path.dirname(path) or ".")
    seen: dict[str, int] = {}
    for record in read_records(path, origin):
        if record.id in seen:
            raise DataError(
                origin, record.line, f"document {shown(record.id)} appears twice, first on line {seen[record.id]}"
            )
        seen[record.id] = record.line
        yield _document(record, origin, folder)


def _document(record: DocumentRecord, origin: str, folder: str) -> Document:
    parts = {part: readable(text) for part, text in record.parts.items()}
    extra = {part: parts[part] for part in ("url",) if parts.get(part)}
    if parts.get("image"):
        extra["image"] = _inside(folder, parts["image"], origin, record.line)
        return Document(record.id, parts.get("title", ""), _cut(parts.get("text", "")), "image", extra)
    if parts.get("html"):
        extra["html"] = _cut(parts["html"])
        return Document(record.id, parts.get("title", ""), text_of_html(extra["html"]), "html", extra)
    return Document(record.id, parts.get("title", ""), _cut(parts.get("text", "")), "text", extra)


def _inside(folder: str, path: str, origin: str, line: int | None) -> str:
    """The real path of an image, which must be in the folder of the documents."""
    real = os.path.realpath(os.path.join(folder, path))
    if os.path.commonpath([folder, real]) != folder:
        raise DataError(origin, line, f"image {shown(path)} is outside the folder {folder}")
    if not image_type(real):
        raise DataError(origin, line, f"image {shown(path)} is missing or not one of {', '.join(IMAGES)}")
    return real


def image_type(path: str) -> str | None:
    """The type of an image file by its suffix, if its first bytes agree; None for anything else."""
    kind = IMAGES.get(os.path.splitext(path)[1].lower())
    if kind is None:
        return None
    try:
        with open(path, "rb") as file:
            return kind if file.read(8).startswith(_MAGIC[kind]) else None
    except OSError:
        return None


def _folder(path: str) -> Iterator[Document]:
    """A document per file; its id is the path in the folder, without the suffix."""
    root = os.path.realpath(path)
    seen: dict[str, str] = {}
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            stem, suffix = os.path.splitext(name)
            whole, suffix = os.path.join(folder, name), suffix.lower()
            if name.startswith(".") or suffix not in (*TEXTS, *PAGES, *IMAGES):
                continue
            id = os.path.relpath(os.path.join(folder, stem), root).replace(os.sep, "/")
            if id in seen:
                raise DataError(whole, None, f"has the same id {shown(id)} as {seen[id]}; rename one of them")
            seen[id] = whole
            yield _of_file(id, whole, suffix, root)
    if not seen:
        suffixes = ", ".join(suffix for suffix in (*TEXTS, *PAGES, *IMAGES) if suffix)
        raise DataError(path, None, f"holds no documents; expected files that end in {suffixes}")


@reads
def _of_file(id: str, path: str, suffix: str, root: str) -> Document:
    if suffix in IMAGES:
        return Document(id, "", "", "image", {"image": _inside(root, path, path, None)})
    text = _cut(readable(text_of(load(path), path)))
    if suffix in PAGES:
        return Document(id, "", text_of_html(text), "html", {"html": text})
    return Document(id, "", text, "text", {})


def _dataset(name: str) -> Iterator[Document]:
    dataset = load_dataset(name)
    if not dataset.has_docs():
        raise DataError(name, None, "this dataset has no documents")
    with outside_errors(name):
        entries = iter(dataset.docs_iter())
    while True:
        with outside_errors(name):
            doc = next(entries, None)
        if doc is None:
            return
        title = str(getattr(doc, "title", "") or "")
        text = doc.default_text() if hasattr(doc, "default_text") else str(getattr(doc, "text", ""))
        yield Document(doc.doc_id, title, _cut(text.removeprefix(title).strip()), "text", {})


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n\n[{len(text) - LONGEST_TEXT:,} more characters are not shown]"


def check_url(template: str) -> str:
    """An address with `{doc}` for the id of a document."""
    if not template.startswith(("http://", "https://")) or "{doc}" not in template:
        raise UsageError(
            f"{shown(template)}: expected an address with {{doc}}, such as https://host/pages/{{doc}}.html"
        )
    return template


# ---- HTML as text

_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    {
        "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2", "h3",
        "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "th", "tr",
        "ul",
    }
)  # fmt: skip


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self.hidden += 1
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def text_of_html(html: str) -> str:
    """The words of a page, without markup and scripts.

    >>> text_of_html("<h1>Wings</h1><script>alert(1)</script><p>They <b>flutter</b> &amp; bend.</p>")
    'Wings\\n\\nThey flutter & bend.'
    """
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = [" ".join(line.split()) for line in "".join(parser.parts).split("\n")]
    paragraphs: list[str] = []
    blank = False
    for line in lines:
        if line:
            paragraphs.append(f"\n{line}" if blank and paragraphs else line)
            blank = False
        else:
            blank = True
    return "\n".join(paragraphs)
