"""What ends in which way when a worker, a host, a link or a disk of a run over two hosts fails, and that no report is lost."""

import json
import os
import signal
import time

import pytest
from conftest import processes_of, wait_until

# Each rank notes every report that has returned, in a file of its own, until the file `go` is there.
REPORTING = """
local files, train = require 'files', require 'rtrain'
local trainer = train.TorchTrainer{
  train_loop_per_worker = function()
    local context = train.get_context()
    local rank, pid = context:get_world_rank(), io.open('/proc/self/stat'):read('*n')
    local returned = io.open(('returned-%d-%d'):format(rank, pid), 'w')
    local step = 0
    while not files.exists 'go' do
      step = step + 1
      local id = ('%d-%d-%d'):format(rank, pid, step)
      train.report{id = id}
      returned:write(id, '\\n')
      returned:flush()
      os.execute('sleep 0.01')
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = WORKERS, elastic_resize_monitor_interval_s = 0.5},
  run_config = train.RunConfig{name = 'faults', failure_config = train.FailureConfig{max_failures = 5, node_timeout_s = 2}},
}
trainer:fit()
"""


class Run:
    """A run under faults."""

    def __init__(self, rtrain, job, hosts, workers="4"):
        self.rtrain, self.hosts = rtrain, hosts
        rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "30"
        self.job = job("run", rtrain.script(REPORTING.replace("WORKERS", workers)))
        self.wait_for_steps(5)

    @property
    def stderr(self):
        return self.job.processes[0].stderr

    def returned(self):
        """The ids of all reports that have returned to their callers."""
        return {line for path in self.rtrain.folder.glob("returned-*") for line in path.read_text().splitlines()}

    def workers(self, host=None):
        found = self.rtrain.json("show", "faults")["attempts"][-1]["workers"]
        return [worker for worker in found if host in (None, worker["host"])]

    def wait_for_steps(self, count):
        """Until every rank of the newest attempt has made that many more reports."""
        def pids():
            return [pid for pid in self.rtrain.pids("faults") if os.path.exists(f"/proc/{pid}")]

        def steps(pid):
            path = next(iter(self.rtrain.folder.glob(f"returned-*-{pid}")), None)
            return len(path.read_text().splitlines()) if path else 0

        def moved():
            assert self.job.processes[0].running, self.stderr
            now = pids()
            return now and all(steps(pid) >= count for pid in now)

        wait_until(moved, message=f"{count} reports of each rank")

    def wait_for(self, text):
        wait_until(lambda: text in self.stderr or not self.job.processes[0].running, message=text)
        assert text in self.stderr

    def end(self, *codes):
        (self.rtrain.folder / "go").touch()
        results = self.job.wait()
        assert [result.returncode for result in results] == list(codes), "\n".join(result.stderr for result in results)

    def stored(self):
        return [json.loads(metrics)["id"] for (metrics,) in self.rtrain.query("SELECT metrics FROM reports")]

    def assert_all_stored(self):
        stored = self.stored()
        assert len(stored) == len(set(stored)), "a report is there twice"
        missing = self.returned() - set(stored)
        assert not missing, f"{len(missing)} reports that had returned are not in the store: {sorted(missing)[:5]}"

    def statuses(self):
        return self.rtrain.statuses("faults")

    def warnings(self):
        return "\n".join(text for (text,) in self.rtrain.query("SELECT text FROM events WHERE level = 'warning'"))


@pytest.fixture
def run(rtrain, job, hosts):
    return lambda *args: Run(rtrain, job, hosts, *args)


def test_a_new_agent_brings_what_the_killed_one_had_not(run):
    faults = run()
    agent = faults.job.processes[1]
    # What its workers report from here on stays in their sockets.
    agent.send(signal.SIGSTOP)
    faults.wait_for_steps(40)
    agent.kill()
    faults.job.start_again(1)
    faults.wait_for("attempt 2 begins")
    faults.wait_for_steps(5)
    faults.end(0, 0)
    assert faults.statuses() == ["ERRORED", "FINISHED"]
    assert "host n1 had" in faults.stderr and "of an earlier attempt on its disk" in faults.stderr
    faults.assert_all_stored()


def test_a_host_that_stood_still_for_too_long_comes_back(run):
    faults = run()
    agent = faults.job.processes[1]
    before = faults.rtrain.pids("faults")
    agent.send(signal.SIGSTOP)
    faults.wait_for("host n1 has not been heard of for 2 s (node_timeout_s)")
    agent.send(signal.SIGCONT)
    faults.wait_for("attempt 2 begins")
    faults.wait_for_steps(5)
    assert not set(before) & set(processes_of(faults.rtrain.storage)), "the workers of the first attempt are gone"
    faults.end(0, 0)
    assert faults.statuses() == ["ERRORED", "FINISHED"]
    assert "reports that the ranks of host n1 have made in the last moments may be missing" in faults.warnings()
    faults.assert_all_stored()
