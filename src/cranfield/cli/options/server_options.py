"""Options of verbs that start a server: where it listens, and whether a browser opens its page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cranfield.cli.declare import MORE, flag, option
from cranfield.cli.printing import Quiet

if TYPE_CHECKING:
    from cranfield.building.serve.web.serving import Address


class Server(Quiet):
    """Where a server listens."""

    host: str = option("--host HOST", "Where to listen.", default="127.0.0.1")
    port: int | None = option("--port N", "The port; default: 8500, or a free one.")
    name: list[str] = option("--name HOST", "A further name of this server. May be repeated.", group=MORE)
    certificate: str | None = option(
        "--certificate FILE", "The certificate for TLS.", group=MORE, solves="a certificate"
    )
    key: str | None = option("--key FILE", "The key of the certificate.", group=MORE)
    no_browser: bool = flag("--no-browser", "Do not open a browser.")

    def address(self) -> Address:
        """Where the server listens."""
        from cranfield.building.serve.web.serving import Address

        return Address(self.host, self.port, self.certificate, self.key, tuple(self.name or ()))

    def ready(self, what: str, url: str) -> None:
        """Print the address of the page, and open it."""
        print(f"{what} at {url}", flush=True)
        if not self.quiet:
            print("Stop with Ctrl-C (or SIGTERM); everything is saved.", file=sys.stderr, flush=True)
        if not self.no_browser:
            import threading
            import webbrowser

            threading.Timer(0.3, webbrowser.open, [url]).start()
