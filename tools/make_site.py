"""Build the documentation site from docs/ and from the registries: python tools/make_site.py [--output site]

The pages are first written to build/site-pages, which can be deleted at any time, and then turned into HTML. A broken
link stops the build.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from website import command_pages, gallery, measure_pages, navigation, pictures, python_pages, registry_pages, staging

from cranfield.report.figures import Figure
from cranfield.report.figures.saving import converter, specification

BUILD = staging.ROOT / "build"
SETTINGS = Path(__file__).parent / "website" / "mkdocs.yml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=staging.ROOT / "site", help="the folder of the site")
    parser.add_argument("--pages", type=Path, default=BUILD / "site-pages", help="the folder of Markdown pages")
    parser.add_argument("--pictures", type=Path, default=BUILD / "site-pictures", help="pictures of earlier builds")
    arguments = parser.parse_args()
    nav = write_pages(arguments.pages, arguments.pictures)
    build(arguments.pages, arguments.output, nav)
    print(f"{arguments.output / 'index.html'}: {len([*arguments.output.rglob('*.html')])} pages")


def write_pages(folder: Path, cache: Path) -> list[Any]:
    """Write all pages as Markdown; return their order."""
    if folder.exists():
        shutil.rmtree(folder)
    staging.stage(folder)
    shutil.copytree(Path(__file__).parent / "website" / "static", folder / "static")
    drawn = draw(pictures.pictures(), folder, cache)
    measures = measure_pages.write_pages(folder, drawn)
    registries = registry_pages.write_pages(folder)
    commands = command_pages.write_pages(folder)
    packages = python_pages.write_pages(folder)
    gallery.write_page(folder)
    return navigation.navigation(folder, measures, registries, commands, packages)


def draw(figures: dict[str, Figure], folder: Path, cache: Path) -> dict[str, str]:
    """Write the pictures of measures as SVG, on all cores; return {name: path}. Those of an earlier build are kept."""
    from website.text import slugs

    place = "pictures/measures"
    cache.mkdir(parents=True, exist_ok=True)
    (folder / place).mkdir(parents=True)
    paths = {name: f"{place}/{slug}.svg" for name, slug in slugs(figures).items()}
    stored = {}
    for name, figure in figures.items():
        spec = specification(figure, validate=False)
        spec["config"]["legend"] |= {"orient": "bottom", "direction": "vertical", "columns": 1}
        text = json.dumps(spec)
        stored[name] = (cache / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.svg", text)
    missing = [work for work in stored.values() if not work[0].exists()]
    if missing:
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            list(pool.map(_draw, *zip(*missing, strict=True), chunksize=8))
    for name, (path, _) in stored.items():
        shutil.copyfile(path, folder / paths[name])
    return paths


def _draw(path: Path, text: str) -> None:
    spec = json.loads(text)
    if "params" in spec:  # as for every figure that cannot be zoomed
        spec["params"] = [param for param in spec["params"] if param.get("bind") != "scales"]
    path.write_text(converter().vegalite_to_svg(spec, allowed_base_urls=[]), "utf-8")


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


if __name__ == "__main__":
    main()
