"""`cranfield judge account`: let people in."""

from __future__ import annotations

from cranfield.cli.declare import argument, flag, option
from cranfield.cli.printing import Printing
from cranfield.cli.verbs.judge.serve import DATABASE


class AccountVerb(Printing):
    """Add a person to a judging project, change a password, or list all people.

    The password is made up and printed, unless --password-file gives one. With an account that has a password,
    everybody has to log in.
    """

    summary = "add people, change passwords"
    examples = """
cranfield judge account judgments.db anna --role organiser
cranfield judge account judgments.db ben --password-file secret.txt
cranfield judge account judgments.db ben --off  # keep ben out; the judgments stay
cranfield judge account judgments.db  # list all
"""

    database: str = argument("DATABASE", DATABASE, required=True)
    name: str | None = argument("NAME", "The person; without one, all are listed.")
    role: str | None = option(
        "--role ROLE",
        "{names}: an organiser sees everything. Default: as before, and assessor for a new person.",
        choices=("assessor", "organiser"),
    )
    password_file: str | None = option(
        "--password-file FILE", "The password, in the first line; - is standard input.", reads=True
    )
    off: bool = flag("--off", "Keep this person out.")

    def check(self) -> None:
        super().check()
        from cranfield.errors import UsageError

        if self.name is None and (self.off or self.password_file):
            raise UsageError("give the NAME of a person")

    def run(self) -> None:
        import secrets

        from cranfield.building.serve.project.accounts import accounts, add_account, set_active
        from cranfield.building.serve.project.store import Store
        from cranfield.collection.source import read_bytes
        from cranfield.table import Column, Table

        with Store(self.database) as store:
            if self.name is None:
                rows = tuple(
                    (
                        account.name,
                        account.role,
                        "active" if account.active else "off",
                        "yes" if account.has_password else "",
                    )
                    for account in accounts(store)
                )
                self.show(Table((Column("name"), Column("role"), Column("state"), Column("password")), rows))
                return
            if self.off:
                set_active(store, self.name, False)
                self.emit(f"{self.name} cannot log in any more")
                return
            password = secrets.token_urlsafe(9)
            if self.password_file is not None:
                password = read_bytes(self.password_file).decode("utf-8", "replace").split("\n")[0].rstrip("\r")
            add_account(store, self.name, self.role, password)
            shown = f": the password is {password}" if self.password_file is None else ""
            role = next(account.role for account in accounts(store) if account.name == self.name)
            self.emit(f"{self.name} ({role}){shown}")
