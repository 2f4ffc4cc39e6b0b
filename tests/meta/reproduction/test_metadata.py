"""Metadata at the top of a run file: reading, writing, and ignoring it when the run is read."""

import gzip
import warnings
from datetime import date
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.collection.run import Run
from cranfield.errors import DataError, UsageError
from cranfield.meta.reproduction.metadata import Primad, primad, read_metadata, write_metadata

LINES = "1 Q0 a 1 3.5 t\n1 Q0 b 2 2.5 t\n"
METADATA = {
    "tag": "bm25",
    "actor": {"name": "Jördis", "team": "ours: A", "degree": None},
    "platform": {"hardware": {"cpu": {"number of cores": 4}}, "operating system": {"kernel": "5.4.0"}},
    "implementation": {"lang": ["python", "c++"], "executable": {"cmd": "./run.sh # not a comment"}},
    "research goal": {"publication": {"year": "2021"}, "location": [1.5, True, "yes"]},
    "method": {"retrieval": [{"name": "bm25", "b": 0.4, "text": "two\nlines"}]},
    "data": {"created": date(2021, 3, 14), "test collection": {"qrels": "qrels.txt"}},
}


def run_file(tmp_path: Path, head: str = "", name: str = "mine.run") -> Path:
    path = tmp_path / name
    path.write_text(head + LINES, "utf-8")
    return path


def test_written_metadata_is_read_back_and_the_run_is_unchanged(tmp_path: Path) -> None:
    path = run_file(tmp_path)
    write_metadata(path, METADATA)
    assert read_metadata(path) == METADATA
    assert path.read_text("utf-8").endswith("# ir_metadata.end\n" + LINES)
    assert all(line.startswith("#") for line in path.read_text("utf-8").splitlines()[:-2])


def test_metadata_is_replaced_not_stacked_and_may_go_to_another_file(tmp_path: Path) -> None:
    path, other = run_file(tmp_path), tmp_path / "other.run.gz"
    write_metadata(path, METADATA)
    write_metadata(path, {"tag": "new"}, output=other)
    assert read_metadata(path) == METADATA
    assert read_metadata(other) == {"tag": "new"}
    assert gzip.decompress(other.read_bytes()).decode() == (
        "# ir_metadata.start\n# tag: new\n# ir_metadata.end\n" + LINES
    )


@pytest.mark.peers
def test_files_are_compatible_with_repro_eval(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from repro_eval.metadata import MetadataHandler
    ours, theirs = run_file(tmp_path), tmp_path / "theirs.run"
    # Without a date, and without the text "yes", which YAML 1.2 (theirs) leaves bare and YAML 1.1 (ours) reads as true.
    plain = {**METADATA, "data": {"test collection": {"qrels": "qrels.txt"}}, "research goal": {"venue": "SIGIR"}}
    write_metadata(ours, plain)
    assert MetadataHandler.read_metadata(str(ours)) == plain
    handler = MetadataHandler(str(run_file(tmp_path, name="bare.run")))
    handler.set_metadata(metadata_dict=plain)
    handler.write_metadata(run_path=str(theirs))
    assert read_metadata(theirs) == plain


def test_the_run_reads_the_same_with_and_without_metadata(tmp_path: Path) -> None:
    bare = run_file(tmp_path, name="bare.run")
    path = run_file(tmp_path)
    write_metadata(path, METADATA)
    assert Run.read(path) == Run.read(bare)
    assert cf.evaluate({"1": {"b": 1}}, str(path), ["RR"]).mean() == {"t": {"RR": 0.5}}


def test_a_very_long_header_is_ignored_when_the_run_is_read(tmp_path: Path) -> None:
    path = run_file(tmp_path)
    write_metadata(path, {"libraries": [f"package-{i}" for i in range(20_000)]})
    assert len(Run.read(path)) == 2


@pytest.mark.parametrize("head", ["", "# a comment\n", "\n# tag: x\n"])
def test_a_file_without_a_header_has_no_metadata(tmp_path: Path, head: str) -> None:
    assert read_metadata(run_file(tmp_path, head)) is None


def test_a_header_below_the_first_entry_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "late.run"
    path.write_text(LINES + "# ir_metadata.start\n# tag: x\n# ir_metadata.end\n")
    assert read_metadata(path) is None


def test_an_empty_header_has_empty_metadata(tmp_path: Path) -> None:
    assert read_metadata(run_file(tmp_path, "# ir_metadata.start\n# ir_metadata.end\n")) == {}


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("# ir_metadata.start\n# tag: x\n", r"mine.run:1: the metadata has no end"),
        ("# ir_metadata.start\n# - x\n# ir_metadata.end\n", r"mine.run:1: the metadata is a list, expected keys"),
        ("# ir_metadata.start\n# tag: x\n# a: [1\n# ir_metadata.end\n", r"mine.run:\d: not valid YAML"),
        ("# ir_metadata.start\n# a: !!python/object:os.system x\n# ir_metadata.end\n", r"mine.run:2: not valid YAML"),
        ("# ir_metadata.start\n# a: " + "[" * 5000 + "\n# ir_metadata.end\n", r"nested too deep|no YAML"),
        ("# ir_metadata.start\n# a: 2021-13-45\n# ir_metadata.end\n", r"not valid YAML"),
    ],
)
def test_a_bad_header_is_an_error_with_its_place(tmp_path: Path, head: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_metadata(run_file(tmp_path, head))


def test_objects_are_refused_and_the_file_is_unchanged(tmp_path: Path) -> None:
    path = run_file(tmp_path)
    with pytest.raises(UsageError, match="not plain text"):
        write_metadata(path, {"a": object()})
    assert path.read_text() == LINES


def test_primad_names_what_changed() -> None:
    # Capital letters mark the components that differ; actor and data are in the metadata of only one of the two.
    before = {"platform": 1, "research goal": 2, "implementation": 3, "method": 4, "actor": 5}
    after = {"platform": 1, "research goal": 2, "implementation": 0, "method": 0, "data": 6}
    assert primad(before, after) == Primad(
        ("implementation", "method"), ("platform", "research goal"), ("actor", "data")
    )
    assert primad(before, after).code == "prIMad"
