"""A server that docker, systemd or a closed terminal ends with a signal leaves everything in the file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.building.campaign.campaign_store import Campaign
from cranfield.building.serve.project.store import Store
from tests.building.campaign.players import make_campaign
from tests.building.serve.live import Server, Worker, make_project


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_backup_of_a_running_server_and_a_copy_after_its_end_hold_everything(tmp_path: Path, number: int) -> None:
    path, backup, copy = (str(tmp_path / name) for name in ("judgments.db", "backup.db", "copy.db"))
    make_project(path, docs=20, people=1)
    with Server(path) as server:
        worker = Worker(server.port, "w0")
        for _ in range(3):
            worker.judge()
        assert os.path.getsize(f"{path}-wal")
        command = [sys.executable, "-m", "cranfield", "judge", "backup", path, backup]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        server.process.send_signal(number)
        assert server.process.wait(20) == 0
    assert not os.path.exists(f"{path}-wal")
    shutil.copyfile(path, copy)
    for one in (backup, copy):
        with Store(one) as store:
            assert store.database.read("SELECT COUNT(*) FROM judgment") == [(3,)]


def test_a_campaign_is_ended_in_the_same_way(tmp_path: Path) -> None:
    make_campaign(tmp_path)
    folder = tmp_path / "notes"
    with Server(str(folder), group="campaign") as server:
        with Campaign(str(folder)) as campaign:
            campaign.new_join_code("olga")
            code = campaign.join_code
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    for file in folder.glob("*.db-*"):
        assert file.name.endswith("-serving")
    with Campaign(str(folder)) as campaign:
        assert campaign.join_code == code


def test_a_signal_that_nohup_ignores_does_not_end_the_server(tmp_path: Path) -> None:
    path = str(tmp_path / "judgments.db")
    make_project(path, docs=20, people=1)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        server = Server(path)
    finally:
        signal.signal(signal.SIGHUP, before)
    with server:
        server.process.send_signal(signal.SIGHUP)
        Worker(server.port, "w0").judge()
        server.stop()


def test_a_signal_while_files_are_read_closes_the_database(tmp_path: Path) -> None:
    path, texts = str(tmp_path / "judgments.db"), tmp_path / "texts.jsonl"
    make_project(path, docs=2, people=0)
    os.mkfifo(texts)
    command = [sys.executable, "-m", "cranfield", "judge", "serve", path, "--no-browser", "--docs", str(texts)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with texts.open("w"):  # as soon as the server reads it
        process.terminate()
        assert process.wait(20) == -signal.SIGTERM
    assert not os.path.exists(f"{path}-wal")
