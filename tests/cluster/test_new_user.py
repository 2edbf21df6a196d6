"""A new user has two machines with torch and nothing else of rtrain: pip installs the wheel on one, and both train.

The machines are those of ssh_hosts.py: own homes, users, disks and host keys. $RTRAIN_WHEEL names a wheel of
packaging/build; without it the test packs a wheel of the executable that it tests.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import ssh_hosts
from conftest import RTRAIN, SOURCE, nightly
from ssh_user import NODES, SshUser
from test_examples import with_images

pytestmark = nightly

USERS = ["ada", "bob"]
LIMIT_S = 120

# What the user types on the first machine, in the words of the guide.
FIRST = """
pip install dist/{wheel}
rtrain doctor
rtrain init mnist
"""
BOTH = "rtrain run mnist/train.lua -n 2 --nodes localhost,n1 --with $RTRAIN_DATA/mnist"


def packed(rtrain, folder):
    """Returns a wheel with the executable of the tests."""
    stage = folder / "stage"
    documents = stage / "share" / "doc" / "rtrain"
    documents.mkdir(parents=True)
    (stage / "bin").mkdir()
    shutil.copy(RTRAIN, stage / "bin" / "rtrain")
    for name in ("LICENSE", "NOTICE", "CHANGELOG.md", "README.md"):
        shutil.copy(SOURCE / name, documents)
    version = rtrain("--version").stdout.split()[1]
    done = subprocess.run(
        [SOURCE / "packaging" / "formats" / "pack.py", stage, folder, version, "wheel"],
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())


class Machines:
    """Two machines; `type` runs lines of a shell on the first one, as its user has it after `ssh`."""

    def __init__(self, rtrain, wheel, variables):
        self.hosts = ssh_hosts.SshHosts(rtrain.folder / "hosts", users=USERS, variables=variables)
        self.user = SshUser(rtrain, self.hosts)
        self.wheel = wheel
        self.homes = [self.hosts.root_of(number) for number in range(2)]

    def set_up(self, images):
        """Torch on both, images and a way from the first machine to the second one."""
        for number in range(2):
            self.user.on(number, with_torch())
        shutil.copytree(images / "mnist", self.homes[0] / "data" / "mnist")
        (self.homes[0] / "dist").mkdir()
        shutil.copy(self.wheel, self.homes[0] / "dist")
        ssh = self.homes[0] / ".ssh"
        shutil.copy(self.hosts.ssh / "id", ssh / "id_ed25519")
        shutil.copy(self.hosts.ssh / "known_hosts", ssh)
        (ssh / "config").write_text(f"Host n1\n  User {USERS[1]}\n")
        self.user.on(0, "test -w .")
        for path in [self.homes[0], *self.homes[0].rglob("*")]:
            os.chown(path, 4000, 4000, follow_symlinks=False)

    def type(self, lines, limit_s=LIMIT_S):
        script = "set -e\n. venv/bin/activate\nexport RTRAIN_DATA=$HOME/data\n" + lines
        return self.user.on(0, f"timeout {limit_s} sh -c '{script}' 2>&1")


def with_torch():
    """The commands that make an environment with the torch of this machine, as `pip install torch` does."""
    packages = "venv/lib/python3.11/site-packages"
    site = ssh_hosts.SITE
    return (
        f"/usr/bin/python3 -m venv venv && echo {site} >{packages}/torch.pth && "
        f"ln -s {site}/torch {site}/nvidia {packages}/"
    )


@pytest.fixture
def machines(rtrain):
    reason = ssh_hosts.missing()
    if reason:
        pytest.skip(reason)
    given = os.environ.get("RTRAIN_WHEEL")
    wheel = pathlib.Path(given) if given else packed(rtrain, rtrain.folder)
    made = Machines(rtrain, wheel, {} if given else ssh_hosts.modules_variable())
    try:
        images = pathlib.Path(os.environ.get("RTRAIN_DATA", "/nonexistent"))
        if not (images / "mnist").is_dir():
            with_images(rtrain, 4000, 1000)
            images = rtrain.folder / "data"
        made.set_up(images)
        yield made
    finally:
        made.hosts.end()


def test_mnist_trains_on_both_machines_within_two_minutes(machines):
    output = machines.type(FIRST.format(wheel=machines.wheel.name) + BOTH)
    assert "images: MNIST" in output and "FINISHED after" in output
    run = json.loads(machines.type("rtrain show last --json"))
    assert [worker["host"] for worker in run["attempts"][-1]["workers"]] == ["n0", "n1"]
    assert json.loads(machines.type("rtrain metrics last --json"))[-1]["metrics"]["accuracy"] > 0.8
    # What packages have next to the executable goes with it.
    if os.environ.get("RTRAIN_WHEEL"):
        found = machines.user.on(1, f"ldd {NODES}/jobs/*/rtrain")
        assert re.search(r"libstdc\+\+\.so\.6 => /home/bob/\S+/lib/rtrain/libstdc", found), found
    assert machines.user.on(1, "ls venv/bin | grep -c rtrain || :").strip() == "0", "only the first has rtrain"
