"""Files of an export that are missing, damaged or of another kind end in a message that names them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cranfield.building.campaign.campaign_export import export_campaign
from cranfield.building.campaign.campaign_setup import NEEDED, import_campaign, init_campaign
from cranfield.building.campaign.campaign_store import Campaign
from cranfield.errors import DataError

OPTIONAL = ("documents.jsonl", "document-ids.txt", "facets.jsonl")
WAYS = [(name, how) for name in (*NEEDED, *OPTIONAL) for how in ("folder", "binary")]
WAYS += [(name, "missing") for name in NEEDED]
WAYS += [(name, "other") for name in (*NEEDED, *OPTIONAL) if name != "document-ids.txt"]  # which may be any text


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    (folder / "topics.tsv").write_text("1\twing flutter\n")
    init_campaign(str(folder / "notes"), name="Notes", topics=str(folder / "topics.tsv"))
    with Campaign(str(folder / "notes")) as campaign:
        export_campaign(campaign, str(folder / "files"))
        (folder / "file").touch()
        with pytest.raises(DataError, match="is a file; give a new folder"):
            export_campaign(campaign, str(folder / "file"))
    return folder / "files"


@pytest.mark.parametrize(("name", "how"), WAYS)
def test_a_file_that_cannot_be_read_is_named(files: Path, tmp_path: Path, name: str, how: str) -> None:
    shutil.copytree(files, tmp_path / "files")
    path = tmp_path / "files" / name
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "binary":
        path.write_bytes(b"\xff\xfe\x00bad\x80\n")
    elif how == "other":
        path.write_text('{"a": 1}\n[]\n')
    with pytest.raises(DataError) as error:
        import_campaign(str(tmp_path / "copy"), str(tmp_path / "files"))
    assert str(error.value).startswith(str(path))
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("documents.jsonl", {"id": None, "title": "", "text": "", "kind": "text", "extra": {}}, "1: id is None"),
        ("facets.jsonl", {"topic": "1", "kind": "nugget", "id": "n1", "text": ""}, "1: no type, expected an object"),
        ("log.jsonl", ["phase"], "1: no at, expected an object with at, who, what, data"),
        ("state.json", [], "must hold an object"),
    ],
)
def test_a_wrong_entry_is_named(files: Path, tmp_path: Path, name: str, row: object, message: str) -> None:
    shutil.copytree(files, tmp_path / "files")
    (tmp_path / "files" / name).write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=message):
        import_campaign(str(tmp_path / "copy"), str(tmp_path / "files"))


def test_an_empty_file_is_not_the_database_of_a_campaign(files: Path, tmp_path: Path) -> None:
    with import_campaign(str(tmp_path / "copy"), str(files)):
        pass
    database = tmp_path / "copy" / "campaign.db"
    database.write_bytes(b"")
    for more in ("-wal", "-shm"):
        Path(f"{database}{more}").unlink(missing_ok=True)
    with pytest.raises(DataError, match=r"is empty, expected the database that .*campaign\.toml names"):
        Campaign(str(tmp_path / "copy"))
    assert not database.read_bytes()
