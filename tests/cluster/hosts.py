"""Simulated nodes on this machine: network namespaces with their own names, joined by a switch.

A sleeping process holds each node and ends with the test's process; programs on a node are started with nsenter. A node
shares this machine's files, except that /srv/disk is a separate folder. With `own_pids` a node also has its own process
ids, and all its processes end with the node, daemons too.
"""

import os
import signal
import subprocess
import time

NETWORK = "10.77.0"


def missing():
    """Returns why such nodes cannot be created here, or None."""
    done = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, text=True)
    return None if done.returncode == 0 else f"namespaces: {done.stderr.strip()}"


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


class Host:
    """One node. `disk` is the folder that appears as /srv/disk on the node."""

    def __init__(self, name, address, disk, own_pids=False):
        self.name, self.address, self.disk = name, address, disk
        self.clock_ahead_s = 0  # how far the monotonic clocks of programs started there are ahead of this machine's
        self._namespaces = [("net", "net"), ("uts", "uts"), ("mount", "mnt")]
        options, sleep = [], "exec sleep infinity"
        if own_pids:  # the shell stays as the parent of orphaned processes
            self._namespaces.append(("pid", "pid_for_children"))
            options = ["--pid", "--fork", "--kill-child", "--mount-proc"]
            sleep = "while :; do sleep infinity & wait; done"
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
        """Returns the words of a command that runs on the node in this folder."""
        kinds = [f"--{kind}=/proc/{self.holder.pid}/ns/{name}" for kind, name in self._namespaces]
        ahead = self.clock_ahead_s
        clock = (
            ["unshare", "--time", f"--monotonic={ahead}", f"--boottime={ahead}", "--fork", "--kill-child"]
            if ahead
            else []
        )
        return ["nsenter", *kinds, f"--wd={folder}", "--", *clock, *map(str, args)]

    def ip(self, *args):
        """Runs `ip` in the node's network namespace, but with this machine's process ids."""
        run("nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "ip", *args)

    def set_link(self, state):
        """'down' disconnects the node from all others in both directions."""
        self.ip("link", "set", "eth0", state)

    def drop(self, percent, *others):
        """Loses this percentage of the node's packets, from and to the other nodes given, or all nodes. A later call
        replaces the rules.
        """
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

    def drop_ports_but(self, port):
        """Lets nobody in, as a firewall does, but to that TCP port. Connections that the node has made go on."""
        lines = ["table inet wall {", "chain input {", "type filter hook input priority 0"]
        lines += [f'iifname "eth0" tcp flags syn / syn,ack tcp dport != {port} drop', "}", "}"]
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
    """A switch and the nodes n0, n1, … connected to it."""

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
        """Makes all nodes resolve each other's names, and the names `more` to n0."""
        path = self._folder / "names"
        hosts = [self.switch, *self.hosts]
        lines = [
            *(f"{host.address} {host.name}" for host in hosts),
            *(f"{self.hosts[0].address} {name}" for name in more),
        ]
        path.write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")
        for host in hosts:
            run(*host.command("mount", "--bind", path, "/etc/hosts"))

    def limit(self, number, kilobytes_a_second):
        """Makes the node's link that slow in both directions; None: fast again."""
        for host, device in ((self.switch, f"v{number}"), (self.hosts[number], "eth0")):
            words = ["nsenter", f"--net=/proc/{host.holder.pid}/ns/net", "tc", "qdisc"]
            if kilobytes_a_second is None:
                run(*words, "del", "dev", device, "root")
            else:
                run(
                    *words,
                    "add",
                    "dev",
                    device,
                    "root",
                    "tbf",
                    "rate",
                    f"{kilobytes_a_second}kbps",
                    "burst",
                    "16kb",
                    "latency",
                    "400ms",
                )

    def end(self):
        for host in [*self.hosts, self.switch]:
            host.end()


def process_state(pid):
    """Returns 'S', 'T', 'Z', … from /proc, or None if the process does not exist."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


def wait_for_end(pid, timeout=30):
    """Waits until the process is gone."""
    until = time.monotonic() + timeout
    while os.path.exists(f"/proc/{pid}"):
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"process {pid} has not ended within {timeout} s")
        time.sleep(0.02)
