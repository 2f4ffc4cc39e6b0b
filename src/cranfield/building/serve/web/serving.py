"""Run the server of a project: find a port, check who may reach it, and stop cleanly."""

from __future__ import annotations

import getpass
import ipaddress
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Annotated, Any

from cranfield.building.serve.database.database import Database
from cranfield.building.serve.project import accounts
from cranfield.building.serve.project.judging import Judging
from cranfield.building.serve.project.judging_project import proposals_of
from cranfield.building.serve.project.store import Store
from cranfield.collection.whole_folder import ending_calls
from cranfield.declared.operation import about, operation
from cranfield.errors import CranfieldWarning, UsageError, warn_caller
from cranfield.frames import need

SWITCH = 0.0005
"""Seconds after which a thread lets others run: the thread that writes waits for the one that answers, and is short."""
PORT = 8500
"""The port that is used unless it is taken."""


@dataclass(frozen=True)
class Address:
    """Where the server listens, see `listening_at`."""

    host: str
    port: int | None
    certificate: str | None
    key: str | None
    names: tuple[str, ...]

    @property
    def secure(self) -> bool:
        """Is the connection encrypted?"""
        return self.certificate is not None

    @property
    def loopback(self) -> bool:
        """Can only this machine reach the server?"""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def check(self, store: Store) -> None:
        """Raise an error for an address that is not safe, or files that are missing; warn if all can read along."""
        if (self.certificate is None) != (self.key is None):
            raise UsageError("TLS needs both a certificate and a key")
        for path in (self.certificate, self.key):
            if path is not None and not os.path.isfile(path):
                raise UsageError(f"{path}: the file does not exist")
        if not self.loopback and not accounts.has_passwords(store):
            raise UsageError(
                f"host == {self.host!r} can be reached by other machines, but the project has no passwords; add "
                "accounts with passwords first"
            )
        if not self.loopback and not self.secure:
            warn_caller(
                f"host == {self.host!r} without TLS: whoever is on the way can read passwords and change judgments; "
                "give a certificate and a key (--certificate, --key), or put a proxy with TLS before the server",
                CranfieldWarning,
            )

    def hosts(self) -> tuple[str, ...]:
        """The names by which browsers may call the server; empty if any name is allowed."""
        from cranfield.building.serve.web.web_security import LOOPBACK

        if self.loopback:
            return (*LOOPBACK, *self.names)
        any_address = self.host in ("0.0.0.0", "::", "[::]")
        if any_address and not self.names:
            return ()  # people log in, so that another name for this server gives nothing away
        return (*LOOPBACK, *self.names, *(() if any_address else (self.host,)))


@operation
def listening_at(
    host: Annotated[str, about("Where to listen.", spelled="--host HOST")] = "127.0.0.1",
    port: Annotated[int | None, about("The port; default: 8500, or a free one.")] = None,
    certificate: Annotated[
        str | None,
        about("The certificate for TLS.", spelled="--certificate FILE", rare=True, solves="a certificate"),
    ] = None,
    key: Annotated[str | None, about("The key of the certificate.", spelled="--key FILE", rare=True)] = None,
    names: Sequence[str] = (),
) -> Address:
    """Where a server listens; `names` are further ones by which browsers may call it."""
    return Address(host, port, certificate, key, tuple(names))


def bound(address: Address) -> socket.socket:
    """A socket that listens at the address."""
    host = address.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in [address.port] if address.port is not None else [PORT, 0]:
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, port))
            made.listen(512)  # so that a browser that is faster than the server waits for it
            return made
        except OSError as error:
            made.close()
            if port or port == address.port:
                problem = error.strerror or str(error)
        except OverflowError:
            made.close()
            raise UsageError(f"port == {port}, must be between 0 and 65535") from None
    raise UsageError(f"cannot listen on {host} port {address.port}: {problem}")


def judging_app(store: Store, address: Address) -> tuple[Any, str | None]:
    """The application of a judging project, and the secret of its local user if it has no passwords."""
    from cranfield.building.serve.web.web_app import Site, make_app

    judging = Judging(store, proposals_of(store))
    judging.load()
    site = Site(store, judging, secure=address.secure)
    if not accounts.has_passwords(store):
        site.local_user = local_name()
        accounts.add_account(store, site.local_user, "organiser")
        site.open_to_key = accounts.local_key(store)
    return make_app(site, hosts=address.hosts()), site.open_to_key


def need_server() -> None:
    """Import the packages of the extra `serve`; the error says how to install it."""
    for package in ("starlette", "uvicorn", "jinja2", "python_multipart", "httptools"):
        need(package, "the server", "serve")


def serve(
    store: Store,
    address: Address,
    ready: Callable[[str], None],
    *,
    log: str = "warning",
    make: Callable[[Store, Address], tuple[Any, str | None]] = judging_app,
) -> None:
    """Serve a project until it is interrupted. `ready` is called with the address to open.

    `make` makes the application, and says which secret the address to open needs.
    """
    need_server()
    uvicorn: Any = need("uvicorn", "the server", "serve")
    from cranfield.building.serve.web.limits import LimitedServer

    address.check(store)
    with store.database.locked():
        app, secret = make(store, address)
        listening = bound(address)
        config = uvicorn.Config(
            app, log_level=log, access_log=False, server_header=False, ssl_certfile=address.certificate,
            ssl_keyfile=address.key, timeout_graceful_shutdown=5, lifespan="off", ws="none", proxy_headers=False,
            backlog=512,
        )  # fmt: skip
        server = LimitedServer(config, every_second=Watch(store.database))
        sys.setswitchinterval(SWITCH)
        ready(url(address, listening.getsockname()[1], secret))
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        before = signal.getsignal(signal.SIGINT)

        def stop(number: int, frame: object) -> None:
            server.should_exit = True

        try:
            with ending_calls(stop, replace=True):  # uvicorn ends, and then sends itself the signal again
                server.run(sockets=[listening])
        except KeyboardInterrupt:
            pass  # Ctrl-C is how a server is stopped
        finally:
            signal.signal(signal.SIGINT, before)
            listening.close()
        store.database.check()  # the last moment to copy a database whose file was deleted


class Watch:
    """Looks every second if the database is still there, and says so once if it is not.

    A database server is asked for an empty change: after its restart, the lock is taken again before another server of
    judgments can take it, also while nobody judges.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.asked: Future[None] | None = None
        self.told = False

    def __call__(self) -> None:
        engine = self.database.engine
        if self.asked is not None and not self.asked.done():
            return
        if not engine.local or engine.lost() is not None:
            self.asked = self.database.submit(lambda connection: None)
            self.asked.add_done_callback(self._tell)
        else:
            self.told = False

    def _tell(self, answered: Future[None]) -> None:
        error = answered.exception()
        if error is not None and not self.told:
            logging.getLogger("cranfield.serve").error("%s", error)
        self.told = error is not None


def url(address: Address, port: int, key: str | None = None) -> str:
    """The address to open in a browser."""
    host = "localhost" if address.host in ("0.0.0.0", "::") else address.host
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    base = f"{'https' if address.secure else 'http'}://{host}:{port}/"
    return f"{base}enter?key={key}" if key else base


def local_name() -> str:
    """The name of the person at this machine."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = ""
    return name if name and name.isprintable() and not set(" /\\<>\"'&") & set(name) else "me"
