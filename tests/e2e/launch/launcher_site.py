"""A folder with the programs of a launcher, and rtrain submit there."""

import pytest

from conftest import RTRAIN


@pytest.fixture
def site(rtrain):
    """A folder with a script, and a PATH with rtrain and the programs that a test puts into `bin`."""
    rtrain.script("print 'trains'")
    bin_folder = rtrain.folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "rtrain").symlink_to(RTRAIN)
    rtrain.env["PATH"] = f"{bin_folder}:/usr/bin:/bin"
    return rtrain


def program(site, name, text):
    """Puts a program of that name on the PATH; its $LOG is a separate file."""
    path = site.folder / "bin" / name
    path.write_text(f"#!/bin/bash\nLOG={site.folder}/{name}.log\n{text}\n")
    path.chmod(0o755)


def log(site, name):
    return (site.folder / f"{name}.log").read_text()


def dry(site, *args):
    result = site("submit", "--dry-run", *args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(site, *args):
    result = site("submit", *args)
    assert result.returncode == 2, (result.returncode, result.stderr)
    return result.stderr


# Kubernetes

K8S = ["k8s", "train.lua", "--nodes", "2", "--image", "i", "--claim", "c"]
