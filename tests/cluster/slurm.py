"""A real Slurm cluster of two nodes on the nodes of hosts.py: munge, slurmctld on the switch and a slurmd on each node.

All daemons and jobs run in process namespaces that end with the nodes. The job's processes keep their private data,
such as the runtime folder, in /srv/disk, which is a separate folder on each node.
"""

import secrets
import shutil
import subprocess
import time

from hosts import NETWORK, run

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
DEADLINE_S = 30

CONFIG = """
ClusterName=test
SlurmctldHost=switch({network}.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# After the loss of a node Slurm restarts a job only when its credentials have expired.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdTimeout=5
SlurmctldTimeout=10
KillWait=5
OverTimeLimit=0
InactiveLimit=0
JobRequeue=1
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Returns why Slurm cannot run here, or None."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"not installed: {', '.join(absent)} (scripts/setup installs Debian's)" if absent else None


class Slurm:
    """Slurm's daemons, and commands of a user who is logged in on n0."""

    def __init__(self, folder, hosts):
        self.folder, self.hosts = folder, hosts
        hosts.write_names()
        for name in ("state", *(f"spool-{host.name}" for host in hosts.hosts)):
            (folder / name).mkdir(parents=True)
        self._write_configuration()
        self.env = {"SLURM_CONF": str(folder / "slurm.conf")}
        self.daemons = {}
        self._start(
            hosts.switch,
            "munged",
            "--foreground",
            "--force",
            f"--key-file={folder}/munge.key",
            f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/munged.log",
            f"--seed-file={folder}/munged.seed",
        )
        self._wait("munged", (folder / "munge.socket").exists)
        self._start(hosts.switch, "slurmctld", "-D")
        for host in hosts.hosts:
            self.start_slurmd(host)
        self.wait_for_nodes()

    def _write_configuration(self):
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        nodes = "\n".join(
            f"NodeName={host.name} NodeAddr={host.address} CPUs=4 State=UNKNOWN" for host in self.hosts.hosts
        )
        (self.folder / "slurm.conf").write_text(CONFIG.format(network=NETWORK, folder=self.folder, nodes=nodes))

    def _start(self, host, program, *args):
        """Starts a daemon in the foreground on the node."""
        with open(self.folder / f"{program}-{host.name}.out", "ab") as out:
            self.daemons[program, host.name] = subprocess.Popen(
                host.command(program, *args),
                env=self._environment({}),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def start_slurmd(self, host):
        self._start(host, "slurmd", "-D", "-N", host.name)

    def kill_slurmd(self, host):
        """Kills only the daemon: the processes that it has started continue."""
        run(*host.command("kill", "-KILL", (self.folder / f"slurmd-{host.name}.pid").read_text().strip()))
        self.daemons["slurmd", host.name].wait()

    def _environment(self, env):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **env, **self.env}

    def __call__(self, *command, host=0, check=True):
        """Returns the output of a Slurm command."""
        done = subprocess.run(
            self.hosts[host].command(*command),
            env=self._environment({}),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def _wait(self, what, condition):
        until = time.monotonic() + DEADLINE_S
        while not condition():
            ended = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > until:
                logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log"))
                raise AssertionError(f"{what} is not there after {DEADLINE_S} s; ended: {ended}\n{logs}")
            time.sleep(0.05)

    def wait_for_nodes(self):
        """Waits until all nodes are idle and can take a job."""
        self._wait("a node that is idle", lambda: set(self("sinfo", "-h", "-o", "%T", check=False).split()) == {"idle"})

    def state(self, job):
        """Returns PENDING, RUNNING, …, or '' for a job that Slurm has forgotten."""
        return self("squeue", "-h", "-j", job, "-t", "all", "-o", "%T", check=False)
