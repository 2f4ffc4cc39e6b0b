"""What an assessor's browser gets of a document: its text and topic, and nothing that tells where it is from.

Runs, ranks, estimates, the purpose of an offer and the grades of others stay on the server.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from cranfield.building.serve.database.stored_text import marked_words
from cranfield.building.serve.project.judging_modes import Settings, facet_kind, left_is_first, rows_to_grade
from cranfield.building.serve.project.offer_memory import Offer
from cranfield.building.serve.project.project_parts import LIST_DEPTH, Document, list_key
from cranfield.building.serve.project.store import Store


@dataclass(frozen=True)
class Pages:
    """Makes the data of pages."""

    store: Store
    settings: Settings

    def topic(self, id: str) -> dict[str, Any]:
        """A topic as the page shows it."""
        data = self.store.topic_data(id)
        shown = {name: data[name] for name in ("id", "title", "description", "narrative")}
        return {**shown, "words": marked_words(shown["title"])}

    def item(self, offer: Offer, assessor: str) -> dict[str, Any]:
        """A document as the page shows it."""
        facets = self.facets(offer.topic)
        rows = [{"id": row.id, "label": row.label, "help": row.help} for row in rows_to_grade(self.settings, facets)]
        data: dict[str, Any] = {"offer": offer.id, "topic": self.topic(offer.topic), "rows": rows}
        if self.settings.mode == "nuggets":
            data["nuggets"] = [{"id": facet.id, "text": facet.text, "type": facet.type} for facet in facets]
        if self.settings.mode == "preferences":
            names = self.pair(offer)
            if not left_is_first(self.settings, assessor, offer.topic, offer.doc):
                names = names[::-1]
            sides = [self._side(offer.topic, name, offer.id, at) for at, name in enumerate(names)]
            return {**data, "doc": "", "sides": sides}
        return {**data, **self.document(offer.doc, f"offer={offer.id}")}

    def facets(self, topic: str) -> list[Any]:
        """The intents or nuggets of a topic that the mode works with."""
        kind = facet_kind(self.settings.mode)
        return self.store.facets(kind, topic) if kind else []

    def pair(self, offer: Offer) -> tuple[str, str]:
        """The two documents or lists that an offer compares."""
        rows = self.store.database.glance("SELECT audit FROM pool WHERE topic = ? AND doc = ?", offer.topic, offer.doc)
        audit = json.loads(rows[0][0])
        return str(audit["first"]), str(audit["second"])

    def _side(self, topic: str, name: str, offer: int, at: int) -> dict[str, Any]:
        """One of two documents, or the first documents of one of two lists, whose name is not shown."""
        rows = self.store.database.glance("SELECT value FROM setting WHERE name = ?", list_key(topic, name))
        if not rows:
            return {"documents": [self.document(name, f"offer={offer}&side={at}")]}
        docs = json.loads(rows[0][0])[:LIST_DEPTH]
        return {"documents": [{**self.document(doc, ""), "rank": rank} for rank, doc in enumerate(docs, 1)]}

    def document(self, id: str, where: str) -> dict[str, Any]:
        """The text of a document, and the addresses of its page and image."""
        document = self.store.document(id) or Document(id, "", "", "missing")
        data: dict[str, Any] = {"doc": id, "title": document.title, "text": document.text, "kind": document.kind}
        extra = document.extra or {}
        if document.kind == "html" and where:
            data["page"] = f"/page?{where}"
        if document.kind == "image" and where:
            data["image"] = f"/image?{where}"
        if self.settings.url is not None:
            data["link"] = self.settings.url.replace("{doc}", quote(id, safe=""))
        elif str(extra.get("url", "")).startswith(("http://", "https://")):
            data["link"] = extra["url"]
        return data
