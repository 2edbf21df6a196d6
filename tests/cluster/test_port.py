"""The single port of a run, and connections to it from outside the run."""

import hashlib
import hmac
import json
import pathlib
import re
import subprocess
import sys

from conftest import wait_until
from faulted_run import TRAINING, Run, reporting

STRANGER = str(pathlib.Path(__file__).resolve().parent / "stranger.py")
# n0's messages about the strangers; each appears once.
REFUSALS = [
    "it does not speak TLS 1.3",
    "its secret is another one",
    "which is not served here",
    "damaged or recorded",
    "no hello in time",
    "is above the limit of",
]


def listening(host):
    """Returns (address, port, pids) of each listening TCP socket on the node. A program that is just being started
    still has its parent's sockets.
    """
    done = subprocess.run(host.command("ss", "-Hltnp"), capture_output=True, text=True, check=True)
    found = []
    for line in done.stdout.splitlines():
        address, port = line.split()[3].rsplit(":", 1)
        found.append((address, int(port), {int(pid) for pid in re.findall(r"pid=(\d+)", line)}))
    return found


def derived_key(secret, identity):
    """HKDF-SHA256 (RFC 5869), as in host/wire/secret.h."""
    extracted = hmac.new(b"rtrain wire", bytes.fromhex(secret), hashlib.sha256).digest()
    return hmac.new(extracted, identity.encode() + b"\x01", hashlib.sha256).hexdigest()


class Strangers:
    """Programs on a node outside the run that connect to the run's port."""

    def __init__(self, host, contact, folder):
        self.host, self.folder = host, folder
        self.address = (contact["hosts"][0], str(contact["port"]))
        self.identity = f"rtrain1/agent/{contact['start']}"
        self.key = derived_key(contact["secret"], self.identity)

    def program(self, what, path):
        return self.host.command(sys.executable, STRANGER, what, *self.address, path, folder=self.folder)

    def start(self, what, data):
        path = "-"
        if data:
            path = self.folder / f"{what}-{len(data)}"
            path.write_bytes(data)
        return subprocess.Popen(self.program(what, path))

    def run(self, what, data):
        assert self.start(what, data).wait(60) == 0

    def tls(self, key, identity, data=b""):
        command = [
            "openssl",
            "s_client",
            "-connect",
            ":".join(self.address),
            "-tls1_3",
            "-psk",
            key,
            "-psk_identity",
            identity,
            "-quiet",
        ]
        subprocess.run(self.host.command(*command), input=data, capture_output=True, timeout=60)


# fault: strangers, wrong keys, recorded, oversized, slow and half-open connections
def test_strangers_are_refused_and_disturb_nothing(rtrain, job, hosts):
    run = Run(rtrain, job, hosts, reporting(), nodes=[0])
    wait_until(run.job.rendezvous.exists, message="the rendezvous file")
    contact = json.loads(run.job.rendezvous.read_text())
    strangers = Strangers(hosts.switch, contact, rtrain.folder)
    # The other node connects through a relay, which records its frames.
    recorded = rtrain.folder / "recorded"
    relay = subprocess.Popen(strangers.program("relay", recorded), stdout=subprocess.PIPE, text=True)
    try:
        copy = {**contact, "hosts": [hosts.switch.address], "port": int(relay.stdout.readline())}
        run.job.rendezvous = rtrain.folder / "rendezvous-relay"
        run.job.rendezvous.touch(mode=0o600)
        run.job.rendezvous.write_text(json.dumps(copy))
        run.job.add(1)
        run.wait_for_steps(5, workers=4)
        dripping = [strangers.start("drip", recorded.read_bytes()[:200]) for _ in range(2)]
        for _ in range(2):
            strangers.run("send", b"GET / HTTP/1.1\r\n\r\n")
            strangers.tls("00" * 32, strangers.identity)
            strangers.tls(strangers.key, "rtrain1/agent/another-run")
            strangers.run("send", recorded.read_bytes())
            strangers.run("send", b"")
            strangers.tls(strangers.key, strangers.identity, b"\xff\xff\xff\x7f")
        assert [each.wait(60) for each in dripping] == [0, 0]
        run.wait_for_steps(5)
        run.let_go()
        for result in run.job.wait():
            assert result.returncode == 0, result.stderr
    finally:
        relay.kill()
        relay.wait()
    lines = [line for line in run.stderr.splitlines() if line.startswith(f"rtrain: {hosts.switch.address}: ")]
    for refusal in REFUSALS:
        assert sum(refusal in line for line in lines) == 1, "\n".join(lines)
    assert len(lines) == len(REFUSALS), "\n".join(lines)
    assert rtrain.statuses("faults") == ["FINISHED"]
    run.assert_no_report_is_lost()


def test_the_same_port_of_each_node_and_those_of_gloo_listen(rtrain, job, hosts):
    (rtrain.folder / "limit").write_text("5\n")
    run = Run(rtrain, job, hosts, TRAINING.replace("STEPS", "10"))
    wait_until(lambda: all(run.num_steps(pid) == 5 for pid in run.pids() or [0]), message="five steps of all ranks")
    for number, host in enumerate(hosts.hosts):
        found = listening(host)
        assert {address for address, _, _ in found} == {host.address}, found
        own = run.job.processes[number].pid
        of_rtrain = [port for _, port, pids in found if own in pids]
        contact = json.loads(run.job.rendezvous.read_text())
        assert of_rtrain == [contact["port"]], found
        workers = set(run.pids(host.name))
        assert all(pids & workers for _, _, pids in found if own not in pids), found
    (rtrain.folder / "limit").write_text("10\n")
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
