"""Start a campaign: a folder with a configuration, topics, and a database."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from cranfield.building.campaign.campaign_config import FILE, config_of, starter
from cranfield.building.campaign.campaign_modes import WINS
from cranfield.building.campaign.campaign_store import Campaign, add_event
from cranfield.building.serve.project.accounts import add_account
from cranfield.building.serve.project.document_files import read_documents
from cranfield.building.serve.project.judging_project import read_facets
from cranfield.collection.qrels import Qrels
from cranfield.collection.source import load, text_of
from cranfield.collection.topics import Topics
from cranfield.collection.whole_folder import whole_folder
from cranfield.errors import DataError
from cranfield.text import counted

MEASURES = ("nDCG@10", "AP")


@contextmanager
def new_folder(folder: str) -> Iterator[str]:
    """A new folder that appears complete or not at all."""
    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise DataError(folder, None, "already exists and is not empty; give a new folder")
    parent = os.path.dirname(os.path.abspath(folder))
    if not os.path.isdir(parent):
        raise DataError(folder, None, f"cannot be created: there is no folder {parent}")
    with whole_folder(folder) as made:
        yield made


def init_campaign(
    folder: str,
    *,
    name: str,
    topics: str,
    docs: Sequence[str] = (),
    doc_ids: str | None = None,
    gold: str | None = None,
    measures: Sequence[str] | None = None,
    mode: str = "graded",
    dimensions: Sequence[str] = (),
    intents: str | None = None,
    nuggets: str | None = None,
    database: str = "campaign.db",
    progress: Callable[[int], None] | None = None,
) -> list[str]:
    """Make a campaign in a new folder; returns notes, a sentence each.

    With documents or a file of document ids, runs may contain only these; the file of the campaign says so, and can be
    changed before the server starts. Intents are the subtopics of the topics, or those of the file `intents`; of
    `nuggets`, assessors may add more while they judge. The measures depend on the mode if they are not given.
    """
    chosen = list(measures or ([WINS] if mode == "preferences" else MEASURES))
    known = "collection" if docs or doc_ids else "any"
    text = starter(name, chosen, documents=known, database=database, mode=mode, dimensions=dimensions)
    import tomllib

    config_of(tomllib.loads(text))
    asked = Topics.read(topics)
    notes = [counted(len(asked), "topic")]
    with new_folder(folder) as made:
        with open(os.path.join(made, FILE), "w", encoding="utf-8") as out:
            out.write(text)
        with Campaign(made, create=True) as campaign:
            if campaign.store.database.read("SELECT 1 FROM topic LIMIT 1"):
                raise DataError(campaign.store.origin, None, "already holds a campaign; name another database")
            campaign.store.add_topics(asked)
            for kind, file in (("intent", intents), ("nugget", nuggets)):
                if file is not None:
                    facets = read_facets(file, kind)
                    campaign.store.add_facets(facets)
                    notes.append(f"{counted(len(facets), kind)} from {file}")
            for path in docs:
                count = campaign.store.add_documents(read_documents(path), progress)
                notes.append(f"{counted(count, 'document')} from {path}")
            if doc_ids is not None:
                lines = text_of(load(doc_ids), doc_ids).split("\n")
                ids = [line.strip() for line in lines if line.strip()]
                notes.append(f"{counted(campaign.add_known_documents(ids), 'document id')} from {doc_ids}")
            if gold is not None:
                graded = [(entry.topic, entry.doc, entry.grade) for entry in Qrels.read(gold)]
                notes.append(f"{counted(campaign.store.add_gold(graded), 'gold document')} from {gold}")
            campaign.store.database.write(
                lambda connection: add_event(connection, "", "init", {"name": name, "topics": len(asked)})
            )
    return notes


def add_organiser(campaign: Campaign, name: str) -> str:
    """Give an organiser a new password, and return it."""
    password = secrets.token_urlsafe(9)
    add_account(campaign.store, name, "organiser", password)
    return password
