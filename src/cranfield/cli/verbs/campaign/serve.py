"""`cranfield campaign serve`: start the server of a campaign."""

from __future__ import annotations

import sys

from cranfield.cli import interrupts
from cranfield.cli.declare import MORE, argument, flag, option
from cranfield.cli.printing import Quiet
from cranfield.cli.verbs.campaign.init import FOLDER


class ServeVerb(Quiet):
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
    host: str = option("--host HOST", "Where to listen.", default="127.0.0.1")
    port: int | None = option("--port N", "The port; default: 8500, or a free one.")
    name: list[str] = option("--name HOST", "A further name of this server. May be repeated.", group=MORE)
    certificate: str | None = option(
        "--certificate FILE", "The certificate for TLS.", group=MORE, solves="a certificate"
    )
    key: str | None = option("--key FILE", "The key of the certificate.", group=MORE)
    no_browser: bool = flag("--no-browser", "Do not open a browser.")

    def run(self) -> None:
        from cranfield.building.campaign.campaign_site import serve_campaign
        from cranfield.building.campaign.campaign_store import Campaign
        from cranfield.building.serve.web.serving import Address
        from cranfield.collection.ending import ends_cleanly

        address = Address(self.host, self.port, self.certificate, self.key, tuple(self.name or ()))
        with ends_cleanly(), Campaign(self.folder) as campaign:
            serve_campaign(campaign, address, self.ready)
            interrupts.expected()

    def ready(self, address: str) -> None:
        """Print the address and open it."""
        print(f"Campaign at {address}", flush=True)
        if not self.quiet:
            print("Stop with Ctrl-C (or SIGTERM); everything is saved.", file=sys.stderr, flush=True)
        if not self.no_browser:
            import threading
            import webbrowser

            threading.Timer(0.3, webbrowser.open, [address]).start()
