"""A site with one more setting, as its files or its operator give it.

Each function takes a record of a site (`cosimlib.slurm.site`), an option and its value, and returns
the changed record; what is not followed is named. The options are in `cosimlib.slurm.options`.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from cosimlib.slurm.limits import TRES
from cosimlib.slurm.options import (
    ACCOUNTING_WITHOUT_INFLUENCE,
    FLAGS_NOT_FOLLOWED,
    GLOBAL,
    LIMITS,
    NORMALIZED,
    NOT_FOLLOWED,
    NOT_FOLLOWED_ACCOUNTING,
    NOT_FOLLOWED_PARTITION,
    NOT_FOLLOWED_SCHEDULER,
    OF_ASSOCIATION,
    OF_ASSOCIATION_ONLY,
    OF_ONE_RESOURCE,
    OF_QOS,
    PARTITION,
    PARTITION_WITHOUT_INFLUENCE,
    PLUGINS,
    SCHEDULER,
    SCHEDULER_WITHOUT_INFLUENCE,
    SELECT_NOT_FOLLOWED,
    UNKNOWN,
    UNSET,
    WITHOUT_INFLUENCE,
    Option,
    effect_of,
    kept,
)
from cosimlib.slurm.site import QOS, Association, Limits, NotModeled, Partition, Site
from cosimlib.slurm.values import (
    NO_LIMIT,
    NONE,
    Read,
    SettingError,
    limit_of,
    memory_limit_of,
    memory_of,
    names_of,
    plain,
)

# --- options of slurm.conf ------------------------------------------------------------------------


def set_option(site: Site, name: str, value: str, place: str = "") -> Site:
    """A site with an option of slurm.conf; what is not followed is added to `not_modeled`.

    Raises
    ------
    SettingError
        If the value is none; says what was expected.
    """
    # Some sites write SchedulerParameters==..., which Slurm takes.
    key, value = plain(name), value.strip().lstrip("=").strip()
    if key in WITH_PARTS:
        return WITH_PARTS[key](site, name, value, place)
    if key in PLUGINS:
        return _set_plugin(site, name, value, place)
    if key in GLOBAL:
        return _assign(site, GLOBAL[key], name, value)
    if key in SCHEDULER or key in NOT_FOLLOWED_SCHEDULER:
        return _set_scheduler(site, name, f"{key}={value}", place)
    effect = effect_of(key, value, NOT_FOLLOWED, WITHOUT_INFLUENCE)
    return note(site, name, value, place, effect) if effect else site


def _set_plugin(site: Site, name: str, value: str, place: str) -> Site:
    """Which plugin decides: those that are not simulated are named."""
    option, known = PLUGINS[plain(name)]
    word = value.lower().rpartition("/")[2]
    if word not in known:
        return note(site, name, value, place, "another plugin would decide than is simulated")
    return _put(site, option, known[word])


def _assign(site: Site, option: Option, name: str, value: str) -> Site:
    """A site with the field of an option."""
    return _put(site, option, read_setting(name, value, option.read))


def _put(site: Site, option: Option, found: Any) -> Site:
    """A site with a value in the field of an option."""
    if option.record == "site":
        return replace(site, **{option.field: found})
    record = replace(getattr(site, option.record), **{option.field: found})
    return replace(site, **{option.record: record})


def read_setting(setting: str, value: str, read: Read) -> Any:
    """The value of a setting; the error names the setting, its value and what was expected."""
    try:
        return read(value)
    except SettingError as error:
        raise SettingError(f"{setting}={value!r}; expected {error}") from None


def note(site: Site, name: str, value: str, place: str, effect: str) -> Site:
    """A site that names one more setting that is not followed, in place of an older value."""
    others = tuple(one for one in site.not_modeled if plain(one.setting) != plain(name))
    return replace(site, not_modeled=(*others, NotModeled(name, value, place, effect)))


# --- options with several parts -------------------------------------------------------------------


def _set_scheduler(site: Site, name: str, value: str, place: str) -> Site:
    """``SchedulerParameters``, parted by commas."""
    for part in names_of("" if value.lower() in NONE else value):
        option, _, given = part.partition("=")
        key = plain(option)
        if key in SCHEDULER:
            site = _assign(site, SCHEDULER[key], option, given)
            continue
        effect = effect_of(key, given, NOT_FOLLOWED_SCHEDULER, SCHEDULER_WITHOUT_INFLUENCE)
        if effect:
            site = note(site, option, given, place, effect)
    return site


def _set_flags(site: Site, name: str, value: str, place: str) -> Site:
    """``PriorityFlags``."""
    flags = {plain(flag) for flag in names_of(value) if plain(flag) not in NONE}
    normal = {kind for kind in NORMALIZED if flags & {"no_normal_all", f"no_normal_{kind}"}}
    known = {"accrue_always", "fair_tree", "no_fair_tree", "small_relative_to_time"}
    known |= {"no_normal_all", *(f"no_normal_{kind}" for kind in NORMALIZED)}
    priority = replace(
        site.priority,
        accrue_always="accrue_always" in flags,
        fair_tree="no_fair_tree" not in flags,
        size_relative_to_time="small_relative_to_time" in flags,
        no_normal_all=frozenset(normal),
    )
    site = replace(site, priority=priority)
    for flag in sorted(flags - known):
        effect = FLAGS_NOT_FOLLOWED.get(flag, UNKNOWN)
        site = note(site, f"{name} {flag.upper()}", value, place, effect)
    return site


def _set_preempt_parameters(site: Site, name: str, value: str, place: str) -> Site:
    """``PreemptParameters``."""
    for part in names_of("" if value.lower() in NONE else value):
        if plain(part) == "youngest_first":
            site = replace(site, preemption=replace(site.preemption, youngest_first=True))
        else:
            site = note(site, f"{name} {part}", value, place, "other jobs might be preempted")
    return site


def _set_select(site: Site, name: str, value: str, place: str) -> Site:
    """``SelectTypeParameters``."""
    gives_memory = "memory" in value.lower() or value.lower() in NONE
    site = replace(site, counts_memory=gives_memory)
    for part in names_of(value):
        if effect := SELECT_NOT_FOLLOWED.get(plain(part)):
            site = note(site, f"{name} {part}", value, place, effect)
    return site


def _set_enforce(site: Site, name: str, value: str, place: str) -> Site:
    """``AccountingStorageEnforce``; all but associations imply those, and safe implies limits."""
    words = {plain(word) for word in names_of(value) if plain(word) not in UNSET}
    if words & {"all", "1"}:
        words |= {"limits", "qos", "associations"}
    if "safe" in words:
        words.add("limits")
        effect = "jobs would start only if they can end within what their group may use"
        site = note(site, f"{name} safe", value, place, effect)
    if "wckeys" in words:
        site = note(site, f"{name} wckeys", value, place, "jobs without a key would be refused")
    return replace(site, enforce=frozenset(words - {"all", "1", "safe", "nosteps", "nojobs"}))


def _set_default_memory(site: Site, name: str, value: str, place: str) -> Site:
    """``DefMemPerCPU`` and ``DefMemPerNode``, for partitions that have none of their own."""
    if value.upper() in ("UNLIMITED", "0"):
        return site
    field, _ = PARTITION[plain(name)]
    amount = read_setting(name, value, memory_of)
    partitions = dict(site.partitions)
    for key, one in partitions.items():
        if one.memory_per_core is None and one.memory_per_node is None:
            partitions[key] = replace(one, **{field: amount})
    return replace(site, partitions=partitions)


WITH_PARTS: dict[str, Callable[[Site, str, str, str], Site]] = {
    "schedulerparameters": _set_scheduler,
    "priorityflags": _set_flags,
    "preemptparameters": _set_preempt_parameters,
    "selecttypeparameters": _set_select,
    "accountingstorageenforce": _set_enforce,
    "defmempercpu": _set_default_memory,
    "defmempernode": _set_default_memory,
}
"""Options whose value has several parts, or goes to several records."""


# --- partitions -----------------------------------------------------------------------------------


def set_of_partition(
    one: Partition, name: str, value: str, place: str = ""
) -> tuple[Partition, list[NotModeled]]:
    """A partition with an option, and what of it is not followed; ``Nodes`` is left to callers."""
    key, setting = plain(name), f"PartitionName={one.name} {name}"
    if key in ("oversubscribe", "shared"):
        word = value.upper()
        notes = []
        if word.startswith(("YES", "FORCE")):
            effect = "jobs would share cores; here each core has one job"
            notes = [NotModeled(setting, value, place, effect)]
        return replace(one, exclusive=word.startswith("EXCLUSIVE")), notes
    if key in PARTITION:
        field, read = PARTITION[key]
        changed = replace(one, **{field: read_setting(setting, value, read)})
        if key == "priority":  # older Slurms: both at once
            changed = replace(changed, tier=changed.priority_factor)
        return changed, _lost(setting, value, place) if key == "tresbillingweights" else []
    effect = effect_of(key, value, NOT_FOLLOWED_PARTITION, PARTITION_WITHOUT_INFLUENCE)
    return one, [NotModeled(setting, value, place, effect)] if effect else []


# --- QOS and associations -------------------------------------------------------------------------


def set_of_qos(one: QOS, name: str, value: str, place: str = "") -> tuple[QOS, list[NotModeled]]:
    """A QOS with an option, and what of it is not followed."""
    return _set_accounting(one, name, value, place, f"QOS {one.name} {name}", OF_QOS)


def set_of_association(
    one: Association, name: str, value: str, place: str = ""
) -> tuple[Association, list[NotModeled]]:
    """An association with an option, and what of it is not followed."""
    who = f"User {one.user} {name}" if one.user else f"Account {one.account} {name}"
    if plain(name) in OF_ASSOCIATION_ONLY:
        effect = effect_of(plain(name), value, OF_ASSOCIATION_ONLY, frozenset())
        return one, [NotModeled(who, value, place, effect)] if effect else []
    return _set_accounting(one, name, value, place, who, OF_ASSOCIATION)


def _set_accounting(
    one: Any, name: str, value: str, place: str, setting: str, own: Mapping[str, tuple[str, Read]]
) -> tuple[Any, list[NotModeled]]:
    """A QOS or an association with an option, and what of it is not followed."""
    key, value = plain(name), value.strip()
    if key in own:
        field, read = own[key]
        return replace(one, **{field: _given(one, field, setting, value, read)}), []
    if key in LIMITS or key in OF_ONE_RESOURCE:
        return _limited(one, key, setting, value, place)
    effect = effect_of(
        key, value, NOT_FOLLOWED_ACCOUNTING, ACCOUNTING_WITHOUT_INFLUENCE, harmless=UNSET
    )
    return one, [NotModeled(setting, value, place, effect)] if effect else []


def _given(one: Any, field: str, setting: str, value: str, read: Read) -> Any:
    """A field's new value; no text is the default, and lists of names may add and take away."""
    if not value:
        return next(each for each in fields(one) if each.name == field).default
    found = read_setting(setting, value, read)
    return _joined(getattr(one, field), found) if field in ("qos", "preempts") else found


def _limited(
    one: Any, key: str, setting: str, value: str, place: str
) -> tuple[Any, list[NotModeled]]:
    """A QOS or an association with another limit."""
    limits: Limits = one.limits
    notes: list[NotModeled] = []
    if key in OF_ONE_RESOURCE:
        field, resource = OF_ONE_RESOURCE[key]
        most = read_setting(setting, value, memory_limit_of if resource == "mem" else limit_of)
        found = {name: each for name, each in getattr(limits, field).items() if name != resource}
        if most < NO_LIMIT:
            found[resource] = most
    else:
        field, read = LIMITS[key]
        found = read_setting(setting, value, read)
        if isinstance(found, dict):
            notes, found = _lost(setting, value, place), kept(found)
    changed: dict[str, Any] = {field: found}
    return replace(one, limits=replace(limits, **changed)), notes


def _lost(setting: str, value: str, place: str) -> list[NotModeled]:
    """Resources of a text of which the simulator keeps no account."""
    names = [part.partition("=")[0].strip().lower() for part in names_of(value)]
    effect = "the simulator keeps no account of this resource"
    return [
        NotModeled(f"{setting} {name}", value, place, effect) for name in names if name not in TRES
    ]


def _joined(before: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
    """Names after ``a,b``, ``+c`` or ``-a``."""
    if not any(name[0] in "+-" for name in given):
        return given
    taken = {name[1:] for name in given if name[0] == "-"}
    more = [name.lstrip("+") for name in given if name[0] != "-"]
    return tuple(dict.fromkeys([*(name for name in before if name not in taken), *more]))
