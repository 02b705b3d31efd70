"""What sacctmgr prints or runs, as QOS and accounts: dumps, tables of ``show``, and scripts.

- ``sacctmgr dump CLUSTER``: lines such as ``User - 'anna':DefaultAccount='physics':Fairshare=1``
- ``sacctmgr show assoc -P`` and ``sacctmgr show qos -P``: tables with a heading
- scripts: ``add qos``, ``add account``, ``add user``, ``modify ... set ...``, ``remove ...``, each
  with or without ``sacctmgr -i`` before it
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from cosimlab.slurm.configuration import checked
from cosimlib.slurm.settings import set_of_association, set_of_qos
from cosimlib.slurm.site import QOS, Association, NotModeled
from cosimlib.slurm.values import plain
from cosimlib.traces.account import TraceError

ROOT = "root"
DUMPED = re.compile(r"^(Cluster|Parent|Account|User|QOS) - ")
ADD, MODIFY, REMOVE = ("add", "create"), ("modify", "update"), ("remove", "delete")
NO_CHANGE = ("list", "show", "exit", "quit", "dump", "load", "ping", "version", "echo")

Pairs = list[tuple[str, str]]


@dataclass
class Accounting:
    """QOS and associations as they are read, and what of them is not followed."""

    qos: dict[str, QOS] = field(default_factory=dict)
    associations: dict[tuple[str, str], Association] = field(
        default_factory=lambda: {(ROOT, ""): Association(ROOT)}
    )
    notes: list[NotModeled] = field(default_factory=list)

    def set_qos(self, name: str, pairs: Pairs, place: str) -> None:
        """Enter options of a QOS, which is new or not."""
        one = self.qos.get(name, QOS(name))
        for key, value in pairs:
            one, notes = checked(place, set_of_qos, one, key, value, place)
            self.notes += notes
        self.qos[name] = one

    def set_association(
        self, account: str, user: str, pairs: Pairs, place: str, parent: str | None = None
    ) -> None:
        """Enter options of an account or of a user in an account."""
        key = (account, user)
        above = account if user else "" if account == ROOT else ROOT
        one = self.associations.get(key, Association(account, user, above))
        if parent is not None:
            one = replace(one, parent=parent)
        for name, value in pairs:
            one, notes = checked(place, set_of_association, one, name, value, place)
            self.notes += notes
        self.associations[key] = one

    def finished(self) -> tuple[Association, ...]:
        """Associations, the root first, with the QOS of those above where they have none.

        Raises
        ------
        TraceError
            If an account is not there.
        """
        for one in self.associations.values():
            if one.parent and (one.parent, "") not in self.associations:
                who = f"user {one.user} in" if one.user else "account"
                raise TraceError(
                    f"{who} {one.account}: no account {one.parent!r} above it; export all accounts"
                )
        return tuple(self._inherited(one) for one in self.associations.values())

    def _inherited(self, one: Association) -> Association:
        """An association with the QOS of the nearest one above that has some."""
        above = one
        for _ in range(len(self.associations)):
            if (one.qos and one.default_qos) or not above.parent:
                return one
            above = self.associations[above.parent, ""]
            one = replace(
                one, qos=one.qos or above.qos, default_qos=one.default_qos or above.default_qos
            )
        raise TraceError(f"account {one.account!r} is above itself; mend its parents")


# --- tables ---------------------------------------------------------------------------------------


def is_table(heading: str, kind: str) -> bool:
    """Whether a line is the heading of ``sacctmgr show assoc`` or ``qos``."""
    columns = {plain(name) for name in heading.split("|")}
    if kind == "assoc":
        return {"account", "user"} <= columns and bool(
            columns & {"share", "parentname", "fairshare"}
        )
    return "name" in columns and bool(columns & {"priority", "maxwall", "usagefactor", "preempt"})


def read_table(into: Accounting, path: Path, kind: str) -> None:
    """Enter a table of ``sacctmgr show assoc`` or ``qos``."""
    lines = [line.rstrip("\r") for line in path.read_text("utf-8", "replace").split("\n")]
    heading: list[str] = []
    above: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields, place = line.split("|"), f"{path}: line {number}"
        if not heading:
            heading = fields
            continue
        if len(fields) != len(heading):
            raise TraceError(
                f"{place}: {len(fields)} fields; expected {len(heading)}, as in the heading; "
                "export the table with -P"
            )
        row = {plain(name): value for name, value in zip(heading, fields, strict=True)}
        pairs = [(name, row[plain(name)]) for name in heading]
        if kind == "qos":
            into.set_qos(row["name"].strip(), pairs, place)
        else:
            _take_row(into, row, pairs, place, above)


def _take_row(
    into: Accounting, row: dict[str, str], pairs: Pairs, place: str, above: list[str]
) -> None:
    """Enter a row of associations; without a column of parents, blanks before a name tell them."""
    written = row["account"]
    account, user = written.strip(), row["user"].strip()
    pairs = [(name, value) for name, value in pairs if plain(name) not in ("account", "user")]
    parent = row.get("parentname", "").strip() or None
    if not user:
        depth = len(written) - len(written.lstrip())
        del above[depth:]
        if parent is None and account != ROOT:
            parent = above[-1] if above else ROOT
        above += [account] * (depth + 1 - len(above))
    into.set_association(account, user, pairs, place, None if user else parent)


# --- dumps ----------------------------------------------------------------------------------------


def read_dump(into: Accounting, path: Path) -> None:
    """Enter what ``sacctmgr dump`` wrote."""
    parent = ROOT
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path}: line {number}"
        if DUMPED.match(line) is None:
            raise TraceError(
                f"{place}: {line!r}; expected Cluster, Parent, Account or User - '...'"
            )
        kind, _, rest = line.partition(" - ")
        pieces = re.findall(r"(?:[^:']|'[^']*')+", rest.strip())
        name, pairs = pieces[0].strip("'"), []
        for piece in pieces[1:]:
            key, _, value = piece.partition("=")
            pairs.append((key, value.strip("'")))
        if kind == "Cluster":
            into.set_association(ROOT, "", pairs, place)
        elif kind == "Parent":
            parent = name
        elif kind == "QOS":
            into.set_qos(name, pairs, place)
        elif kind == "Account":
            into.set_association(name, "", pairs, place, parent)
        else:
            into.set_association(parent, name, pairs, place)


def named_qos(into: Accounting) -> None:
    """Enter QOS that associations name and no table has, as Slurm's empty ones."""
    for one in into.associations.values():
        for name in (*one.qos, *filter(None, [one.default_qos])):
            if name.lstrip("+-") not in into.qos:
                into.qos[name.lstrip("+-")] = QOS(name.lstrip("+-"))


# --- scripts --------------------------------------------------------------------------------------


def commands_of(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Place and words of each command of a script."""
    text = path.read_text("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}: line {number}"
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise TraceError(f"{place}: {line!r}: {error}; mend the quotes") from None
        words = _without_call(words)
        if words:
            yield place, words


def _without_call(words: list[str]) -> list[str]:
    """The words after ``sudo sacctmgr -i``, where that stands before a command."""
    while words and (Path(words[0]).name in ("sacctmgr", "sudo") or words[0][0] == "-"):
        words = words[1:]
    return words


def is_script(lines: Iterable[str]) -> bool:
    """Whether one of these lines is a command of sacctmgr."""
    commands = (_without_call(line.split()) for line in lines)
    return any(
        len(words) > 2 and words[0].lower() in (*ADD, *MODIFY, *REMOVE) for words in commands
    )


def read_script(into: Accounting, path: Path) -> None:
    """Enter what a script of sacctmgr does to a new database."""
    into.qos.setdefault("normal", QOS("normal"))
    into.associations.setdefault((ROOT, ROOT), Association(ROOT, ROOT, ROOT))
    for place, words in commands_of(path):
        verb = words[0].lower()
        if verb in NO_CHANGE:
            continue
        if verb not in (*ADD, *MODIFY, *REMOVE) or len(words) < 2:
            raise TraceError(f"{place}: {' '.join(words)!r}; expected add, modify or remove ...")
        kind = words[1].lower().rstrip("s")
        kind = {"acct": "account", "qo": "qos"}.get(kind, kind)
        if kind not in _COMMANDS:
            raise TraceError(f"{place}: {words[1]!r}; expected qos, cluster, account or user")
        _COMMANDS[kind](into, verb, *_parts(words[2:], verb), place)


def _parts(words: list[str], verb: str) -> tuple[dict[str, str], Pairs]:
    """What is chosen (before ``set``) and what is set."""
    chosen: dict[str, str] = {}
    pairs: Pairs = []
    sets = verb in ADD
    for word in words:
        if word.lower() in ("set", "where"):
            sets = word.lower() == "set"
            continue
        name, equal, value = word.partition("=")
        if not equal:
            chosen["name"] = word
        elif plain(name) in ("name", "names", "account", "accounts", "user", "cluster") or not sets:
            key = plain(name).rstrip("s")
            chosen[key if key in ("name", "account", "user") else plain(name)] = value
        else:
            sign = name[-1] if name[-1] in "+-" else ""
            values = ",".join(sign + each for each in value.split(",")) if sign else value
            pairs.append((name.rstrip("+-"), values))
    return chosen, pairs


def _names(chosen: dict[str, str], *keys: str) -> list[str]:
    text = next((chosen[key] for key in keys if key in chosen), "")
    return [name.strip() for name in text.split(",") if name.strip()]


def _on_qos(into: Accounting, verb: str, chosen: dict[str, str], pairs: Pairs, place: str) -> None:
    for name in _names(chosen, "name") or ([] if verb in ADD else list(into.qos)):
        if verb in REMOVE:
            into.qos.pop(name, None)
        else:
            into.set_qos(name, pairs, place)


def _on_cluster(
    into: Accounting, verb: str, chosen: dict[str, str], pairs: Pairs, place: str
) -> None:
    if verb not in REMOVE:
        into.set_association(ROOT, "", pairs, place)


def _on_account(
    into: Accounting, verb: str, chosen: dict[str, str], pairs: Pairs, place: str
) -> None:
    parent = next((value for name, value in pairs if plain(name) == "parent"), None)
    known = [account for account, user in into.associations if not user]
    names = _names(chosen, "name", "account") or ([] if verb in ADD else known)
    for name in names:
        if verb in REMOVE:
            _remove(into, [key for key in into.associations if key[0] == name])
        else:
            into.set_association(name, "", pairs, place, parent)


def _on_user(into: Accounting, verb: str, chosen: dict[str, str], pairs: Pairs, place: str) -> None:
    default = next((value for name, value in pairs if plain(name) == "defaultaccount"), "")
    accounts = _names(chosen, "account") or (_names({"a": default}, "a") if verb in ADD else [])
    names = _names(chosen, "name", "user")
    if verb in ADD:
        if not accounts:
            raise TraceError(f"{place}: a user without Account= and DefaultAccount=; add one")
        for user in names:
            for account in accounts:
                into.set_association(account, user, pairs, place)
        return
    found = [
        key
        for key in into.associations
        if key[1] and (not names or key[1] in names) and (not accounts or key[0] in accounts)
    ]
    for account, user in found:
        if verb in REMOVE:
            _remove(into, [(account, user)])
        else:
            into.set_association(account, user, pairs, place)


def _remove(into: Accounting, keys: list[tuple[str, str]]) -> None:
    """Remove associations."""
    for key in keys:
        del into.associations[key]


_COMMANDS = {"qos": _on_qos, "cluster": _on_cluster, "account": _on_account, "user": _on_user}
