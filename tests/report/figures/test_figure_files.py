"""Files of figures: formats, self-contained pages, and names that cannot get into a script."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cranfield.errors import UsageError
from cranfield.report.figures import Figure, describe_asl, describe_boxes, describe_power
from cranfield.report.figures.saving import SUFFIXES, page, rendered, specification
from cranfield.scores.scores import Scores

HOSTILE = "</script><script>alert(1)</script>"
NAN = math.nan


def scores(systems: int) -> Scores:
    values = np.random.default_rng(0).beta(2, 3, (1, systems, 12))
    return Scores(["AP"], [f"run{i}" for i in range(systems)], map(str, range(301, 313)), values)


@pytest.mark.parametrize(
    ("suffix", "begins"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("json", b"{"), ("csv", b"system,")]
)
def test_the_suffix_gives_the_format(suffix: str, begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"boxes.{suffix.upper()}"
    describe_boxes(scores(3)).save(path)
    assert path.read_bytes().startswith(begins)


def test_csv_has_the_data() -> None:
    figure = describe_power({"topics": [10, 20], "power": [0.25, NAN]})
    assert list(csv.reader(io.StringIO(rendered(figure, "csv").decode()))) == [
        ["topics", "power"],
        ["10.0", "0.25"],
        ["20.0", ""],
    ]


def test_json_has_the_data_as_rows() -> None:
    spec = json.loads(rendered(describe_boxes(scores(3)), "json"))
    assert any(isinstance(rows, list) and rows[0]["system"].startswith("run") for rows in spec["datasets"].values())


def test_figures_without_interaction_are_rendered_without_zoom() -> None:
    figure = describe_asl({"AP": [0.1, 0.2], "RR": [0.2, 0.3]})
    assert "scales" in [param.get("bind") for param in specification(figure)["params"]]
    assert b"AP" in rendered(figure, "svg")


@pytest.mark.parametrize("name", ["boxes.bmp", "boxes", "-", "boxes.svg.gz"])
def test_an_unknown_suffix_is_an_error_that_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a figure ends in \.html, \.svg, \.pdf, \.png, \.json or \.csv"):
        describe_boxes(scores(2)).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def hostile() -> Figure:
    names = [HOSTILE, "<img src=x onerror=alert(2)>", "a\udcff\x1b[2J\u2028"]
    return describe_boxes({name: [0.1, 0.2, 0.3 + i] for i, name in enumerate(names)}, "AP</title><b>")


def test_a_page_is_self_contained_and_names_cannot_get_into_its_scripts(tmp_path: Path) -> None:
    path = tmp_path / "boxes.html"
    hostile().save(path)
    text = path.read_text("utf-8")
    assert text.count("<script") == text.count("</script") == 3
    assert "alert(1)" in text
    assert not re.search(r"<script[^>]*>\s*alert", text)
    assert not re.search(r"<[^>]*\b(src|href)\s*=", text.split("<script", 1)[0])
    assert "default-src 'none'" in text
    assert len(text) > 500_000  # Vega is inside


def test_a_page_contains_the_specification() -> None:
    figure = hostile()
    spec = specification(figure)
    text = page(spec, figure, "const x = '</script>';")
    (words,) = re.findall(r'<script type="application/json" id="specification">(.*?)</script>', text, re.DOTALL)
    assert json.loads(words) == spec
    assert text.count("</script") == 3
    assert "<title>AP&lt;/title&gt;&lt;b&gt; of 3 systems" in text


def test_names_are_escaped_in_svg() -> None:
    text = rendered(hostile(), "svg").decode("utf-8")
    assert "<script" not in text
    assert "<img" not in text
    assert r"a\udcff\x1b[2J" in text
    for suffix in SUFFIXES:
        if suffix not in ("html", "svg"):
            assert rendered(hostile(), suffix)


def test_an_error_says_how_to_install_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = describe_boxes(scores(2))
    for absent in ("altair", "vl_convert"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, absent, None)
            with pytest.raises(UsageError, match=r"pip install 'cranfield\[plot\]'"):
                rendered(figure, "svg")
            assert rendered(figure, "csv").startswith(b"system,")


def test_describing_a_figure_does_not_import_drawing_packages() -> None:
    script = (
        "import sys; from cranfield.report.figures import describe_boxes; describe_boxes({'a': [0.1, 0.2]}, 'AP');"
        "assert not {'altair', 'vl_convert'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_png_says_that_it_has_288_pixels_per_inch() -> None:
    figure = describe_boxes(scores(3))
    svg, png = rendered(figure, "svg").decode(), rendered(figure, "png")
    (width,) = (float(value) for value in re.findall(r'<svg [^>]*?width="([\d.]+)"', svg))
    assert struct.unpack(">I", png[16:20])[0] == pytest.approx(3 * width, abs=3)  # 96 pixels of a figure are an inch
    at = png.index(b"pHYs") + 4
    assert struct.unpack(">IIB", png[at : at + 9]) == (11339, 11339, 1)  # 288 / 0.0254 pixels per metre
