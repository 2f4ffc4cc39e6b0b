"""`cranfield campaign serve`: start the server of a campaign."""

from __future__ import annotations

from functools import partial

from cranfield.cli import interrupts
from cranfield.cli.declare import argument
from cranfield.cli.options.server_options import Server
from cranfield.cli.verbs.campaign.init import FOLDER


class ServeVerb(Server):
    """Start the server of a campaign, on which teams submit runs, assessors judge, and organisers see to the rest.

    It prints an address and opens it. What the server has confirmed is on disk, so stop it at any time with Ctrl-C.
    Only this machine can reach it unless --host says otherwise; use --certificate and --key then, because people send
    passwords.
    """

    summary = "start the server of a campaign"
    examples = """
cranfield campaign serve notes2027
cranfield campaign serve notes2027 --host 0.0.0.0 --certificate cert.pem --key key.pem
"""

    folder: str = argument("DIR", FOLDER, required=True)

    def run(self) -> None:
        from cranfield.building.serve.web.serving import need_server

        need_server()
        from cranfield.building.campaign.campaign_site import serve_campaign
        from cranfield.building.campaign.campaign_store import Campaign
        from cranfield.collection.whole_folder import ends_cleanly

        with ends_cleanly(), Campaign(self.folder) as campaign:
            serve_campaign(campaign, self.address(), partial(self.ready, "Campaign"))
            interrupts.expected()
