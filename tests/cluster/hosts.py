"""Hosts that are none: network namespaces with names of their own, joined by a switch, on this machine.

Each is held by a process that sleeps; what runs on a host is started with nsenter. A host shares this machine's files,
and sees in /srv/disk a folder of its own. What a test leaves running there ends with the host.
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

    def __init__(self, name, address, disk):
        self.name, self.address, self.disk = name, address, disk
        disk.mkdir(parents=True)
        script = (f"hostname {name} && mount --make-rprivate / && mkdir -p /srv/disk && mount --bind {disk} /srv/disk && "
                  "ip link set lo up && echo ready && exec sleep infinity")
        self.holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "bash", "-c", script],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n"
        self.started = []

    def command(self, *args, folder="/"):
        """The words of a command that runs there, in that folder."""
        kinds = [f"--{kind}=/proc/{self.holder.pid}/ns/{name}" for kind, name in (("net", "net"), ("uts", "uts"), ("mount", "mnt"))]
        return ["nsenter", *kinds, f"--wd={folder}", "--", *map(str, args)]

    def set_link(self, state):
        """'down': nobody reaches it, nor it anybody."""
        run(*self.command("ip", "link", "set", "eth0", state))

    def end(self):
        self.holder.kill()
        self.holder.wait()


class Hosts:
    """A switch and hosts n0, n1, … on it."""

    def __init__(self, folder, count=2):
        self.switch = Host("switch", f"{NETWORK}.1", folder / "disk-switch")
        run(*self.switch.command("ip", "link", "add", "br0", "type", "bridge"))
        run(*self.switch.command("ip", "link", "set", "br0", "up"))
        self.hosts = []
        for number in range(count):
            host = Host(f"n{number}", f"{NETWORK}.{10 + number}", folder / f"disk-n{number}")
            self.hosts.append(host)
            run(*self.switch.command("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns",
                                     str(host.holder.pid)))
            run(*self.switch.command("ip", "link", "set", f"v{number}", "master", "br0", "up"))
            run(*host.command("ip", "addr", "add", f"{host.address}/24", "dev", "eth0"))
            run(*host.command("ip", "link", "set", "eth0", "up"))

    def __getitem__(self, number):
        return self.hosts[number]

    def end(self):
        for host in [*self.hosts, self.switch]:
            host.end()


def wait_for_end(pid, timeout=30):
    """Until the process is gone."""
    until = time.monotonic() + timeout
    while os.path.exists(f"/proc/{pid}"):
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"process {pid} has not ended within {timeout} s")
        time.sleep(0.02)
