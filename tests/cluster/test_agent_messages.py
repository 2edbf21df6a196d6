"""An agent that knows the run's secret sends invalid messages: its link ends with a message, and the run survives.

The messages are each message of an agent with missing fields or fields of another type, frames that are not messages,
and numbers that were used before. The agent is simulated by the test, with openssl and the frames of
host/wire/wire_frame.h.
"""

import itertools
import json
import os
import pathlib
import queue
import re
import struct
import subprocess
import threading

import pytest

from conftest import ALL, e2e, wait_until
from faulted_run import Run, reporting
from test_port import derived_key
from test_worker_messages import pack

MESSAGES = e2e.SOURCE / "host/node"
VALUES = [None, True, -1, 2**63 - 1, 1e300, "x", [], {}, [0] * 3000, {"a": {"a": [[{}]]}}]


def unpack(data, at=0):
    """Returns (value, end) of a MessagePack value, for the types that rtrain writes."""
    head = data[at]
    at += 1
    if head <= 0x7F:
        return head, at
    if head >= 0xE0:
        return head - 256, at
    if head <= 0x8F:
        return unpack_items(data, at, (head & 15) * 2, True)
    if head <= 0x9F:
        return unpack_items(data, at, head & 15, False)
    if head <= 0xBF:
        return data[at : at + (head & 31)], at + (head & 31)
    if head in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[head], at
    sized = {
        0xCC: ">B",
        0xCD: ">H",
        0xCE: ">I",
        0xCF: ">Q",
        0xD0: ">b",
        0xD1: ">h",
        0xD2: ">i",
        0xD3: ">q",
        0xCA: ">f",
        0xCB: ">d",
    }
    if head in sized:
        (value,) = struct.unpack_from(sized[head], data, at)
        return value, at + struct.calcsize(sized[head])
    form = {
        0xD9: ">B",
        0xDA: ">H",
        0xDB: ">I",
        0xC4: ">B",
        0xC5: ">H",
        0xC6: ">I",
        0xDC: ">H",
        0xDD: ">I",
        0xDE: ">H",
        0xDF: ">I",
    }[head]
    (size,) = struct.unpack_from(form, data, at)
    at += struct.calcsize(form)
    if head >= 0xDC:
        return unpack_items(data, at, size * (2 if head >= 0xDE else 1), head >= 0xDE)
    return data[at : at + size], at + size


def unpack_items(data, at, count, is_map):
    items = []
    for _ in range(count):
        item, at = unpack(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2], strict=True)) if is_map else items), at


def wire_frame(kind, number=0, payload=b""):
    return struct.pack("<IcQ", 9 + len(payload), kind, number) + payload


class Agent:
    """Says hello as node 1, answers the checks that a node gets before its workers, and sends the test's messages."""

    names = itertools.count(1)

    def __init__(self, host, contact, build, about=None, gets_workers=False):
        self.gets_workers = gets_workers
        identity = f"rtrain1/agent/{contact['start']}"
        self.process = subprocess.Popen(
            host.command(
                "openssl",
                "s_client",
                "-connect",
                f"{contact['hosts'][0]}:{contact['port']}",
                "-tls1_3",
                "-psk",
                derived_key(contact["secret"], identity),
                "-psk_identity",
                identity,
                "-quiet",
            ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.sent, self.attempt, self.first_rank, self.is_over = 0, None, None, False
        self.pongs, self.refusal, self.has_workers = queue.Queue(), None, threading.Event()
        if about is None:
            about = pack(
                {
                    "type": "agent",
                    "node": 1,
                    "tasks": 1,
                    "host": "n1",
                    "address": host.address,
                    "cores": 2,
                    "gpus": [],
                    "pid": os.getpid(),
                    "libtorch": "",
                }
            )
        self._lock = threading.RLock()
        self.write(
            wire_frame(
                b"h",
                0,
                pack(
                    {
                        "version": 1,
                        "build": build,
                        "link": f"agent-{next(self.names)}",
                        "about": about,
                        "position": {
                            "stream": "0123456789abcdef",
                            "first": 1,
                            "peer_stream": "",
                            "received": 0,
                            "dropped": 0,
                        },
                    }
                ),
            )
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def write(self, data):
        with self._lock:
            try:
                self.process.stdin.write(data)
                self.process.stdin.flush()
            except (BrokenPipeError, OSError):
                self.is_over = True

    def send(self, payload):
        with self._lock:  # the reader sends answers, and a frame that is out of order ends the link without a word
            self.sent += 1
            self.write(wire_frame(b"d", self.sent, payload))

    def is_heard(self):
        """Returns whether the link still exists after the receiver has processed all sent messages."""
        for turn in range(2):  # one thread receives the messages, another one processes them
            self.write(wire_frame(b"p", turn))
            wait_until(lambda: self.is_over or not self.pongs.empty(), message="an answer, or the end")
            if self.is_over:
                return False
            self.pongs.get()
            self._reader.join(0.1)
        return not self.is_over

    def end(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()

    def _read(self):
        stream = self.process.stdout
        while len(head := stream.read(4)) == 4:
            (size,) = struct.unpack("<I", head)
            body = stream.read(size)
            kind, (number,), payload = body[:1], struct.unpack("<Q", body[1:9]), body[9:]
            if kind == b"r":
                self.refusal = payload.decode()
            if kind == b"q":
                self.pongs.put(number)
            if kind == b"p":
                self.write(wire_frame(b"q", number))
            if kind == b"d":
                self.write(wire_frame(b"a", number))
                self._answer(unpack(payload)[0])
        self.is_over = True

    def _answer(self, message):
        kind = message[b"type"]
        if kind == b"check_folder":
            self.send(pack({"type": "folder_seen", "path": message[b"path"], "problem": ""}))
        if kind == b"check_node" and self.gets_workers:
            self.send(pack({"type": "node_checked", "port": 0, "results": []}))
        if kind == b"ask_spool":
            self.send(pack({"type": "spool_end", "problem": ""}))
        if kind == b"start_workers":
            self.attempt, self.first_rank = message[b"attempt"], message[b"first_rank"]
            self.has_workers.set()


PLAUSIBLE = {
    "path": "/x",
    "problem": "",
    "report": b"\x80",
    "frame": b"x",
    "bytes": "x",
    "stream": 0,
    "broken": "",
    "lost": "",
    "error": {"code": "user", "message": "x"},
    "worker": {"pid": 1, "threads": 1, "gpus": []},
    "is_child": True,
    "is_known": True,
    "is_transient": False,
    "last": {},
    "ranks": [],
    "series": {},
    "fault": {},
    "text": "x",
}


def messages_of(header, variant):
    """Returns the fields of each message type that the variant lists."""
    text = (MESSAGES / header).read_text()
    names = re.search(rf"using {variant} = std::variant<([^>]+)>", text).group(1).replace("\n", " ").split(",")
    found = {}
    for name in map(str.strip, names):
        body = re.search(rf"struct {name} {{(.*?)\n}};", text, re.S).group(1)
        found[re.search(r'kType = "(\w+)"', body).group(1)] = re.findall(r'(?:required|optional)\("(\w+)"', body)
    return found


def broken(fields_of, turns):
    """Yields (type, fields): each message with one wrong value in one field, and each with one field missing; all of
    them in nightly tests, else a sample.
    """
    for kind, fields in fields_of.items():
        whole = {field: PLAUSIBLE.get(field, 1) for field in fields if field not in ("attempt", "rank")}
        if "rank" in fields:
            whole["rank"] = None  # a valid rank, filled in later
        wrong = [
            {**whole, field: value}
            for field in fields
            if field != "attempt"
            for value in (VALUES if ALL else [next(turns)])
        ]
        less = [{key: value for key, value in whole.items() if key != field} for field in fields if field != "attempt"]
        for each in (wrong + less) if ALL else [*wrong[:1], *wrong[-1:], *less[:1]]:
            yield kind, each


NO_MESSAGES = [
    b"",
    b"\xdd\xff\xff\xff\xff",
    b"\xdb\xff\xff\xff\xff",
    b"\xc1",
    b"\x91" * 200 + b"\xc0",
    pack({}),
    pack([]),
    pack({"type": 3}),
    b"\xcf" + b"\xff" * 8,
]
# Types that no agent sends. A later version may accept them.
UNKNOWN = [pack({"type": "no such message"}), pack({"type": "start_workers"}), pack({"type": "leave", "code": 0})]


class Attack:
    def __init__(self, run, host, gets_workers=False):
        self.run, self.host, self.gets_workers = run, host, gets_workers
        wait_until(run.job.rendezvous.exists, message="the rendezvous file")
        self.contact = json.loads(run.job.rendezvous.read_text())
        stranger = Agent(host, self.contact, "none")
        wait_until(lambda: stranger.refusal, message="a refusal")
        self.build = re.search(r"the server (\w+)", stranger.refusal).group(1)
        stranger.end()
        self.agent, self.ended = None, 0

    def connected(self):
        if self.agent is None or self.agent.is_over:
            if self.agent:
                self.agent.end()
            self.agent = Agent(self.host, self.contact, self.build, gets_workers=self.gets_workers)
            wait_until(lambda: self.agent.refusal or self.agent.is_over or self.agent.is_heard(), message="a welcome")
            assert not self.agent.refusal and not self.agent.is_over, (self.agent.refusal, self.run.said())
        if self.gets_workers:
            wait_until(
                lambda: self.agent.is_over or self.agent.has_workers.is_set(), message="an order to start workers"
            )
        return self.agent

    def send(self, payload):
        """Sends a payload. Returns whether the link survives it."""
        agent = self.connected()
        before = self.run.stderr.count("has sent an invalid message")
        agent.send(payload)
        if agent.is_heard():
            return True
        wait_until(
            lambda: self.run.stderr.count("has sent an invalid message") > before or not self.run.controller.running,
            message=f"what is said of {payload}",
        )
        self.ended += 1
        assert self.run.controller.running, self.run.said()
        return False


def survives(run, rtrain):
    """The real agent joins; the run continues with it and ends well."""
    run.job.add(1)
    run.wait_for_steps(3, workers=4)
    run.let_go()
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    for wrong in ("bug of rtrain", "constraint failed", "internal"):
        assert wrong not in run.stderr, run.said()[-3000:]
    run.assert_no_report_is_lost()


def peak_mb(pid):
    return int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


# fault: an agent that sends invalid messages
def test_what_a_node_says_of_itself(rtrain, job, hosts):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "120"  # the run waits for a node while the test sends messages in its name
    run = Run(rtrain, job, hosts, reporting(), nodes=[0])
    attack = Attack(run, hosts[1])
    for payload in NO_MESSAGES:
        assert not attack.send(payload), payload
    assert attack.ended == len(NO_MESSAGES)
    for payload in UNKNOWN:
        attack.send(payload)
    turns = itertools.cycle(VALUES)
    kinds = {**messages_of("workers/messages.h", "FromAgent"), **messages_of("health/health_messages.h", "FromHealth")}
    for kind, fields in broken(kinds, turns):
        attack.send(pack({"type": kind, **fields}))
    # Frames with a number that was used before, and acknowledgements of frames that were never sent.
    for data in (
        wire_frame(b"d", 1, pack({"type": "spool_end"})),
        wire_frame(b"a", 2**63),
        wire_frame(b"d", 2**64 - 1, b"x"),
        wire_frame(b"z"),
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff",
    ):
        attack.connected()
        attack.agent.send(pack({"type": "spool_end"}))
        attack.agent.write(data)
        assert not attack.agent.is_heard()
    for about in (
        b"",
        b"\xc1",
        pack([]),
        pack({"type": "agent"}),
        pack({"type": "agent", "node": -1, "tasks": 2**40, "host": "x" * 9000, "cores": -1, "gpus": [1], "pid": 0}),
    ):
        agent = Agent(hosts[1], attack.contact, attack.build, about)
        wait_until(lambda agent=agent: agent.is_over, message="the end of a link without an agent")
        agent.end()
    assert run.controller.running
    assert peak_mb(run.controller.pid) < 500
    attack.agent.end()
    survives(run, rtrain)


WORKER = {"pid": 1, "threads": 1, "gpus": []}
FACTS = {"state": 83, "cpu": 0.0, "progress": 0, "collectives": 0, "reports": 0, "beat": 0.0}
KILLED = {"exit_code": 0, "signal": 9, "is_known": True}
GONE = {"end": {"pid": 1, "is_child": True, "status": KILLED, "last": {"signal": 9}}}
REPORT = {"index": 0, "time": 1, "metrics": {"x": 1}}


def about_workers(agent):
    """Returns a list of (messages, reason for which the link ends) for an agent with ranks 2 and 3 of 4; with None the
    link survives.
    """
    now, first = {"attempt": agent.attempt}, agent.first_rank
    spawned = {"type": "spawned", **now, "rank": first, "now": 1.0, "worker": WORKER}
    facts = {
        "type": "facts",
        **now,
        "rank": first,
        "now": 1.0,
        "copied_bytes": 0,
        "ranks": [FACTS, FACTS],
        "spares": 0,
        "has_spare": False,
    }
    late = {"attempt": agent.attempt + 1}
    frame = pack({"type": "gpus", "gpus": [0]})
    return [
        ([{**spawned, "rank": 0}], "rank 0 is of another node"),
        ([{**spawned, "rank": 4}], "rank 4 is of another node"),
        ([{**spawned, "rank": -1}], "rank -1 is of another node"),
        ([{**spawned, "rank": 2**40}], "has sent an invalid message"),
        ([spawned, spawned], f"rank {first} was started before"),
        ([{**spawned, "worker": {**WORKER, "pid": -5}}], f"rank {first} is process -5"),
        ([{**spawned, "now": float("inf")}], "now is inf"),
        ([{"type": "from_rank", **now, "rank": 1, "frame": frame}], "rank 1 is of another node"),
        ([{"type": "printed", **now, "rank": 0, "stream": 0, "bytes": "x"}], "rank 0 is of another node"),
        ([{"type": "gone", **now, "rank": 0, **GONE}], "rank 0 is of another node"),
        ([{**facts, "ranks": [FACTS]}], f"facts of 1 ranks from {first} on, the node has 2 from {first} on"),
        ([{**facts, "ranks": [FACTS, {**FACTS, "beat": float("nan")}]}], "beat is nan"),
        ([{**facts, "copied_bytes": -1}], "-1 bytes copied"),
        ([{**facts, "rank": first + 1}], f"facts of 2 ranks from {first + 1} on"),
        ([{"type": "device_failed", **now, "fault": {"rank": 0, "gpu": {}, "xid": 79}}], "has sent an invalid message"),
        ([{"type": "spooled", **now, "rank": -1, "report": pack({"type": "report", **REPORT})}], "report 0 of rank -1"),
        # Messages of another attempt, and of a rank that was not started.
        ([{**spawned, **late}, {**facts, **late}, {"type": "gone", **late, "rank": 0, **GONE}], None),
        ([{"type": "from_rank", **late, "rank": 0, "frame": pack({"type": "report", **REPORT})}], None),
        ([{"type": "from_rank", **now, "rank": first, "frame": frame}], None),
        (
            [{"type": "from_rank", **now, "rank": first, "frame": pack({"type": "report", **REPORT, "index": 2**62})}],
            None,
        ),
    ]


# The delay before an attempt grows with each failure, so each run gets a third of the messages. A change sends one third.
# fault: an agent that sends invalid messages about its workers
@pytest.mark.parametrize("third", range(3 if ALL else 1))
def test_what_a_node_says_of_its_workers(rtrain, job, hosts, third):
    run = Run(
        rtrain,
        job,
        hosts,
        reporting().replace("max_failures", "controller_failure_limit = -1, max_failures"),
        nodes=[0],
    )
    attack = Attack(run, hosts[1], gets_workers=True)
    first = attack.connected()
    assert first.attempt, (first.refusal, run.said())
    count = len(about_workers(first))
    for number in range(third, count, 3):
        agent = attack.connected()
        messages, reason = about_workers(agent)[number]
        before = run.stderr.count(reason or "has sent an invalid message")
        for message in messages:
            agent.send(pack(message))
        assert agent.is_heard() == (reason is None), messages
        if reason:
            wait_until(lambda: run.stderr.count(reason) > before, message=f"what is said of {messages}")
        assert run.controller.running, run.said()
    attack.agent.end()
    survives(run, rtrain)
