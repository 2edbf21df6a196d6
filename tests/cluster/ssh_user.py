"""A user at a laptop, from which ssh reaches the nodes of ssh_hosts.py."""

import json
import os
import pathlib
import signal

from conftest import RTRAIN, Running, wait_until
from ssh_scripts import HELLO

NODES = ".cache/rtrain/nodes"


class SshUser:
    def __init__(self, rtrain, hosts):
        self.rtrain, self.hosts = rtrain, hosts
        self.folder = rtrain.folder / "project"
        self.folder.mkdir()
        rtrain.env["RTRAIN_STORAGE"] = str(rtrain.folder / "laptop-results")

    def script(self, text, name="train.lua"):
        (self.folder / name).write_text(text)
        return name

    def hello(self, script=HELLO):
        """Writes the script HELLO, or one like it, its module and its data."""
        for name, text in (("lib/greeting.lua", "return 'hello'"), ("data/words.txt", "one\ntwo\n")):
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        return self.script(script)

    def start(self, *args, **env):
        command = self.hosts.laptop.command(RTRAIN, *args, folder=self.folder)
        return Running(command, self.rtrain.folder, {**self.rtrain.env, **env})

    def interrupt(self, running):
        """Sends SIGINT to rtrain. nsenter, which has started it, waits for it."""
        children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGINT)

    def __call__(self, *args, timeout=120, **env):
        return self.start(*args, **env).wait(timeout)

    def ok(self, *args, **env):
        result = self(*args, **env)
        assert result.returncode == 0, result.stdout + result.stderr
        return result

    def on(self, number, command):
        """Returns the output of a shell's command, as the user of that node."""
        words = self.hosts.laptop.command("ssh", f"n{number}", command, folder=self.folder)
        result = Running(words, self.rtrain.folder, self.rtrain.env).wait()
        assert result.returncode == 0, (command, result.stdout, result.stderr)
        return result.stdout

    def program(self, number, name, script):
        """Puts a program before the system's on that node."""
        self.on(number, f"mkdir -p bin; printf '#!/bin/sh\\n%s\\n' '{script}' >bin/{name}; chmod +x bin/{name}")
        home = self.on(number, "pwd").strip()
        self.hosts.set_variable(number, "PATH", f"{home}/bin:/usr/bin:/bin")

    def job(self):
        """The folder of the newest job, below a node's home."""
        return f"{NODES}/jobs/{self.on(0, f'ls -t {NODES}/jobs').split()[0]}"

    def results(self, *args):
        """Returns the JSON of a listing command of rtrain on node 0."""
        return json.loads(self.on(0, f"{self.job()}/rtrain {' '.join(args)} --json"))

    def wait_for_steps(self, running, count=2, run="nodes"):
        """Waits until rank 0 has made that many reports."""

        def has_reports():
            assert running is None or running.running, running.stdout + running.stderr
            return len(self.steps(run)) >= count

        wait_until(has_reports, message=f"{count} reports")

    def steps(self, run="nodes"):
        command = f"for job in {NODES}/jobs/*; do $job/rtrain metrics {run} --json 2>/dev/null && break; done; :"
        text = self.on(0, command)
        return [row["metrics"]["step"] for row in json.loads(text)] if text.strip() else []
