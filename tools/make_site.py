"""Build the documentation site from docs/ and from the registries: python tools/make_site.py [--output site]

The pages are first written to build/site-pages, which can be deleted at any time, and then turned into HTML. A broken
link stops the build.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from website import command_pages, gallery, measure_pages, navigation, pictures, python_pages, registry_pages, staging
from website.text import slugs

PAGES = staging.ROOT / "build" / "site-pages"
SETTINGS = Path(__file__).parent / "website" / "mkdocs.yml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=staging.ROOT / "site", help="the folder of the site")
    parser.add_argument(
        "--pages", type=Path, default=staging.ROOT / "build" / "site-pages", help="the folder of Markdown pages"
    )
    arguments = parser.parse_args()
    pages, output = arguments.pages.resolve(), arguments.output.resolve()  # MkDocs resolves from its settings
    build(pages, output, write_pages(pages))
    print(f"{output / 'index.html'}: {len([*output.rglob('*.html')])} pages")


def write_pages(folder: Path) -> list[Any]:
    """Write all pages as Markdown; return their order."""
    if folder.exists():
        shutil.rmtree(folder)
    staging.stage(folder)
    shutil.copytree(Path(__file__).parent / "website" / "static", folder / "static")
    figures = pictures.pictures()
    paths = {name: f"pictures/measures/{slug}.svg" for name, slug in slugs(figures).items()}
    (folder / "pictures" / "measures").mkdir(parents=True)
    with ProcessPoolExecutor() as pool:  # draws while the pages are written
        drawn = [pool.submit(pictures.draw, figure, folder / paths[name]) for name, figure in figures.items()]
        measures = measure_pages.write_pages(folder, paths)
        registries = registry_pages.write_pages(folder)
        commands = command_pages.write_pages(folder)
        packages = python_pages.write_pages(folder)
        gallery.write_page(folder)
        for picture in drawn:
            picture.result()
    return navigation.navigation(folder, measures, registries, commands, packages)


def build(pages: Path, output: Path, nav: list[Any]) -> None:
    """Turn the pages into HTML; broken links are errors."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    logging.getLogger("mkdocs").addHandler(handler := logging.StreamHandler())
    handler.setLevel(logging.WARNING)
    hooks = [str(Path(__file__).parent / "website" / "hooks.py")]
    config = load_config(str(SETTINGS), docs_dir=str(pages), site_dir=str(output), nav=nav, hooks=hooks)
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build_site(config)
    except Abort as error:
        raise SystemExit(f"the site was not built: {error}") from None
    finally:
        config.plugins.on_shutdown()
    mend_search(output)


def mend_search(output: Path) -> None:
    """Separate labels and numbers of nodes in lunr's search, which otherwise takes "1", "23" and "12", "3" for equal.

    Then it looks for words that no page has, and some searches end without a result: which ones depends on all words.
    """
    for path in (output / "assets" / "javascripts" / "workers").glob("search.*.js"):
        code = path.read_text("utf-8")
        if "e=e+s+o.id}return e" in code:
            path.write_text(code.replace("e=e+s+o.id}return e", 'e=e+s+o.id+","}return e'), "utf-8")
            return
    raise SystemExit("the site's search has other code than expected: see mend_search in tools/make_site.py")


if __name__ == "__main__":
    main()
