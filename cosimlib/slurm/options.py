"""Names of Slurm's options: which a site follows, which it does not, and which do nothing.

The names are those of slurm.conf(5) and sacctmgr(1), in small letters and without blanks
(`values.plain`). A followed option says which field of which record it is, and how its value is
read. One that is not followed says what it would do, and with which values it does nothing. Options
without influence on who starts when are listed. What is in none of these tables is unknown, and
named as such.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cosimlib.slurm.limits import TRES
from cosimlib.slurm.site import NO_LIMIT
from cosimlib.slurm.values import (
    NONE,
    Read,
    SettingError,
    amounts_of,
    count,
    limit_of,
    memory_of,
    names_of,
    names_or_all,
    number,
    or_else,
    release_of,
    scaled,
    seconds_of,
    shares_of,
    time_from,
    time_of,
    time_or_zero,
    weights_of,
    whole,
    within,
    yes,
)
from cosimlib.units import MINUTE


class Option(NamedTuple):
    """Where an option stands: the record of a site, its field, and how the value is read."""

    record: str
    field: str
    read: Read


def kept(amounts: Mapping[str, float]) -> dict[str, float]:
    """Those of the resources of which the simulator keeps account."""
    return {name: amount for name, amount in amounts.items() if name in TRES}


def _words(text: str) -> frozenset[str]:
    """Words parted by blanks."""
    return frozenset(text.split())


RESETS = ("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY")


def _reset_of(text: str) -> str:
    """When usage is forgotten."""
    if text.strip().upper() not in RESETS:
        raise SettingError(f"one of {', '.join(RESETS)}")
    return text.strip().upper()


PREEMPT_MODES = (
    "OFF",
    "CANCEL",
    "CHECKPOINT",
    "CLUSTER",
    "GANG",
    "PRIORITY",
    "REQUEUE",
    "SUSPEND",
    "WITHIN",
)


def _modes_of(text: str) -> str:
    """What happens to jobs that are preempted: words parted by commas."""
    if not {*names_of(text.upper())} <= {*PREEMPT_MODES}:
        raise SettingError(f"words of {', '.join(PREEMPT_MODES)}")
    return text.upper()


# The ranges are those of slurm.conf(5) and of Slurm's source. Slurm itself logs an error for some
# values outside of them and takes its default; others are fatal.

NUMBER_OF_16_BITS, NUMBER_OF_32_BITS = 65_533, 4_294_967_293
"""What Slurm keeps in so many bits, but for its words for no value and no limit."""

WEIGHT = within(whole, 0, NUMBER_OF_32_BITS, "a whole number")
SMALL_NUMBER = within(whole, 0, NUMBER_OF_16_BITS, "a whole number")
SECONDS = within(number, 0, NUMBER_OF_32_BITS, "seconds")


# --- options that are followed --------------------------------------------------------------------

GLOBAL = {
    "clustername": Option("site", "name", str),
    "slurm_version": Option("site", "release", release_of),
    "priorityweightage": Option("priority", "age", WEIGHT),
    "priorityweightassoc": Option("priority", "association", WEIGHT),
    "priorityweightfairshare": Option("priority", "fair_share", WEIGHT),
    "priorityweightjobsize": Option("priority", "job_size", WEIGHT),
    "priorityweightpartition": Option("priority", "partition", WEIGHT),
    "priorityweightqos": Option("priority", "qos", WEIGHT),
    "priorityweighttres": Option("priority", "tres", lambda text: kept(weights_of(text))),
    "prioritymaxage": Option("priority", "max_age", time_from(0)),
    "priorityfavorsmall": Option("priority", "favor_small", yes),
    "prioritydecayhalflife": Option(
        "priority",
        "half_life",
        or_else(time_from(0), ("unlimited", "infinite", "none"), 0.0, "for none"),
    ),
    "prioritycalcperiod": Option("priority", "period", time_from(MINUTE)),
    "priorityusageresetperiod": Option("priority", "reset", _reset_of),
    "fairsharedampeningfactor": Option(
        "priority", "damping", within(whole, 1, NUMBER_OF_16_BITS, "a whole number")
    ),
    "overtimelimit": Option("scheduler", "over_time_limit", time_from(0, or_unlimited=True)),
    "killwait": Option("scheduler", "kill_wait", within(number, 0, NUMBER_OF_16_BITS, "seconds")),
    "preemptmode": Option("preemption", "mode", _modes_of),
    "preemptexempttime": Option("preemption", "exempt_time", time_or_zero),
    "jobrequeue": Option("preemption", "requeue", yes),
    "messagetimeout": Option(
        "preemption", "message_timeout", within(number, 0, NUMBER_OF_16_BITS, "seconds")
    ),
}
"""Options of slurm.conf with one value."""

PLUGINS: dict[str, tuple[Option, dict[str, object]]] = {
    "prioritytype": (
        Option("priority", "multifactor", str),
        {"multifactor": True, "basic": False},
    ),
    "schedulertype": (Option("scheduler", "backfill", str), {"backfill": True, "builtin": False}),
    "selecttype": (
        Option("site", "whole_nodes", str),
        {"linear": True, "cons_tres": False, "cons_res": False},
    ),
    "preempttype": (
        Option("preemption", "by", str),
        {"none": "", "(null)": "", "partition_prio": "partition", "qos": "qos"},
    ),
}
"""Options that name a plugin, such as ``select/linear``, and what each plugin means here."""

NORMALIZED = ("assoc", "part", "qos", "tres")
"""Factors of priorities that are divided by the largest, unless ``NO_NORMAL_…`` is set."""

BF_INTERVAL = or_else(within(number, 1, 10_800, "seconds"), ("-1",), NO_LIMIT, "for no backfill")

SCHEDULER = {
    "bf_interval": Option("scheduler", "bf_interval", BF_INTERVAL),
    "bf_window": Option(
        "scheduler", "bf_window", scaled(within(number, 1, 43_200, "minutes"), MINUTE)
    ),
    "bf_resolution": Option("scheduler", "bf_resolution", within(number, 1, 3_600, "seconds")),
    "bf_max_job_test": Option(
        "scheduler", "bf_max_job_test", within(whole, 1, 1_000_000, "a whole number")
    ),
    "bf_max_job_user": Option("scheduler", "bf_max_job_user", count),
    "bf_max_job_part": Option("scheduler", "bf_max_job_part", count),
    "bf_max_job_start": Option(
        "scheduler", "bf_max_job_start", within(whole, 0, 10_000, "a whole number")
    ),
    "bf_node_space_size": Option(
        "scheduler", "bf_node_space_size", within(whole, 2, 2_000_000, "a whole number")
    ),
    "bf_continue": Option("scheduler", "bf_continue", yes),
    "default_queue_depth": Option("scheduler", "queue_depth", count),
    "partition_job_depth": Option("scheduler", "partition_depth", count),
    "sched_interval": Option(
        "scheduler", "interval", within(number, 1, NUMBER_OF_32_BITS, "seconds")
    ),
    "sched_min_interval": Option(
        "scheduler",
        "least_interval",
        scaled(within(number, 0, NUMBER_OF_32_BITS, "microseconds"), 1e-6),
    ),
    "preempt_youngest_first": Option("preemption", "youngest_first", yes),
    "preempt_reorder_count": Option("preemption", "reorder_count", count),
    "requeue_delay": Option("scheduler", "requeue_delay", SECONDS),
}
"""Parts of ``SchedulerParameters``."""

PARTITION: dict[str, tuple[str, Read]] = {
    "default": ("default", yes),
    "state": ("up", lambda text: text.strip().lower() == "up"),
    "maxtime": ("max_time", time_of),
    "defaulttime": ("default_time", time_of),
    "maxnodes": ("max_nodes", limit_of),
    "minnodes": ("min_nodes", count),
    "priority": ("priority_factor", SMALL_NUMBER),
    "priorityjobfactor": ("priority_factor", SMALL_NUMBER),
    "prioritytier": ("tier", SMALL_NUMBER),
    "qos": ("qos", lambda text: "" if text.lower() in NONE else text),
    "allowqos": ("allow_qos", names_or_all),
    "denyqos": ("deny_qos", names_of),
    "allowaccounts": ("allow_accounts", names_or_all),
    "denyaccounts": ("deny_accounts", names_of),
    "defmempercpu": ("memory_per_core", memory_of),
    "defmempernode": ("memory_per_node", memory_of),
    "preemptmode": ("preempt_mode", _modes_of),
    "gracetime": ("grace_time", SECONDS),
    "tresbillingweights": ("billing_weights", weights_of),
}
"""Options of a partition, but for its nodes and ``OverSubscribe``."""

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
"""Limits of a QOS or an association."""

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
    "priority": ("priority", or_else(WEIGHT, ("-1",), 0, "for none")),
    "preempt": ("preempts", names_of),
    "preemptmode": ("preempt_mode", _modes_of),
    "preemptexempttime": ("exempt_time", time_or_zero),
    "gracetime": (
        "grace_time",
        or_else(within(seconds_of, 0, NUMBER_OF_32_BITS, "seconds"), ("-1",), 0.0, "for none"),
    ),
    "usagefactor": (
        "usage_factor",
        or_else(within(number, 0, 1e12, "a number"), ("-1",), 1.0, "for 1"),
    ),
}

OF_ASSOCIATION: dict[str, tuple[str, Read]] = {
    "fairshare": ("shares", shares_of),
    "share": ("shares", shares_of),
    "shares": ("shares", shares_of),
    "qos": ("qos", names_of),
    "qoslevel": ("qos", names_of),
    "defqos": ("default_qos", str),
    "defaultqos": ("default_qos", str),
}


# --- options that are not followed ----------------------------------------------------------------


class Unfollowed(NamedTuple):
    """What an option would do, and values with which it does nothing."""

    effect: str
    harmless: tuple[str, ...] = ()


UNKNOWN = "unknown here; it may do anything"
OFF = ("no", "0", "none", "(null)", "n/a", "unlimited", "")
UNSET = (*NONE, "0", "0.000000")
"""Values with which options of QOS and associations do nothing."""


def effect_of(
    key: str,
    value: str,
    unfollowed: Mapping[str, Unfollowed],
    idle: frozenset[str],
    *,
    harmless: tuple[str, ...] = (),
) -> str:
    """What an option would do that is not followed; empty where it does nothing.

    The `idle` have no influence, and the `harmless` are such values of options in no table.
    """
    if key in idle:
        return ""
    one = unfollowed.get(key, Unfollowed(UNKNOWN, (*harmless, "(null)")))
    return "" if value.strip().lower() in one.harmless else one.effect


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
}

_SCHEDULER_EFFECTS = {
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
    "preempt_strict_order": "other jobs might be preempted",
    "reduce_completing_frag": "nodes would stay empty while jobs end on others",
    "sched_max_job_start": "the main loop would start so many jobs in a pass",
    "spec_cores_first": "other cores would be kept for the system",
    "time_min_as_soft_limit": "jobs would be planned with their least time",
    "bf_min_age": "young jobs would have no reservation",
}
NOT_FOLLOWED_SCHEDULER = {key: Unfollowed(effect) for key, effect in _SCHEDULER_EFFECTS.items()}

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

_ACCOUNTING_EFFECTS = {
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
NOT_FOLLOWED_ACCOUNTING = {
    key: Unfollowed(effect, UNSET) for key, effect in _ACCOUNTING_EFFECTS.items()
}
OF_ASSOCIATION_ONLY = {
    "priority": Unfollowed("it would add to priorities of the account or user", UNSET)
}

FLAGS_NOT_FOLLOWED = {
    "calculate_running": "priorities of running jobs would be brought up to date",
    "depth_oblivious": "fair share would not depend on the depth of the tree",
    "incr_only": "priorities would never fall",
    "max_tres": "jobs would be billed by their largest resource",
    "max_tres_gres": "jobs would be billed by their largest resource and GPUs",
}
"""``PriorityFlags``."""

SELECT_NOT_FOLLOWED = {
    "cr_socket": "jobs would get whole sockets",
    "cr_socket_memory": "jobs would get whole sockets",
    "cr_lln": "the least loaded nodes would be taken first",
    "ll_shared_gres": "the least loaded GPUs would be shared",
    "cr_pack_nodes": "tasks would be packed on few nodes",
    "cr_one_task_per_core": "a task would get a whole core",
    "multiple_sharing_gres_pj": "a job could share several GPUs",
    "one_task_per_sharing_gres": "tasks would share GPUs otherwise",
}
"""``SelectTypeParameters``."""

NODE_NOT_FOLLOWED = {
    "corespeccount": Unfollowed("cores would be kept for the system"),
    "cpuspeclist": Unfollowed("cores would be kept for the system"),
    "memspeclimit": Unfollowed("memory would be kept for the system"),
    "threadspercore": Unfollowed("jobs would get whole cores; here they get single CPUs", ("1",)),
    "state": Unfollowed(
        "these nodes would not be up; here all nodes are up", ("unknown", "idle", "cloud", "up")
    ),
}

NODE_WITHOUT_INFLUENCE = _words("""
    sockets corespersocket boards socketsperboard cpus procs realmemory gres weight feature features
    nodeaddr nodehostname bcastaddr port tmpdisk reason tresweights cpubind topology parameters
    restrictedcorespergpu
""")
"""Options of nodes that are followed, and those that say nothing about who starts when."""

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
    metricstype minjobage mpidefault mpiparams multiple_slurmd namespacetype
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
    no_env_cache nohold_on_prolog_fail permit_job_expansion
    requeue_on_resume_failure salloc_wait_nodes sbatch_wait_nodes step_retry_count
    step_retry_time whole_hetjob default_job_depth
""")

PARTITION_WITHOUT_INFLUENCE = _words("""
    cpubind disablerootjobs hidden powerdownonidle resumetimeout suspendtimeout
    totalcpus totalnodes topology selecttypeparameters tres
""")

ACCOUNTING_WITHOUT_INFLUENCE = _words("""
    adminlevel cluster comment coordinators defaultaccount defaultwckey defaccount description
    descr id lft lineage name organization org parent parentid parentname parid partition rgt
    user account userid wckey wckeys withassoc withdeleted rawusage classification cpucount
    controlhost controlport rpc federation features nodenames clusternodes idoforg
""")
