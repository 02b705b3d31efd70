"""Names of Slurm's options, and the fields of a site that they set.

Three kinds of names are known: options that a field of `Site` follows; options that the simulator
does not follow, with what they would do; and options that have no influence on who starts when. The
names are those of slurm.conf(5) and sacctmgr(1), in any case.

Values are in Slurm's units: minutes where a limit of time is a plain number, megabytes where memory
has no unit.
"""

import difflib
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from cosimlib.slurm.limits import TRES
from cosimlib.slurm.site import (
    NO_LIMIT,
    QOS,
    Association,
    Limits,
    NotModeled,
    Partition,
    Site,
)
from cosimlib.units import DAY, HOUR, MINUTE

NONE = ("", "-1", "none", "unlimited", "infinite", "n/a", "(null)")
UNITS_OF_MEMORY = {"": 1.0, "k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}
NORMALIZED = ("assoc", "part", "qos", "tres")

Read = Callable[[str], Any]


class SettingError(ValueError):
    """A name that Slurm or the simulator does not know, or a value that is none."""


class Option(NamedTuple):
    """Where an option stands: the record of a site, its field, and how the value is read."""

    record: str
    field: str
    read: Read


# --- values ---------------------------------------------------------------------------------------


def time_of(text: str) -> float:
    """Seconds of a time of Slurm: minutes, ``m:s``, ``h:m:s``, ``d-h``, ``d-h:m``, ``d-h:m:s``."""
    if text.lower() in NONE:
        return NO_LIMIT
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdecimal() for part in parts) or (dash and not days.isdecimal()):
        raise SettingError("minutes, [days-]hours:minutes:seconds, days-hours or UNLIMITED")
    numbers = [float(part) for part in parts]
    if len(numbers) > 3:
        raise SettingError("minutes, [days-]hours:minutes:seconds, days-hours or UNLIMITED")
    if dash:
        clock = (HOUR, MINUTE, 1.0)
        return float(days) * DAY + sum(n * s for n, s in zip(numbers, clock, strict=False))
    scales = {1: (MINUTE,), 2: (MINUTE, 1.0), 3: (HOUR, MINUTE, 1.0)}[len(numbers)]
    return sum(n * s for n, s in zip(numbers, scales, strict=True))


def memory_of(text: str) -> float:
    """Megabytes of an amount of memory."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmgt]?)b?", text.strip().lower())
    if match is None:
        raise SettingError("a number of megabytes, or one with K, M, G or T")
    return float(match[1]) * UNITS_OF_MEMORY[match[2]]


def whole(text: str) -> int:
    """A whole number."""
    if re.fullmatch(r"-?[0-9]+", text.strip()) is None:
        raise SettingError("a whole number")
    return int(text)


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise SettingError("a number") from None


def limit_of(text: str) -> float:
    """A limit; none for nothing, −1 and UNLIMITED."""
    return NO_LIMIT if text.strip().lower() in NONE else float(whole(text))


def yes(text: str) -> bool:
    """Yes or no."""
    word = text.strip().lower()
    if word not in ("yes", "no", "true", "false", "1", "0", "up", "down", ""):
        raise SettingError("YES or NO")
    return word in ("yes", "true", "1", "up", "")


def names_of(text: str) -> tuple[str, ...]:
    """Names parted by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def amounts_of(text: str) -> dict[str, float]:
    """Amounts of trackable resources, of which those without a limit (−1) are left out."""
    found = {}
    for part in names_of(text):
        name, equal, amount = part.partition("=")
        if not equal:
            raise SettingError("resources such as cpu=100,mem=200G,gres/gpu=4")
        name = name.strip().lower()
        if amount.strip() != "-1":
            found[name] = memory_of(amount) if name == "mem" else number(amount)
    return found


def weights_of(text: str) -> dict[str, float]:
    """Weights of trackable resources; those of memory are per MB, whatever unit they have."""
    found = {}
    for part in names_of(text):
        name, equal, weight = part.partition("=")
        match = re.fullmatch(r"([0-9.]+)([kmgt]?)", weight.strip().lower())
        if not equal or match is None:
            raise SettingError("weights such as CPU=1.0,Mem=0.25G,GRES/gpu=2.0")
        name = name.strip().lower()
        scale = UNITS_OF_MEMORY[match[2]] if name == "mem" else 1.0
        found[name] = number(match[1]) / scale
    return found


def kept(amounts: Mapping[str, float]) -> dict[str, float]:
    """Those of the resources of which the simulator keeps account."""
    return {name: amount for name, amount in amounts.items() if name in TRES}


def _words(text: str) -> frozenset[str]:
    """Words parted by blanks."""
    return frozenset(text.split())


# --- options that are followed --------------------------------------------------------------------

GLOBAL = {
    "clustername": Option("site", "name", str),
    "prioritytype": Option("priority", "multifactor", lambda text: "multifactor" in text.lower()),
    "priorityweightage": Option("priority", "age", whole),
    "priorityweightassoc": Option("priority", "association", whole),
    "priorityweightfairshare": Option("priority", "fair_share", whole),
    "priorityweightjobsize": Option("priority", "job_size", whole),
    "priorityweightpartition": Option("priority", "partition", whole),
    "priorityweightqos": Option("priority", "qos", whole),
    "priorityweighttres": Option("priority", "tres", lambda text: kept(weights_of(text))),
    "prioritymaxage": Option("priority", "max_age", time_of),
    "priorityfavorsmall": Option("priority", "favor_small", yes),
    "prioritydecayhalflife": Option("priority", "half_life", time_of),
    "prioritycalcperiod": Option("priority", "period", time_of),
    "priorityusageresetperiod": Option("priority", "reset", str.upper),
    "fairsharedampeningfactor": Option("priority", "damping", whole),
    "schedulertype": Option("scheduler", "backfill", lambda text: "backfill" in text.lower()),
    "overtimelimit": Option("scheduler", "over_time_limit", time_of),
    "killwait": Option("scheduler", "kill_wait", number),
    "preemptmode": Option("preemption", "mode", str.upper),
    "preemptexempttime": Option(
        "preemption", "exempt_time", lambda text: 0.0 if text.lower() in NONE else time_of(text)
    ),
    "selecttype": Option("site", "whole_nodes", lambda text: "linear" in text.lower()),
    "selecttypeparameters": Option(
        "site", "counts_memory", lambda text: "memory" in text.lower() or text.lower() in NONE
    ),
}

SCHEDULER = {
    "bf_interval": Option("scheduler", "bf_interval", number),
    "bf_window": Option("scheduler", "bf_window", lambda text: number(text) * MINUTE),
    "bf_resolution": Option("scheduler", "bf_resolution", number),
    "bf_max_job_test": Option("scheduler", "bf_max_job_test", whole),
    "bf_max_job_user": Option("scheduler", "bf_max_job_user", whole),
    "bf_max_job_part": Option("scheduler", "bf_max_job_part", whole),
    "bf_max_job_start": Option("scheduler", "bf_max_job_start", whole),
    "bf_node_space_size": Option("scheduler", "bf_node_space_size", whole),
    "bf_continue": Option("scheduler", "bf_continue", yes),
    "default_queue_depth": Option("scheduler", "queue_depth", whole),
    "partition_job_depth": Option("scheduler", "partition_depth", whole),
    "sched_interval": Option("scheduler", "interval", number),
    "sched_min_interval": Option("scheduler", "least_interval", lambda text: number(text) / 1e6),
}

PARTITION: dict[str, tuple[str, Read]] = {
    "default": ("default", yes),
    "state": ("up", lambda text: text.strip().lower() == "up"),
    "maxtime": ("max_time", time_of),
    "defaulttime": ("default_time", time_of),
    "maxnodes": ("max_nodes", limit_of),
    "minnodes": ("min_nodes", whole),
    "priority": ("priority_factor", whole),
    "priorityjobfactor": ("priority_factor", whole),
    "prioritytier": ("tier", whole),
    "qos": ("qos", lambda text: "" if text.lower() in NONE else text),
    "allowqos": ("allow_qos", lambda text: None if text.lower() == "all" else names_of(text)),
    "denyqos": ("deny_qos", names_of),
    "allowaccounts": (
        "allow_accounts",
        lambda text: None if text.lower() == "all" else names_of(text),
    ),
    "denyaccounts": ("deny_accounts", names_of),
    "defmempercpu": ("memory_per_core", memory_of),
    "defmempernode": ("memory_per_node", memory_of),
    "preemptmode": ("preempt_mode", str.upper),
    "gracetime": ("grace_time", number),
    "tresbillingweights": ("billing_weights", weights_of),
}

LIMITS: dict[str, tuple[str, Read]] = {
    "grpjobs": ("group_jobs", limit_of),
    "grpsubmit": ("group_submitted", limit_of),
    "grpsubmitjobs": ("group_submitted", limit_of),
    "grptres": ("group_tres", amounts_of),
    "maxjobs": ("jobs_per_user", limit_of),
    "maxjobspu": ("jobs_per_user", limit_of),
    "maxjobsperuser": ("jobs_per_user", limit_of),
    "maxjobspa": ("jobs_per_account", limit_of),
    "maxjobsperaccount": ("jobs_per_account", limit_of),
    "maxsubmit": ("submitted_per_user", limit_of),
    "maxsubmitjobs": ("submitted_per_user", limit_of),
    "maxsubmitpu": ("submitted_per_user", limit_of),
    "maxsubmitjobspu": ("submitted_per_user", limit_of),
    "maxsubmitjobsperuser": ("submitted_per_user", limit_of),
    "maxsubmitpa": ("submitted_per_account", limit_of),
    "maxsubmitjobspa": ("submitted_per_account", limit_of),
    "maxsubmitjobsperaccount": ("submitted_per_account", limit_of),
    "maxtres": ("tres_per_job", amounts_of),
    "maxtresperjob": ("tres_per_job", amounts_of),
    "maxtrespj": ("tres_per_job", amounts_of),
    "maxtrespu": ("tres_per_user", amounts_of),
    "maxtresperuser": ("tres_per_user", amounts_of),
    "maxtrespa": ("tres_per_account", amounts_of),
    "maxtresperaccount": ("tres_per_account", amounts_of),
    "maxwall": ("wall_time", time_of),
    "maxwalldurationperjob": ("wall_time", time_of),
}

OF_ONE_RESOURCE = {
    "grpcpus": ("group_tres", "cpu"),
    "grpnodes": ("group_tres", "node"),
    "grpmem": ("group_tres", "mem"),
    "grpmemory": ("group_tres", "mem"),
    "maxcpus": ("tres_per_job", "cpu"),
    "maxcpusperjob": ("tres_per_job", "cpu"),
    "maxnodes": ("tres_per_job", "node"),
    "maxnodesperjob": ("tres_per_job", "node"),
    "maxcpusperuser": ("tres_per_user", "cpu"),
    "maxcpuspu": ("tres_per_user", "cpu"),
    "maxnodesperuser": ("tres_per_user", "node"),
    "maxnodespu": ("tres_per_user", "node"),
}
"""Limits of one resource, as older versions of Slurm have them."""

OF_QOS: dict[str, tuple[str, Read]] = {
    "priority": ("priority", whole),
    "preempt": ("preempts", names_of),
    "preemptmode": ("preempt_mode", str.upper),
    "preemptexempttime": (
        "exempt_time",
        lambda text: 0.0 if text.lower() in NONE else time_of(text),
    ),
    "gracetime": ("grace_time", lambda text: _seconds(text)),
    "usagefactor": ("usage_factor", number),
}

OF_ASSOCIATION: dict[str, tuple[str, Read]] = {
    "fairshare": ("shares", lambda text: None if text.lower() == "parent" else whole(text)),
    "share": ("shares", lambda text: None if text.lower() == "parent" else whole(text)),
    "shares": ("shares", lambda text: None if text.lower() == "parent" else whole(text)),
    "qos": ("qos", names_of),
    "qoslevel": ("qos", names_of),
    "defqos": ("default_qos", str),
    "defaultqos": ("default_qos", str),
}


def _seconds(text: str) -> float:
    """Seconds of a plain number, or of a time with colons."""
    return time_of(text) if ":" in text else number(text)


# --- options that are not followed ----------------------------------------------------------------


class Unfollowed(NamedTuple):
    """What an option would do, and values with which it does nothing."""

    effect: str
    harmless: tuple[str, ...] = ()


OFF = ("no", "0", "none", "(null)", "n/a", "unlimited", "")

NOT_FOLLOWED = {
    "topologyplugin": Unfollowed(
        "jobs would be placed near one switch; here switches do not exist",
        ("topology/none", "topology/default", "topology/flat"),
    ),
    "topologyparam": Unfollowed("it would change how switches bound jobs", OFF),
    "completewait": Unfollowed("nodes would stay empty while jobs end on others", OFF),
    "epilog": Unfollowed("nodes would be free only after a script", OFF),
    "epilogslurmctld": Unfollowed("nodes would be free only after a script", OFF),
    "prolog": Unfollowed("jobs would start only after a script", OFF),
    "prologslurmctld": Unfollowed("jobs would start only after a script", OFF),
    "jobsubmitplugins": Unfollowed("a script would change jobs when they are submitted", OFF),
    "licenses": Unfollowed("jobs would wait for licenses", OFF),
    "maxjobcount": Unfollowed("submissions beyond this many jobs would be refused", ("10000",)),
    "maxmempercpu": Unfollowed("jobs with more memory per core would get more cores", OFF),
    "maxmempernode": Unfollowed("jobs with more memory per node would be refused", OFF),
    "prioritysitefactorplugin": Unfollowed("a plugin would add to priorities", OFF),
    "prioritysitefactorparameters": Unfollowed("a plugin would add to priorities", OFF),
    "schedulertimeslice": Unfollowed("jobs of a gang would take turns", ("30", "30 sec")),
    "suspendtime": Unfollowed(
        "idle nodes would be switched off and take time to come back", ("-1", "infinite", "none")
    ),
    "resvoverrun": Unfollowed("jobs might outlive their reservation", OFF),
    "burstbuffertype": Unfollowed("jobs would wait for their data", OFF),
    "federationparameters": Unfollowed("jobs might start on other clusters", OFF),
    "downnodes": Unfollowed("these nodes would be down; here all nodes are up"),
    "nodeset": Unfollowed("partitions that name it would have its nodes"),
    "jobrequeue": Unfollowed("preempted jobs would not be requeued by default", ("1",)),
}

NOT_FOLLOWED_SCHEDULER = {
    "assoc_limit_stop": "a job at a limit of its account would stop those behind it",
    "batch_sched_delay": "batch jobs would be tried later after their submission",
    "bf_busy_nodes": "backfill would prefer nodes that are busy",
    "bf_ignore_newly_avail_nodes": "backfill would not use nodes that become free while it runs",
    "bf_job_part_count_reserve": "only the first jobs of a partition would have reservations",
    "bf_licenses": "backfill would plan licenses",
    "bf_max_job_array_resv": "only the first tasks of an array would have reservations",
    "bf_max_job_assoc": "backfill would look at so many jobs per user and account",
    "bf_max_job_user_part": "backfill would look at so many jobs per user and partition",
    "bf_max_time": "backfill would stop after this time",
    "bf_min_age_reserve": "young jobs would have no reservation",
    "bf_min_prio_reserve": "jobs of low priority would have no reservation",
    "bf_one_resv_per_job": "a job in several partitions would have one reservation",
    "bf_running_job_reserve": "running jobs would add reservations",
    "bf_topopt_enable": "backfill would weigh the places of jobs",
    "defer": "jobs would not be tried at their submission, but in the next pass",
    "defer_batch": "batch jobs would not be tried at their submission, but in the next pass",
    "delay_boot": "jobs would wait for nodes with their features before others boot",
    "enable_user_top": "users could order their own jobs",
    "extra_constraints": "jobs could ask for more features",
    "ignore_constraint_validation": "jobs with unknown features would wait",
    "max_rpc_cnt": "scheduling would pause while many requests are open",
    "max_sched_time": "the main loop would stop after this time",
    "max_switch_wait": "jobs would wait longer for few switches",
    "pack_serial_at_end": "jobs of one core would go to the last nodes",
    "preempt_reorder_count": "other jobs might be preempted",
    "preempt_strict_order": "other jobs might be preempted",
    "preempt_youngest_first": "the youngest jobs would be preempted first",
    "reduce_completing_frag": "nodes would stay empty while jobs end on others",
    "sched_max_job_start": "the main loop would start so many jobs in a pass",
    "spec_cores_first": "other cores would be kept for the system",
    "time_min_as_soft_limit": "jobs would be planned with their least time",
    "bf_min_age": "young jobs would have no reservation",
}

NOT_FOLLOWED_PARTITION = {
    "allocnodes": Unfollowed("jobs could be submitted from these nodes only", ("all",)),
    "allowgroups": Unfollowed("only users of these groups could use it", ("all",)),
    "alternate": Unfollowed("jobs would go to another partition while this one is down", OFF),
    "exclusiveuser": Unfollowed("nodes would be shared by jobs of one user only", OFF),
    "exclusivetopo": Unfollowed("nodes of a switch would not be shared", OFF),
    "lln": Unfollowed("the least loaded nodes would be taken first", OFF),
    "maxcpuspernode": Unfollowed("jobs of it could have so many cores of a node", NONE),
    "maxcpuspersocket": Unfollowed("jobs of it could have so many cores of a socket", NONE),
    "maxmempercpu": Unfollowed("jobs with more memory per core would get more cores", (*NONE, "0")),
    "maxmempernode": Unfollowed("jobs with more memory per node would be refused", (*NONE, "0")),
    "overtimelimit": Unfollowed("jobs of it could run on after their limit", OFF),
    "reqresv": Unfollowed("jobs would need a reservation", OFF),
    "rootonly": Unfollowed("only root could use it", OFF),
    "suspendtime": Unfollowed("idle nodes would be switched off", ("-1", "infinite", "none")),
    "jobdefaults": Unfollowed("jobs with GPUs would get more cores or memory by default", OFF),
}

NOT_FOLLOWED_ACCOUNTING = {
    "grptresmins": "jobs would wait once a group has used so much",
    "grpcpumins": "jobs would wait once a group has used so much",
    "grptresrunmins": "jobs would wait while running ones may still use so much",
    "grpcpurunmins": "jobs would wait while running ones may still use so much",
    "grpwall": "jobs would wait once a group has used so much time",
    "grpjobsaccrue": "only so many waiting jobs would gain priority by age",
    "maxjobsaccrue": "only so many waiting jobs would gain priority by age",
    "maxjobsaccruepa": "only so many waiting jobs would gain priority by age",
    "maxjobsaccruepu": "only so many waiting jobs would gain priority by age",
    "maxtresmins": "jobs that may use more would be refused",
    "maxtresminsperjob": "jobs that may use more would be refused",
    "maxcpumins": "jobs that may use more would be refused",
    "maxcpuminsperjob": "jobs that may use more would be refused",
    "maxtrespernode": "jobs with more on a node would be refused",
    "maxtrespn": "jobs with more on a node would be refused",
    "maxtresrunmins": "jobs would wait while running ones may still use so much",
    "maxtresrunminspa": "jobs would wait while running ones may still use so much",
    "maxtresrunminspu": "jobs would wait while running ones may still use so much",
    "mintres": "smaller jobs would be refused",
    "mintresperjob": "smaller jobs would be refused",
    "minpriothreshold": "jobs of lower priority would have no reservation",
    "minpriothres": "jobs of lower priority would have no reservation",
    "usagethreshold": "jobs of accounts with a lower fair share would be refused",
    "usagethres": "jobs of accounts with a lower fair share would be refused",
    "flags": "they would change how its limits are used",
    "limitfactor": "limits of associations would be multiplied",
    "maxgpuspu": "users could have so many GPUs",
}
OF_ASSOCIATION_ONLY = {"priority": "it would add to priorities of the account or user"}

WITHOUT_INFLUENCE = _words("""
    accountingstoragebackuphost accountingstorageexternalhost accountingstoragehost
    accountingstorageloc accountingstorageparameters accountingstoragepass accountingstorageport
    accountingstoragetres accountingstoragetype accountingstorageuser accountingstorejobcomment
    accountingstoreflags acctgatherenergytype acctgatherfilesystemtype acctgatherinterconnecttype
    acctgathernodefreq acctgatherprofiletype allowspecresourcesusage authalttypes authaltparameters
    authinfo authtype backupaddr backupcontroller batchstarttimeout bcastexclude bcastparameters
    boot_time cachegroups certgenparameters certgentype certmgrparameters certmgrtype
    checkpointtype clifilterplugins cgroupmountpoint cgroupplugin communicationparameters
    controladdr controlmachine coreprocparameters corespecplugin cpufreqdef cpufreqgovernors
    credtype cryptotype debugflags defaultstoragehost defaultstorageloc defaultstorageport
    defaultstoragetype defaultstorageuser dependencyparameters disablerootjobs eiotimeout
    enforcepartlimits epilogmsgtime epilogtimeout extsensorsfreq extsensorstype fasteschedule
    fastschedule firstjobid frontendname getenvtimeout grestypes groupupdateforce groupupdatetime
    gpufreqdef hash_val hashplugin healthcheckinterval healthchecknodestate healthcheckprogram
    inactivelimit interactivestepoptions jobacctgatherfrequency jobacctgatherparams
    jobacctgathertype jobcomphost jobcomploc jobcompparams jobcomppass jobcompport jobcomptype
    jobcompuser jobcontainertype jobcredentialprivatekey jobcredentialpubliccertificate
    jobfileappend jobcheckpointdir killonbadexit launchparameters launchtype logtimeformat
    mailpriority maildomain mailprog maxarraysize maxbatchrequeue maxdbdmsgs maxjobid
    maxmempergpu maxnodecount maxstepcount maxtasknode maxtaskspernode mcsparameters mcsplugin
    messagetimeout metricstype minjobage mpidefault mpiparams multiple_slurmd namespacetype
    next_job_id nodefeaturesplugins overtimelimitaction plugindir plugstackconfig powerparameters
    powerplugin preemptsendusersignal prepparameters prepplugins privatedata proctracktype
    prologepilogtimeout prologflags prologtimeout propagateprioprocess propagateresourcelimits
    propagateresourcelimitsexcept rebootprogram reconfigflags requeueexit requeueexithold
    resumefailprogram resumeprogram resumerate resumetimeout resvepilog resvprolog
    returntoservice routeplugin sbcastparameters schedulerport schedulerrootfilter scronparameters
    slurm_conf slurm_version slurmctldaddr slurmctlddebug slurmctldhost slurmctldlogfile
    slurmctldparameters slurmctldpidfile slurmctldplugstack slurmctldport
    slurmctldprimaryoffprog slurmctldprimaryonprog slurmctldsyslogdebug slurmctldtimeout
    slurmddebug slurmdlogfile slurmdparameters slurmdpidfile slurmdport slurmdspooldir
    slurmdsyslogdebug slurmdtimeout slurmduser slurmschedlogfile slurmschedloglevel slurmuser
    srunepilog srunportrange srunprolog statesavelocation suspendexcnodes suspendexcparts
    suspendexcstates suspendprogram suspendrate suspendtimeout switchparameters switchtype
    taskepilog taskplugin taskpluginparam taskprolog tcptimeout timeformat tlsparameters tlstype
    tmpfs trackwckey treewidth unkillablestepprogram unkillablesteptimeout urlparameters usepam
    useenvfile usespankplugins vsizefactor waittime x11parameters
""")
"""Options of slurm.conf that say nothing about who starts when: logs, ports, paths, time-outs."""

SCHEDULER_WITHOUT_INFLUENCE = _words("""
    allow_zero_lic bb_array_stage_cnt bf_allow_magnetic_resv bf_hetjob_immediate bf_hetjob_prio
    bf_yield_interval bf_yield_rpc_cnt bf_yield_sleep bf_topopt_iterations build_queue_timeout
    cron_job default_gbytes disable_hetjob_steps disable_job_shrink disable_send_gids
    disable_user_top hetjob_prio ignore_numa ignore_prefer_validation kill_invalid_depend
    max_array_tasks max_depend_depth max_script_size max_submit_line_size no_backup_scheduling
    no_env_cache nohold_on_prolog_fail permit_job_expansion requeue_delay
    requeue_on_resume_failure salloc_wait_nodes sbatch_wait_nodes step_retry_count
    step_retry_time whole_hetjob default_job_depth
""")

PARTITION_WITHOUT_INFLUENCE = _words("""
    cpubind disablerootjobs hidden powerdownonidle resumetimeout suspendtimeout
    totalcpus totalnodes topology selecttypeparameters tres nodes shared oversubscribe
""")

ACCOUNTING_WITHOUT_INFLUENCE = _words("""
    adminlevel cluster comment coordinators defaultaccount defaultwckey defaccount description
    descr id lft lineage name organization org parent parentid parentname parid partition rgt
    user account userid wckey wckeys withassoc withdeleted rawusage classification cpucount
    controlhost controlport rpc federation features nodenames clusternodes idoforg
""")


# --- setting --------------------------------------------------------------------------------------


def plain(name: str) -> str:
    """A name in lower case, without blanks and marks except for the underscore."""
    return re.sub(r"[^a-z0-9_]", "", name.lower())


def set_option(site: Site, name: str, value: str, place: str = "") -> Site:
    """A site with an option of slurm.conf; what is not followed is added to `not_modeled`.

    Raises
    ------
    SettingError
        If the value is none; says what was expected.
    """
    key, value = plain(name), value.strip().lstrip("=").strip()
    special = _SPECIAL.get(key)
    if special is not None:
        return special(site, name, value, place)
    if key in GLOBAL:
        return _assign(site, GLOBAL[key], name, value)
    if key in SCHEDULER or key in NOT_FOLLOWED_SCHEDULER:
        return set_scheduler(site, f"{key}={value}", place)
    if key in NOT_FOLLOWED:
        harmless = value.lower() in NOT_FOLLOWED[key].harmless
        effect = NOT_FOLLOWED[key].effect
        return site if harmless else note(site, name, value, place, effect)
    if key in WITHOUT_INFLUENCE:
        return site
    return note(site, name, value, place, "unknown here; it may do anything")


def set_scheduler(site: Site, text: str, place: str = "") -> Site:
    """A site with options of ``SchedulerParameters``, parted by commas."""
    for part in names_of("" if text.lower() in NONE else text):
        name, _, value = part.partition("=")
        key = plain(name)
        if key in SCHEDULER:
            site = _assign(site, SCHEDULER[key], name, value)
        elif key == "preempt_youngest_first":
            site = replace(site, preemption=replace(site.preemption, youngest_first=yes(value)))
        elif key not in SCHEDULER_WITHOUT_INFLUENCE:
            effect = NOT_FOLLOWED_SCHEDULER.get(key, "unknown here; it may do anything")
            site = note(site, name, value, place, effect)
    return site


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
        changed = replace(one, **{field: _read(setting, value, read)})
        if key == "priority":  # older Slurms: both at once
            changed = replace(changed, tier=changed.priority_factor)
        return changed, _lost(setting, value, place) if key == "tresbillingweights" else []
    if key in NOT_FOLLOWED_PARTITION:
        found = NOT_FOLLOWED_PARTITION[key]
        harmless = value.lower() in found.harmless
        return one, [] if harmless else [NotModeled(setting, value, place, found.effect)]
    if key in PARTITION_WITHOUT_INFLUENCE:
        return one, []
    return one, [NotModeled(setting, value, place, "unknown here; it may do anything")]


def set_of_qos(one: QOS, name: str, value: str, place: str = "") -> tuple[QOS, list[NotModeled]]:
    """A QOS with an option, and what of it is not followed."""
    return _set_accounting(one, name, value, place, f"QOS {one.name} {name}", OF_QOS)


def set_of_association(
    one: Association, name: str, value: str, place: str = ""
) -> tuple[Association, list[NotModeled]]:
    """An association with an option, and what of it is not followed."""
    who = f"User {one.user} {name}" if one.user else f"Account {one.account} {name}"
    if plain(name) in OF_ASSOCIATION_ONLY:
        if value.strip().lower() in (*NONE, "0"):
            return one, []
        effect = OF_ASSOCIATION_ONLY[plain(name)]
        return one, [NotModeled(who, value, place, effect)]
    return _set_accounting(one, name, value, place, who, OF_ASSOCIATION)


def _set_accounting(
    one: Any, name: str, value: str, place: str, setting: str, own: Mapping[str, tuple[str, Read]]
) -> tuple[Any, list[NotModeled]]:
    """A QOS or an association with an option, and what of it is not followed."""
    key, value = plain(name), value.strip()
    if key in own:
        field, read = own[key]
        if not value:  # nothing is the default
            value_now = next(each for each in fields(one) if each.name == field).default
        else:
            value_now = _read(setting, value, read)
            if field in ("qos", "preempts"):
                value_now = _joined(getattr(one, field), value_now)
        return replace(one, **{field: value_now}), []
    if key in LIMITS or key in OF_ONE_RESOURCE:
        return _limited(one, key, setting, value, place)
    if key in ACCOUNTING_WITHOUT_INFLUENCE or value.lower() in (*NONE, "0", "0.000000"):
        return one, []
    effect = NOT_FOLLOWED_ACCOUNTING.get(key, "unknown here; it may do anything")
    return one, [NotModeled(setting, value, place, effect)]


def _limited(
    one: Any, key: str, setting: str, value: str, place: str
) -> tuple[Any, list[NotModeled]]:
    """A QOS or an association with another limit."""
    limits: Limits = one.limits
    if key in OF_ONE_RESOURCE:
        field, resource = OF_ONE_RESOURCE[key]
        amounts: Any = dict(getattr(limits, field))
        amounts.pop(resource, None)
        most = memory_of(value) if resource == "mem" else _read(setting, value, limit_of)
        if most < NO_LIMIT:
            amounts[resource] = most
        changed: dict[str, Any] = {field: amounts}
        return replace(one, limits=replace(limits, **changed)), []
    field, read = LIMITS[key]
    found = _read(setting, value, read)
    notes = []
    if isinstance(found, dict):
        notes = _lost(setting, value, place)
        found = kept(found)
    return replace(one, limits=replace(limits, **{field: found})), notes


def _lost(setting: str, value: str, place: str) -> list[NotModeled]:
    """Resources of a text of which the simulator keeps no account."""
    names = [part.partition("=")[0].strip().lower() for part in names_of(value)]
    lost = [name for name in names if name not in TRES]
    effect = "the simulator keeps no account of this resource"
    return [NotModeled(f"{setting} {name}", value, place, effect) for name in lost]


def _joined(before: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
    """Names after ``a,b``, ``+c`` or ``-a``."""
    if not any(name[0] in "+-" for name in given):
        return given
    taken = {name[1:] for name in given if name[0] == "-"}
    more = [name.lstrip("+") for name in given if name[0] != "-"]
    return tuple(dict.fromkeys([*(name for name in before if name not in taken), *more]))


def _assign(site: Site, option: Option, name: str, value: str) -> Site:
    """A site with the field of an option."""
    found = _read(name, value, option.read)
    if option.field == "half_life" and found == NO_LIMIT:
        found = 0.0
    if option.record == "site":
        return replace(site, **{option.field: found})
    record = replace(getattr(site, option.record), **{option.field: found})
    return replace(site, **{option.record: record})


def _read(setting: str, value: str, read: Read) -> Any:
    """The value of a setting; the error names it and what was expected."""
    try:
        return read(value)
    except SettingError as error:
        raise SettingError(f"{setting}={value!r}; expected {error}") from None


def note(site: Site, name: str, value: str, place: str, effect: str) -> Site:
    """A site that names one more setting that is not followed, in place of an older value."""
    others = tuple(one for one in site.not_modeled if plain(one.setting) != plain(name))
    return replace(site, not_modeled=(*others, NotModeled(name, value, place, effect)))


# --- options with several parts -------------------------------------------------------------------

FLAGS_NOT_FOLLOWED = {
    "calculate_running": "priorities of running jobs would be brought up to date",
    "depth_oblivious": "fair share would not depend on the depth of the tree",
    "incr_only": "priorities would never fall",
    "max_tres": "jobs would be billed by their largest resource",
    "max_tres_gres": "jobs would be billed by their largest resource and GPUs",
}


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
        effect = FLAGS_NOT_FOLLOWED.get(flag, "unknown here; it may do anything")
        site = note(site, f"{name} {flag.upper()}", value, place, effect)
    return site


def _set_preempt_type(site: Site, name: str, value: str, place: str) -> Site:
    """``PreemptType``."""
    kinds = {"none": "", "partition_prio": "partition", "qos": "qos", "(null)": ""}
    word = value.lower().removeprefix("preempt/")
    if word not in kinds:
        known = "preempt/none, preempt/partition_prio or preempt/qos"
        raise SettingError(f"{name}={value!r}; expected {known}")
    return replace(site, preemption=replace(site.preemption, by=kinds[word]))


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
    site = _assign(site, GLOBAL["selecttypeparameters"], name, value)
    effects = {
        "cr_socket": "jobs would get whole sockets",
        "cr_socket_memory": "jobs would get whole sockets",
        "cr_lln": "the least loaded nodes would be taken first",
        "ll_shared_gres": "the least loaded GPUs would be shared",
        "cr_pack_nodes": "tasks would be packed on few nodes",
        "cr_one_task_per_core": "a task would get a whole core",
        "multiple_sharing_gres_pj": "a job could share several GPUs",
        "one_task_per_sharing_gres": "tasks would share GPUs otherwise",
    }
    for part in names_of(value):
        if effect := effects.get(plain(part)):
            site = note(site, f"{name} {part}", value, place, effect)
    return site


def _set_enforce(site: Site, name: str, value: str, place: str) -> Site:
    """``AccountingStorageEnforce``; all but associations imply those, and safe implies limits."""
    words = {plain(word) for word in names_of(value) if plain(word) not in OFF}
    if words & {"all", "1"}:
        words |= {"limits", "qos", "associations"}
    if "safe" in words:
        words.add("limits")
        effect = "jobs would start only if they can end within what their group may use"
        site = note(site, f"{name} safe", value, place, effect)
    if words & {"wckeys"}:
        site = note(site, f"{name} wckeys", value, place, "jobs without a key would be refused")
    return replace(site, enforce=frozenset(words - {"all", "1", "safe", "nosteps", "nojobs"}))


def _set_default_memory(site: Site, name: str, value: str, place: str) -> Site:
    """``DefMemPerCPU`` and ``DefMemPerNode``, for partitions that have none of their own."""
    if value.upper() in ("UNLIMITED", "0"):
        return site
    field = PARTITION[plain(name)][0]
    amount = _read(name, value, memory_of)
    changed = {
        key: one
        if one.memory_per_core is not None or one.memory_per_node is not None
        else replace(one, **{field: amount})
        for key, one in site.partitions.items()
    }
    return replace(site, partitions=changed)


def _set_parameters(site: Site, name: str, value: str, place: str) -> Site:
    """``SchedulerParameters``."""
    return set_scheduler(site, value, place)


_SPECIAL: dict[str, Callable[[Site, str, str, str], Site]] = {
    "priorityflags": _set_flags,
    "preempttype": _set_preempt_type,
    "preemptparameters": _set_preempt_parameters,
    "selecttypeparameters": _set_select,
    "accountingstorageenforce": _set_enforce,
    "schedulerparameters": _set_parameters,
    "defmempercpu": _set_default_memory,
    "defmempernode": _set_default_memory,
}


# --- changes --------------------------------------------------------------------------------------


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
    known = [*GLOBAL, *_SPECIAL, *SCHEDULER, "preempt_youngest_first"]
    if key not in known:
        unfollowed = {key: one.effect for key, one in NOT_FOLLOWED.items()} | NOT_FOLLOWED_SCHEDULER
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
        unfollowed = {key: each.effect for key, each in NOT_FOLLOWED_PARTITION.items()}
        known = [*PARTITION, "oversubscribe"]
        _check_key(key, known, unfollowed, PARTITION_WITHOUT_INFLUENCE - {"oversubscribe"})
        one = _followed(set_of_partition(one, key, value))
    return replace(site, partitions={**site.partitions, name: one})


def _change_qos(site: Site, name: str, pairs: list[tuple[str, str]]) -> Site:
    _check_name("QOS", name, site.qos)
    one = site.qos[name]
    for key, value in pairs:
        _check_key(key, [*OF_QOS, *LIMITS, *OF_ONE_RESOURCE], NOT_FOLLOWED_ACCOUNTING)
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


def _check_key(
    name: str,
    known: Iterable[str],
    unfollowed: Mapping[str, str],
    idle: frozenset[str] = frozenset(),
) -> None:
    known = list(known)
    if plain(name) not in known:
        raise _unknown(name, name, known, unfollowed, idle)


def _unknown(
    text: str, name: str, known: Iterable[str], unfollowed: Mapping[str, str], idle: frozenset[str]
) -> SettingError:
    """The error for a name that cannot be changed: not modelled, without influence, or unknown."""
    key = plain(name)
    if key in unfollowed:
        return SettingError(f"{text!r} is not modeled: {unfollowed[key]}")
    if key in idle:
        return SettingError(f"{text!r} has no influence on who starts when; leave it out")
    near = difflib.get_close_matches(key, list(known), 3, 0.5)
    advice = ", ".join(near) if near else "an option of slurm.conf, 'QOS name ...'"
    return SettingError(f"{text!r}: no setting {name.strip()!r}; expected one such as {advice}")
