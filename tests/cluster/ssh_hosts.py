"""Nodes that a user reaches by OpenSSH alone: each has its own home, disk, users, host key and sshd, and shares no folder.

The user sits at `laptop`, which is the switch's namespace, and has a key and ~/.ssh/config there. Python's LibTorch of this
machine is at /opt/python on every node, as if installed.
"""

import os
import pathlib
import re
import subprocess
import time

import hosts as hosts_module

CACHE = pathlib.Path(os.environ.get("RTRAIN_CACHE", pathlib.Path.home() / ".cache" / "rtrain"))
SITE = "/opt/python/lib/python3.11/site-packages"

SERVER = """
Port 22
ListenAddress {address}
HostKey {keys}/host
PidFile /srv/keys/pid
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AuthorizedKeysFile .ssh/authorized_keys
MaxStartups 100
SetEnv OMP_NUM_THREADS=1{more}
"""


def missing():
    """Returns why there can be no such nodes here, or None."""
    if not os.path.exists("/usr/sbin/sshd"):
        return "OpenSSH's server is not installed (scripts/setup installs Debian's)"
    return hosts_module.missing() or (
        None if python_folder() else "there is no Python with torch (scripts/setup --oracle)"
    )


def python_folder():
    """The environment that has LibTorch, or None."""
    found = sorted(CACHE.glob("python-torch-*"))
    return found[0] if found else None


def modules_variable():
    """RTRAIN_PATH as these tests have it, if they do."""
    modules = os.environ.get("RTRAIN_PATH")
    return {"RTRAIN_PATH": modules} if modules else {}


class SshHosts:
    def __init__(self, folder, count=2, users=(), variables=None):
        """`users`: the user of each node, root for those left out. `variables`: of everything that ssh starts there; by
        default those with which the rtrain of these tests finds LibTorch."""
        self.folder = folder
        self.variables = (
            {"RTRAIN_LIBTORCH": f"{SITE}/torch/lib", **modules_variable()} if variables is None else variables
        )
        self.hosts = hosts_module.Hosts(folder, count=count, own_pids=True)
        self.laptop = self.hosts.switch
        self.users = dict(enumerate(users))
        self.servers = {}
        (folder / "user").mkdir()
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "user" / "id"],
            check=True,
            capture_output=True,
        )
        self.hosts.write_names()
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        for number in range(count):
            self.set_up(number)
            self.start_server(number)
        self.set_up_laptop()

    def __getitem__(self, number):
        return self.hosts[number]

    def root_of(self, number):
        """Returns the folder on this machine that is the node's home."""
        return self.folder / f"home-n{number}"

    def sh(self, host, script):
        subprocess.run(host.command("/bin/sh", "-ec", script), check=True, capture_output=True, text=True)

    def set_up(self, number):
        host, home, user = self.hosts[number], self.root_of(number), self.users.get(number, "root")
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "authorized_keys").write_text((self.folder / "user" / "id.pub").read_text())
        keys = self.folder / f"keys-n{number}"
        keys.mkdir()
        self.make_host_key(number)
        script = f"mkdir -p /opt/python && mount --bind {python_folder()} /opt/python\n"
        if user != "root":
            passwd = self.folder / f"passwd-n{number}"
            users = pathlib.Path("/etc/passwd").read_text()
            passwd.write_text(f"{users}{user}:*:{4000 + number}:{4000 + number}::/home/{user}:/bin/sh\n")
            os.chown(home, 4000 + number, 4000 + number)
            script += f"mount --bind {passwd} /etc/passwd\nmkdir -p /home/{user}\nmount --bind {home} /home/{user}\n"
            script += "mount -t tmpfs -o mode=700 tmpfs /root\n"
        else:
            script += f"mount --bind {home} /root\n"
        more = "".join(f" {name}={value}" for name, value in self.variables.items())
        (keys / "sshd_config").write_text(SERVER.format(address=host.address, keys="/srv/keys", more=more))
        script += f"mkdir -p /srv/keys && mount --bind {keys} /srv/keys\nmount -t tmpfs -o mode=1777 tmpfs /tmp\n"
        script += "mount -t tmpfs -o mode=1777 tmpfs /dev/shm\n"
        self.sh(host, script)

    def make_host_key(self, number):
        """Makes a new host key for the node."""
        path = self.folder / f"keys-n{number}" / "host"
        path.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, capture_output=True)

    def start_server(self, number):
        host = self.hosts[number]
        log = open(self.folder / f"sshd-n{number}.log", "ab")
        self.servers[number] = subprocess.Popen(
            host.command("/usr/sbin/sshd", "-D", "-e", "-f", "/srv/keys/sshd_config"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        until = time.monotonic() + 10
        knock = ["bash", "-c", f"exec 3<>/dev/tcp/{host.address}/22"]
        while subprocess.run(self.laptop.command(*knock), capture_output=True).returncode:
            assert time.monotonic() < until, (self.folder / f"sshd-n{number}.log").read_text()
            time.sleep(0.05)

    def restart_server(self, number):
        self.sh(self.hosts[number], "kill $(cat /srv/keys/pid)")
        self.servers[number].wait()
        self.start_server(number)

    def set_variable(self, number, name, value):
        """Sets a variable of everything that ssh starts on the node."""
        config = self.folder / f"keys-n{number}" / "sshd_config"
        kept = re.sub(rf" {name}=\S*", "", config.read_text())
        config.write_text(kept.replace("SetEnv ", f"SetEnv {name}={value} "))
        self.restart_server(number)

    def set_up_laptop(self):
        self.ssh = self.folder / "home-laptop" / ".ssh"
        self.ssh.mkdir(parents=True)
        (self.ssh / "id").write_text((self.folder / "user" / "id").read_text())
        (self.ssh / "id").chmod(0o600)
        self.config = "Host *\n  IdentityFile /root/.ssh/id\n"
        for number, user in self.users.items():
            self.config += f"Host n{number}\n  User {user}\n"
        self.write_config()
        self.trust(range(len(self.hosts.hosts)))
        python = f"mkdir -p /opt/python && mount --bind {python_folder()} /opt/python"
        self.sh(self.laptop, f"{python}\nmount --bind {self.ssh.parent} /root")

    def write_config(self, more=""):
        (self.ssh / "config").write_text(more + self.config)

    def trust(self, numbers):
        """Writes the host keys of these nodes, and of no others, into the laptop's known_hosts."""
        lines = []
        for number in numbers:
            key = (self.folder / f"keys-n{number}" / "host.pub").read_text().split()
            lines.append(f"n{number},{self.hosts[number].address} {key[0]} {key[1]}\n")
        (self.ssh / "known_hosts").write_text("".join(lines))

    def reboot(self, number):
        """Kills all processes of the node, and cuts its network."""
        host = self.hosts[number]
        host.set_link("down")
        subprocess.run(host.command("/bin/sh", "-c", "kill -9 -1"), capture_output=True)

    def come_back(self, number):
        self.hosts[number].set_link("up")
        self.servers[number].wait()
        self.start_server(number)

    def end(self):
        for server in self.servers.values():
            server.kill()
            server.wait()
        self.hosts.end()
