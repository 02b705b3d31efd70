"""Changes of a site in Slurm's own words, such as ``QOS long MaxJobsPerUser=8``: `Site.with_`.

A change is refused where it would change nothing: a name that is unknown, has no influence, or is
not modeled.
"""

import difflib
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from cosimlib.slurm.options import (
    GLOBAL,
    LIMITS,
    NOT_FOLLOWED,
    NOT_FOLLOWED_ACCOUNTING,
    NOT_FOLLOWED_PARTITION,
    NOT_FOLLOWED_SCHEDULER,
    OF_ASSOCIATION,
    OF_ONE_RESOURCE,
    OF_QOS,
    PARTITION,
    PARTITION_WITHOUT_INFLUENCE,
    PLUGINS,
    SCHEDULER,
    WITHOUT_INFLUENCE,
    Unfollowed,
)
from cosimlib.slurm.settings import (
    WITH_PARTS,
    set_of_association,
    set_of_partition,
    set_of_qos,
    set_option,
)
from cosimlib.slurm.site import Association, NotModeled, Site
from cosimlib.slurm.values import SettingError, plain


def change(site: Site, text: str) -> Site:
    """A site with one change, such as ``"bf_window=1440"`` or ``"QOS long MaxJobsPerUser=8"``.

    Raises
    ------
    SettingError
        If the name is unknown (names the nearest), is not modelled, or the value is none.
    """
    words = shlex.split(text)
    kind, _, named = words[0].partition("=") if words else ("", "", "")
    kind = kind.lower()
    if kind not in _ENTITIES:
        return _change_option(site, text)
    rest = [named, *words[1:]] if named else words[1:]
    if len(rest) < 2:
        raise SettingError(f"{text!r}; expected such as 'QOS long MaxJobsPerUser=8'")
    return _ENTITIES[kind](site, rest[0], _pairs(rest[1:], text))


def _change_option(site: Site, text: str) -> Site:
    name, equal, value = text.partition("=")
    key = plain(name)
    known = [*GLOBAL, *PLUGINS, *WITH_PARTS, *SCHEDULER]
    if key not in known:
        unfollowed = NOT_FOLLOWED | NOT_FOLLOWED_SCHEDULER
        raise _unknown(text, name, known, unfollowed, WITHOUT_INFLUENCE)
    if not equal and key != "bf_continue":
        raise SettingError(f"{text!r}; expected Name=value")
    return _without_new(site, set_option(site, name.strip(), value, "a change"))


def _pairs(words: Iterable[str], text: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words if word.lower() not in ("set", "where")]
    if not all(equal for _, equal, _ in pairs):
        raise SettingError(f"{text!r}; expected Name=value after the name")
    return [(name, value) for name, _, value in pairs]


def _change_partition(site: Site, name: str, pairs: list[tuple[str, str]]) -> Site:
    _check_name("partition", name, site.partitions)
    one = site.partitions[name]
    for key, value in pairs:
        known = [*PARTITION, "oversubscribe"]
        _check_key(key, known, NOT_FOLLOWED_PARTITION, PARTITION_WITHOUT_INFLUENCE)
        one = _followed(set_of_partition(one, key, value))
    return replace(site, partitions={**site.partitions, name: one})


def _change_qos(site: Site, name: str, pairs: list[tuple[str, str]]) -> Site:
    _check_name("QOS", name, site.qos)
    one = site.qos[name]
    for key, value in pairs:
        _check_key(key, [*OF_QOS, *LIMITS, *OF_ONE_RESOURCE], NOT_FOLLOWED_ACCOUNTING)
        _check_enforced(site, key, f"QOS {name}")
        one = _followed(set_of_qos(one, key, value))
    return replace(site, qos={**site.qos, name: one})


def _change_account(site: Site, name: str, pairs: list[tuple[str, str]]) -> Site:
    accounts = [one.account for one in site.associations if not one.user]
    _check_name("account", name, accounts)
    return _change_associations(site, lambda one: one.account == name and not one.user, pairs)


def _change_user(site: Site, name: str, pairs: list[tuple[str, str]]) -> Site:
    account = next((value for key, value in pairs if plain(key) == "account"), None)
    users = {one.user for one in site.associations if one.user}
    _check_name("user", name, users)
    own = [one for one in site.associations if one.user == name]
    if account is not None:
        _check_name(f"account of {name}", account, [one.account for one in own])
    rest = [(key, value) for key, value in pairs if plain(key) != "account"]
    return _change_associations(
        site, lambda one: one.user == name and account in (None, one.account), rest
    )


def _change_associations(
    site: Site, chosen: Callable[[Association], bool], pairs: list[tuple[str, str]]
) -> Site:
    changed = []
    for one in site.associations:
        for key, value in pairs if chosen(one) else ():
            _check_key(key, [*OF_ASSOCIATION, *LIMITS, *OF_ONE_RESOURCE], NOT_FOLLOWED_ACCOUNTING)
            _check_enforced(site, key, one.user or one.account)
            one = _followed(set_of_association(one, key, value))
        changed.append(one)
    return replace(site, associations=tuple(changed))


_ENTITIES: dict[str, Callable[[Site, str, list[tuple[str, str]]], Site]] = {
    "qos": _change_qos,
    "partition": _change_partition,
    "partitionname": _change_partition,
    "account": _change_account,
    "user": _change_user,
}


def _followed(found: tuple[Any, list[NotModeled]]) -> Any:
    """What was changed; an error if a part of the change is not followed."""
    one, notes = found
    if notes:
        raise SettingError(f"{notes[0].setting}={notes[0].value} is not modeled: {notes[0].effect}")
    return one


def _without_new(before: Site, after: Site) -> Site:
    """The site after a change; an error if the change is one that is not followed."""
    new = [one for one in after.not_modeled if one not in before.not_modeled]
    if new:
        raise SettingError(f"{new[0].setting}={new[0].value} is not modeled: {new[0].effect}")
    return after


def _check_name(what: str, name: str, known: Iterable[str]) -> None:
    known = sorted(known)
    if name not in known:
        near = difflib.get_close_matches(name, known, 3, 0.4) or known[:5]
        raise SettingError(f"no {what} {name!r}; expected one such as {', '.join(near)}")


def _check_enforced(site: Site, name: str, place: str) -> None:
    """Refuse a limit on a site that does not enforce limits: it would bind nobody."""
    if plain(name) in {*LIMITS, *OF_ONE_RESOURCE} and "limits" not in site.enforce:
        raise SettingError(
            f"{place} {name}: the site does not enforce limits, so that it would bind nobody; make "
            "the change AccountingStorageEnforce=associations,limits,qos before it"
        )


def _check_key(
    name: str,
    known: Iterable[str],
    unfollowed: Mapping[str, Unfollowed],
    idle: frozenset[str] = frozenset(),
) -> None:
    known = list(known)
    if plain(name) not in known:
        raise _unknown(name, name, known, unfollowed, idle)


def _unknown(
    text: str,
    name: str,
    known: Iterable[str],
    unfollowed: Mapping[str, Unfollowed],
    idle: frozenset[str],
) -> SettingError:
    """The error for a name that cannot be changed: not modelled, without influence, or unknown."""
    key = plain(name)
    if key in unfollowed:
        return SettingError(f"{text!r} is not modeled: {unfollowed[key].effect}")
    if key in idle:
        return SettingError(f"{text!r} has no influence on who starts when; leave it out")
    near = difflib.get_close_matches(key, list(known), 3, 0.5)
    advice = ", ".join(near) if near else "an option of slurm.conf, 'QOS name ...'"
    return SettingError(f"{text!r}: no setting {name.strip()!r}; expected one such as {advice}")
