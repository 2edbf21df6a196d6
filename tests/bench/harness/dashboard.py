"""Servers of dashboards, what is asked of them, and browsers that open their pages."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from harness.benchmark import BenchError
from harness.job import proportional_bytes


class Server:
    """A running dashboard server."""

    def __init__(self, command, env, address=None):
        self._log = tempfile.TemporaryFile("w+")
        began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if address is None else self._log,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        try:
            self.address = address or self._process.stdout.readline().strip()
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        self.start_s = time.monotonic() - began

    @property
    def pid(self):
        return self._process.pid

    def _wait(self):
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                self._log.seek(0)
                raise BenchError(f"the server has ended: {self._log.read()[-2000:]}")
            with contextlib.suppress(OSError), urllib.request.urlopen(self.address, timeout=60):
                return
            time.sleep(0.02)
        raise BenchError(f"{self.address} does not answer")

    def memory_mib(self):
        return sum(proportional_bytes(pid) for pid in _session(self.pid)) / 2**20

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._log.close()


def _stat(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()


def _session(leader):
    """Returns the pids of all processes in the session."""
    out = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if int(_stat(name)[3]) == leader:
                out.append(int(name))
    return out


def cpu_s(pid):
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(browser, script):
    deadline = time.monotonic() + 60
    while not browser.run(script):
        if time.monotonic() > deadline:
            raise BenchError(f"not within a minute: {script}")
        time.sleep(0.05)


class Asker:
    def __init__(self, address):
        url = urllib.parse.urlsplit(address)
        self.host = url.netloc
        self.token = urllib.parse.parse_qs(url.query)["token"][0]

    def timed_ms(self, path):
        request = urllib.request.Request(f"http://{self.host}{path}", headers={"Authorization": f"Bearer {self.token}"})
        began = time.monotonic()
        with urllib.request.urlopen(request, timeout=60) as answer:
            body = answer.read()
        return (time.monotonic() - began) * 1000, json.loads(body)

    def stream(self, path):
        """Opens a connection on which events arrive."""
        host, port = self.host.split(":")
        out = socket.create_connection((host, int(port)))
        out.sendall(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
        return out


@contextlib.contextmanager
def browser_of(webdriver):
    """Starts a browser with an empty profile."""
    with tempfile.TemporaryDirectory(prefix="bench-browser-", ignore_cleanup_errors=True) as folder:
        browser = webdriver.Browser(pathlib.Path(folder), {**os.environ, "HOME": folder})
        try:
            yield browser
        finally:
            browser.close()
