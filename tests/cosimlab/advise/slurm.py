"""A Slurm of one's own: a controller and a few nodes on this machine, on the loopback device."""

import getpass
import os
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "squeue", "sinfo", "sbatch", "scontrol", "scancel")
NODES, CPUS = 8, 4
TEMPLATE = """\
ClusterName=made
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=2,sched_interval=1,batch_sched_delay=0,sched_min_interval=0
AccountingStorageType=accounting_storage/none
JobRequeue=1
MinJobAge=300
KillWait=2
{nodes}
PartitionName=main Nodes=n[1-{most}] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
PartitionName=big Nodes=n[5-{most}] MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def missing() -> str:
    """The programs of Slurm that are not installed here; empty where all are."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return ", ".join(name for name in PROGRAMS if shutil.which(name, path=path) is None)


@contextmanager
def running() -> Iterator["Slurm"]:
    """A Slurm whose nodes are idle; it ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # sockets need short paths
    slurm = Slurm(folder)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.end()
        shutil.rmtree(folder, ignore_errors=True)


class Slurm:
    """A controller, its nodes and its key, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen] = []
        sbin = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": sbin}

    def start(self) -> None:
        """Write the configuration, start everything, wait until the nodes are idle."""
        for name in ("state", *(f"spool.n{n}" for n in range(1, NODES + 1))):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        ports = _ports(NODES + 1)
        nodes = [
            f"NodeName=n{n} NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[n]} CPUs={CPUS} "
            f"RealMemory=1000 Feature={'fast' if n > 4 else 'slow'} State=UNKNOWN"
            for n in range(1, NODES + 1)
        ]
        text = TEMPLATE.format(
            port=ports[0],
            user=getpass.getuser(),
            folder=self.folder,
            nodes="\n".join(nodes),
            most=NODES,
        )
        (self.folder / "slurm.conf").write_text(text)
        version = re.search(r"(\d+)\.(\d+)", self.told("slurmd", "-V"))
        # Newer ones refuse to start without control groups, older ones do not know how to.
        if version and (int(version[1]), int(version[2])) >= (23, 11):
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        at = str(self.folder)
        self._run(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={at}/munge.sock",
            f"--pid-file={at}/munged.pid",
            f"--log-file={at}/munged.log",
            f"--seed-file={at}/munged.seed",
        )
        self.wait_until(lambda: (self.folder / "munge.sock").exists(), "munged")
        self._run("slurmctld", "-D", "-c", "-f", f"{at}/slurm.conf")
        for n in range(1, NODES + 1):
            self._run("slurmd", "-D", "-f", f"{at}/slurm.conf", "-N", f"n{n}")
        self.wait_until(
            lambda: (
                self.told("sinfo", "-h", "-N", "-o", "%T", "-p", "main").split() == ["idle"] * NODES
            ),
            "idle nodes",
        )

    def told(self, *command: str) -> str:
        """What a command prints, whether it succeeds or not."""
        environment = {**os.environ, **self.environment}
        program = shutil.which(command[0], path=environment["PATH"])
        done = subprocess.run(
            [program, *command[1:]], capture_output=True, text=True, timeout=60, env=environment
        )
        return done.stdout.strip()

    def submit(self, *options: str, seconds: int = 600) -> int:
        """Submit a job that sleeps; its number."""
        told = self.told(
            "sbatch",
            "--parsable",
            "-o",
            "/dev/null",
            "-D",
            str(self.folder),
            *options,
            "--wrap",
            f"sleep {seconds}",
        )
        return int(told)

    def wait_for(self, job: int, *states: str) -> None:
        """Wait until a job is in one of some states."""
        self.wait_until(
            lambda: self.told("squeue", "-h", "-j", str(job), "-o", "%T") in states,
            f"job {job} {states}",
        )

    def idle(self) -> set[str]:
        """Names of the nodes on which nothing is."""
        rows = self.told("sinfo", "-h", "-N", "-o", "%N %T", "-p", "main").splitlines()
        return {row.split()[0] for row in rows if row.split()[1] == "idle"}

    def end(self) -> None:
        """Cancel the jobs and stop what was started, by its number."""
        if (self.folder / "slurm.conf").exists():
            self.told("scancel", "-u", getpass.getuser())
            deadline = time.monotonic() + 10
            while self.told("squeue", "-h") and time.monotonic() < deadline:
                time.sleep(0.2)
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    def _run(self, *command: str) -> None:
        environment = {**os.environ, **self.environment}
        program = shutil.which(command[0], path=environment["PATH"])
        with (self.folder / f"{command[0]}.out").open("ab") as log:
            self.started.append(
                subprocess.Popen([program, *command[1:]], stdout=log, stderr=log, env=environment)
            )

    def wait_until(self, there: Callable[[], bool], what: str, patience: float = 40) -> None:
        """Wait until something is so; a TimeoutError tells what is not."""
        deadline = time.monotonic() + patience
        while not there():
            if time.monotonic() > deadline:
                logs = sorted(self.folder.glob("*.log"))
                tail = "\n".join(log.read_text(errors="replace")[-500:] for log in logs[:3])
                raise TimeoutError(f"no {what} within {patience:g} s\n{tail}")
            time.sleep(0.2)


def _ports(n: int) -> list[int]:
    """Ports on which nobody listens."""
    sockets = [socket.socket() for _ in range(n)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
