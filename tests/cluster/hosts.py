"""Hosts that are none: network namespaces with names of their own, joined by a switch, on this machine.

Each is held by a process that sleeps, and that ends with the test's; what runs on a host is started with nsenter. A host
shares this machine's files, and sees in /srv/disk a folder of its own. With `own_pids` it has processes of its own too: their
numbers are not this machine's, and they end with the host, also those that have become daemons.
"""

import os
import signal
import subprocess
import time

NETWORK = "10.77.0"


def missing():
    """Why no such host can be made here, or None."""
    done = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, text=True)
    return None if done.returncode == 0 else f"namespaces: {done.stderr.strip()}"


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


class Host:
    """One of them. `disk`: what it sees as /srv/disk."""

    def __init__(self, name, address, disk, own_pids=False):
        self.name, self.address, self.disk = name, address, disk
        self.clock_ahead_s = 0  # that much the monotonic clocks of what is started there are ahead of this machine's
        self._namespaces = [("net", "net"), ("uts", "uts"), ("mount", "mnt")]
        options, sleep = [], "exec sleep infinity"
        if own_pids:  # the shell stays, as the parent of what loses its own
            self._namespaces.append(("pid", "pid_for_children"))
            options, sleep = ["--pid", "--fork", "--kill-child", "--mount-proc"], "{ sleep infinity & wait; }"
        disk.mkdir(parents=True)
        script = (
            f"hostname {name} && mount --make-rprivate / && mkdir -p /srv/disk && mount --bind {disk} /srv/disk && "
            f"ip link set lo up && echo ready && {sleep}"
        )
        self.holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--uts", "--mount", *options, "bash", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.holder.stdout.readline() == "ready\n"

    def command(self, *args, folder="/"):
        """The words of a command that runs there, in that folder."""
        kinds = [f"--{kind}=/proc/{self.holder.pid}/ns/{name}" for kind, name in self._namespaces]
        ahead = self.clock_ahead_s
        clock = (
            ["unshare", "--time", f"--monotonic={ahead}", f"--boottime={ahead}", "--fork", "--kill-child"]
            if ahead
            else []
        )
        return ["nsenter", *kinds, f"--wd={folder}", "--", *clock, *map(str, args)]

    def ip(self, *args):
        """`ip` with the host's network, and with this machine's numbers of processes."""
        run("nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "ip", *args)

    def set_link(self, state):
        """'down': no host reaches it, nor it any other."""
        self.ip("link", "set", "eth0", state)

    def drop(self, percent, *others):
        """The host's network loses that many packets of a hundred, those from and to these hosts, or all; a later call replaces
        it."""
        chance = "drop" if percent == 100 else f"numgen random mod 100 < {percent} drop"
        rules = {"input": "saddr", "output": "daddr"}
        lines = ["add table inet loss", "delete table inet loss", "table inet loss {"]
        for hook, address in rules.items():
            lines += [f"chain {hook} {{", f"type filter hook {hook} priority 0"]
            lines += [f"ip {address} {other.address} {chance}" for other in others] or [
                f'{hook[0]}ifname "eth0" {chance}'
            ]
            lines.append("}")
        lines.append("}")
        subprocess.run(
            ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "nft", "-f", "-"],
            input="\n".join(lines) + "\n",
            check=True,
            capture_output=True,
            text=True,
        )

    def end(self):
        self.holder.kill()
        self.holder.wait()


class Hosts:
    """A switch and hosts n0, n1, … on it."""

    def __init__(self, folder, count=2, own_pids=False):
        self._folder = folder
        self.switch = Host("switch", f"{NETWORK}.1", folder / "disk-switch", own_pids)
        self.switch.ip("link", "add", "br0", "type", "bridge")
        self.switch.ip("addr", "add", f"{self.switch.address}/24", "dev", "br0")
        self.switch.ip("link", "set", "br0", "up")
        self.hosts = []
        for number in range(count):
            host = Host(f"n{number}", f"{NETWORK}.{10 + number}", folder / f"disk-n{number}", own_pids)
            self.hosts.append(host)
            self.switch.ip(
                "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", str(host.holder.pid)
            )
            self.switch.ip("link", "set", f"v{number}", "master", "br0", "up")
            host.ip("addr", "add", f"{host.address}/24", "dev", "eth0")
            host.ip("link", "set", "eth0", "up")

    def __getitem__(self, number):
        return self.hosts[number]

    def write_names(self, *more):
        """The hosts know the names of all from now on, and these of n0."""
        path = self._folder / "names"
        hosts = [self.switch, *self.hosts]
        lines = [
            *(f"{host.address} {host.name}" for host in hosts),
            *(f"{self.hosts[0].address} {name}" for name in more),
        ]
        path.write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")
        for host in hosts:
            run(*host.command("mount", "--bind", path, "/etc/hosts"))

    def end(self):
        for host in [*self.hosts, self.switch]:
            host.end()


def process_state(pid):
    """'S', 'T', 'Z', … as /proc has it; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


def wait_for_end(pid, timeout=30):
    """Until the process is gone."""
    until = time.monotonic() + timeout
    while os.path.exists(f"/proc/{pid}"):
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"process {pid} has not ended within {timeout} s")
        time.sleep(0.02)
