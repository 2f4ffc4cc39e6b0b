"""Write what the examples of README.md and docs/ print now into these pages: python tools/refresh_outputs.py [PAGE...]

A PAGE is a path such as README.md or docs/compare.md; without any, all pages are refreshed. What a page elides ("...")
stays elided. Commands and code are not changed; look at the difference before you commit it.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.page_blocks import DOCS, PAGES, run  # noqa: E402

from cranfield import CranfieldWarning  # noqa: E402


def refreshed(path: Path) -> str:
    """The text of a page with what its examples print now."""
    text, end = "", 0
    page = path.read_text("utf-8")
    for block, now in run(path):
        text += page[end : block.start] + now
        end = block.start + len(block.content)
    return text + page[end:]


def main() -> int:
    """Refresh the pages, and say which have changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", type=Path)
    pages = parser.parse_args().pages or [ROOT / "README.md", *(DOCS / page for page in PAGES)]
    warnings.simplefilter("ignore", CranfieldWarning)  # an example that shows one asks for it
    failed = 0
    for path in map(Path.resolve, pages):
        try:
            text = refreshed(path)
        except Exception as error:
            failed += 1
            print("\n".join((f"{path}: {type(error).__name__}: {error}", *getattr(error, "__notes__", ()))))
            continue
        if text != path.read_text("utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"refreshed {os.path.relpath(path)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
