"""Hits of parts of runs, kept in a folder: a job that was stopped goes on where it was."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from cranfield.collection.source import write_bytes
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.text import listed

JOB = "job.json"
SUFFIX = ".hits.npz"
ARRAYS = (
    "several", "rising", "level", "retrieved", "missing", "row", "rank", "tie_first", "tie_last", "document", "numbers",
    "scores",
)  # fmt: skip


class KeptParts:
    """The folder of a job. A part has a file named after the digest of all that its hits depend on."""

    def __init__(self, folder: str, rules: str, identities: Mapping[str, str]) -> None:
        self.folder = folder
        self.rules = rules
        self.identities = dict(identities)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise UsageError(f"resume == {folder!r}: the folder cannot be made: {error.strerror or error}") from None

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, f"{key}{SUFFIX}")

    def begin(self, keys: Sequence[str]) -> None:
        """Say what has changed since the folder was written, remove what is outdated, and note what the job is now."""
        before = self._job()
        files: dict[str, str] = before.get("files", {})
        other_rules = bool(before) and before.get("rules") != self.rules
        changed = [name for name, identity in self.identities.items() if files.get(name, identity) != identity]
        if other_rules:
            what = "the judgments or the options have changed since its parts were kept; all runs are read again"
            warn_caller(f"{self.folder}: {what}", CranfieldWarning)
        elif changed:
            verbs = "has changed since then and is" if len(changed) == 1 else "have changed since then and are"
            warn_caller(f"{self.folder}: {listed(changed, 3, 'files')} {verbs} read again", CranfieldWarning)
        parts = [key for key in before.get("parts", []) if isinstance(key, str) and key.isalnum()]
        if other_rules or changed:
            for key in set(parts).difference(keys):
                with suppress(OSError):
                    os.unlink(self._path(key))
        known = [key for key in parts if os.path.exists(self._path(key))]
        job = {"rules": self.rules, "files": files | self.identities, "parts": list(dict.fromkeys([*known, *keys]))}
        write_bytes(os.path.join(self.folder, JOB), json.dumps(job, indent=1).encode())

    def _job(self) -> dict[str, Any]:
        """What the folder was last used for."""
        path = os.path.join(self.folder, JOB)
        try:
            with open(path, encoding="utf-8") as file:
                job = json.load(file)
            shapes = [isinstance(job[name], kind) for name, kind in (("rules", str), ("files", dict), ("parts", list))]
            if not all(shapes):
                raise ValueError("not the description of a job")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, LookupError, TypeError) as error:
            warn_caller(f"{path}: cannot be read, and is written anew: {error}", CranfieldWarning)
            return {}
        return dict(job)

    def read(self, key: str) -> dict[str, Any] | None:
        """The hits of a part; None if there are none, or if the file is damaged."""
        path = self._path(key)
        try:
            with np.load(path, allow_pickle=False) as data:
                found: dict[str, Any] = {name: data[name] for name in ARRAYS}
                rest = json.loads(data["rest"].tobytes())
        except FileNotFoundError:
            return None
        except Exception as error:  # numpy and zipfile have many
            warn_caller(f"{path}: cannot be read, and is made again: {error}", CranfieldWarning)
            return None
        found.update(rest)
        return found

    def write(self, key: str, joined: Mapping[str, Any]) -> None:
        """Keep the hits of a part: a whole file or none."""
        rest = {name: value for name, value in joined.items() if name not in ARRAYS}
        text = json.dumps(rest).encode()
        buffer = io.BytesIO()
        np.savez(buffer, rest=np.frombuffer(text, dtype=np.uint8), **{name: joined[name] for name in ARRAYS})
        write_bytes(self._path(key), buffer.getvalue())
