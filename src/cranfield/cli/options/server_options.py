"""Options of verbs that start a server: where it listens, and whether a browser opens its page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cranfield.cli import progress
from cranfield.cli.declare import MORE, flag, option
from cranfield.cli.printing import Quiet

if TYPE_CHECKING:
    from cranfield.building.serve.web.serving import Address


LISTENING = "building.serve.web.serving:listening_at"
"""The operation whose settings say where a server listens."""


class Server(Quiet, of=LISTENING):
    """Where a server listens."""

    names: list[str] = option("--server-name HOST", "A further name of this server. May be repeated.", group=MORE)
    no_browser: bool = flag("--no-browser", "Do not open a browser.")

    def address(self) -> Address:
        """Where the server listens."""
        from cranfield.building.serve.web.serving import listening_at

        return listening_at(**self.settings("listening_at"), names=self.names or ())

    def ready(self, what: str, url: str) -> None:
        """Print the address of the page, and open it."""
        progress.end()
        print(f"{what} at {url}", flush=True)
        if not self.quiet:
            print("Stop with Ctrl-C (or SIGTERM); everything is saved.", file=sys.stderr, flush=True)
        if not self.no_browser:
            import threading
            import webbrowser

            threading.Timer(0.3, webbrowser.open, [url]).start()
