"""What ends in which way when a worker, a host, a link or a disk of a run over two hosts fails, and that no report is lost.

RTRAIN_TEST_FAULTS: how many random faults hit one run, one after the other; 50 with scripts/test --cluster.
"""

import json
import os
import pathlib
import random
import signal
import time

import checker
import pytest
from conftest import processes_of, wait_until

# Each rank notes every report that has returned, in a file of its own, until the file `go` is there. A group that is to get
# another size stops at a checkpoint.
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
      if CHECKPOINTS and rank == 0 and step % 10 == 0 then
        train.tempdir(function(folder)
          local file = io.open(folder .. '/step', 'w')
          file:write(step)
          file:close()
          train.report({id = id}, {checkpoint = train.Checkpoint.from_directory(folder)})
        end)
      else
        train.report{id = id}
      end
      returned:write(id, '\\n')
      returned:flush()
      os.execute('sleep 0.01')
    end
  end,
  scaling_config = train.ScalingConfig{num_workers = WORKERS, elastic_resize_monitor_interval_s = 0.5},
  run_config = train.RunConfig{name = 'faults', failure_config = train.FailureConfig{
    max_failures = 5, node_timeout_s = NODE_TIMEOUT, preemption_grace_s = 1}},
}
trainer:fit()
"""
# Steps of four ranks up to the one in the file `limit`; a checkpoint after every fifth. It notes its reports in the same way.
TRAINING = """
local train = require 'rtrain'
local function limit()
  local file = io.open 'limit'
  local number = file:read '*n'
  file:close()
  return number
end
local trainer = train.TorchTrainer{
  train_loop_per_worker = function(config)
    local torch = require 'torch'
    local context = train.get_context()
    local rank, pid = context:get_world_rank(), io.open('/proc/self/stat'):read('*n')
    local returned = io.open(('returned-%d-%d'):format(rank, pid), 'w')
    torch.manual_seed(0)
    local nn = torch.nn
    local model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.2), nn.Tanh(), nn.Linear(16, 1))
    torch.manual_seed(rank)
    local state = train.state{model = model, optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01}), step = 0}
    state:load(train.get_checkpoint())
    local function report(metrics, options)
      metrics.id = ('%d-%d-%d'):format(rank, pid, state.step)
      train.report(metrics, options)
      returned:write(metrics.id, '\\n')
      returned:flush()
    end
    while state.step < config.steps do
      while state.step >= limit() do os.execute 'sleep 0.01' end
      state.step = state.step + 1
      local x = torch.randn(16, 8)
      local loss = ((model(x) - x:sum(1, true)):pow(2)):mean()
      state.optimizer:zero_grad()
      loss:backward()
      -- Not by DDP: its first step adds in another order than the later ones, and four numbers then have another sum.
      for _, parameter in ipairs(model:parameters()) do torch.distributed.all_reduce(parameter.grad) end
      state.optimizer:step()
      local metrics = {step = state.step}
      if state.step == config.steps then
        local bits = {}
        for _, parameter in ipairs(model:parameters()) do
          bits[#bits + 1] = ('%.0f'):format(parameter:detach():view(-1):view(torch.int32):to(torch.float64):sum():item())
        end
        metrics.parameters = table.concat(bits, ' ')
      end
      if state.step % 5 ~= 0 then
        report(metrics)
      else
        train.tempdir(function(folder)
          state:save(folder)
          report(metrics, {checkpoint = train.Checkpoint.from_directory(folder)})
        end)
      end
    end
  end,
  train_loop_config = {steps = STEPS},
  scaling_config = train.ScalingConfig{num_workers = 4},
  run_config = train.RunConfig{name = 'faults', failure_config = train.FailureConfig{max_failures = -1, node_timeout_s = 2}},
}
trainer:fit()
"""


def reporting(workers="4", node_timeout=30, has_checkpoints=False):
    return (REPORTING.replace("WORKERS", workers).replace("NODE_TIMEOUT", str(node_timeout))
            .replace("CHECKPOINTS", str(has_checkpoints).lower()))


class Run:
    """A run under faults, and its job on two hosts."""

    def __init__(self, rtrain, job, hosts, text, *args, **options):
        self.rtrain, self.hosts = rtrain, hosts
        rtrain.env.setdefault("RTRAIN_JOIN_TIMEOUT_S", "30")
        self.job = job("run", rtrain.script(text), *args, env={"SLURM_CPUS_ON_NODE": "2"}, **options)

    @property
    def controller(self):
        return self.job.processes[0]

    @property
    def agent(self):
        return self.job.processes[1]

    @property
    def stderr(self):
        return self.controller.stderr

    def said(self):
        """Without its reports."""
        return "\n".join(line for line in self.stderr.splitlines() if not line.startswith("report "))

    def notes(self):
        """The files in which the ranks note what has returned."""
        return list(self.rtrain.folder.glob("returned-*"))

    def pids(self, host=None):
        """Of the workers of the newest attempt that live, on that host."""
        found = self.rtrain.query("SELECT pid FROM workers WHERE attempt = (SELECT max(attempt) FROM attempts) AND "
                                  "host LIKE ? ORDER BY rank", host or "%")
        return [pid for (pid,) in found if pathlib.Path(f"/proc/{pid}").exists()]

    def num_steps(self, pid):
        path = next(iter(self.rtrain.folder.glob(f"returned-*-{pid}")), None)
        return len(path.read_text().splitlines()) if path else 0

    def wait_for_steps(self, count, host=None, workers=None):
        """Until the newest attempt has workers there (that many), and each has made that many more reports."""
        begun = {}

        def moved():
            assert self.controller.running, self.said()
            now = self.pids(host)
            for pid in now:
                begun.setdefault(pid, self.num_steps(pid))
            return now and len(now) == (workers or len(now)) and all(self.num_steps(pid) >= begun[pid] + count for pid in now)

        wait_until(moved, message=f"{count} reports of each rank")

    def wait_for(self, text, times=1):
        def is_said():
            return self.stderr.count(text) >= times or not self.controller.running

        deadline = time.monotonic() + 60
        while not is_said() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.stderr.count(text) >= times, self.said()

    def let_go(self):
        (self.rtrain.folder / "go").touch()

    def assert_no_report_is_lost(self):
        stored = [json.loads(metrics)["id"] for (metrics,) in self.rtrain.query("SELECT metrics FROM reports")]
        assert len(stored) == len(set(stored)), "a report is there twice"
        returned = {line for path in self.notes() for line in path.read_text().splitlines()}
        missing = sorted(returned - set(stored))
        assert not missing, f"{len(missing)} reports that had returned are not in the store: {missing[:5]}"

    def warnings(self):
        return "\n".join(text for (text,) in self.rtrain.query("SELECT text FROM events WHERE level = 'warning'"))


# What is done to a run of four ranks. Each returns when the fault is over, and has been seen.


def kill_a_worker(run):
    os.kill(run.pids("n1")[0], signal.SIGKILL)
    run.wait_for("attempt 2 begins")


def kill_an_agent(run):
    """It comes again, as a new process of that host."""
    # What its workers report from here on stays in their sockets.
    run.agent.send(signal.SIGSTOP)
    run.wait_for_steps(40, "n1")
    run.agent.kill()
    run.job.start_again(1)
    run.wait_for("attempt 2 begins")


def kill_the_controller(run):
    """Its job is started again, on the same hosts."""
    run.controller.kill()
    run.agent.kill()  # as the launcher does
    for number in (0, 1):
        run.job.start_again(number)
    run.wait_for("going on with the run 'faults'")


def cut_the_link_for_5_s(run):
    run.hosts[1].set_link("down")
    time.sleep(5)  # that is the fault
    run.hosts[1].set_link("up")


def cut_the_link_and_forget_the_host(run):
    """The run goes on without it; then it comes back."""
    before = run.pids("n1")
    run.hosts[1].set_link("down")
    run.wait_for("attempt 2 begins")
    run.wait_for_steps(5, workers=2)
    assert not set(before) & set(processes_of(run.rtrain.storage)), "its agent ends the workers"
    run.hosts[1].set_link("up")
    run.wait_for("host n1 has joined", times=2)
    run.wait_for_steps(5, workers=4)


def stop_an_agent_for_a_moment(run):
    run.agent.send(signal.SIGSTOP)
    run.wait_for_steps(20, "n1")
    run.agent.send(signal.SIGCONT)


def stop_an_agent_for_long(run):
    before = run.pids("n1")
    run.agent.send(signal.SIGSTOP)
    run.wait_for("host n1 has not been heard of for 2 s (node_timeout_s)")
    run.agent.send(signal.SIGCONT)
    run.wait_for("attempt 2 begins")
    run.wait_for_steps(5)
    assert not set(before) & set(processes_of(run.rtrain.storage)), "the workers of the first attempt are gone"


SPOOLED = "of an earlier attempt on its disk: they are in the store now"
MISSING = "reports that the ranks of host n1 have made in the last moments may be missing"
# Fault → workers, node_timeout_s; then statuses of the attempts, what the controller says, what the store's warnings say.
FAULTS = {
    kill_a_worker: ("4", 30, ["ERRORED", "FINISHED"], "was killed by signal 9", ""),
    kill_an_agent: ("4", 30, ["ERRORED", "FINISHED"], SPOOLED, MISSING),
    kill_the_controller: ("4", 30, ["LOST", "FINISHED"], "", ""),
    cut_the_link_for_5_s: ("4", 30, ["FINISHED"], "", ""),
    cut_the_link_and_forget_the_host: ("{2, 4}", 2, ["ERRORED", "FINISHED", "FINISHED"], SPOOLED, MISSING),
    stop_an_agent_for_a_moment: ("4", 30, ["FINISHED"], "", ""),
    stop_an_agent_for_long: ("4", 2, ["ERRORED", "FINISHED"], "was lost: host n1 has not been heard of", MISSING),
}


# fault: worker, agent or controller of several hosts killed
# fault: link of a host down, host stands still, host comes back
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_and_their_ends(rtrain, job, hosts, fault):
    workers, node_timeout, statuses, said, warned = FAULTS[fault]
    text = reporting(workers, node_timeout, has_checkpoints=workers != "4")
    run = Run(rtrain, job, hosts, text, "--resume", "auto")
    run.wait_for_steps(5, workers=4)
    fault(run)
    run.wait_for_steps(5)
    run.let_go()
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    assert rtrain.statuses("faults") == statuses
    assert said in run.stderr
    assert warned in run.warnings()
    run.assert_no_report_is_lost()


# fault: a host does not come back
def test_a_host_that_stays_away_ends_the_run_and_a_later_job_brings_its_reports(rtrain, job, hosts):
    rtrain.env["RTRAIN_JOIN_TIMEOUT_S"] = "3"
    text = reporting(node_timeout=2)
    run = Run(rtrain, job, hosts, text, "--resume", "auto")
    run.wait_for_steps(5, workers=4)
    hosts[1].set_link("down")
    first, second = run.job.wait()
    assert (first.returncode, second.returncode) == (4, 5), first.stderr + second.stderr
    assert "node 1 (n1) has not come" in first.stderr
    assert "the controller has not been heard of" in second.stderr
    assert rtrain.statuses("faults") == ["ERRORED"]
    assert MISSING in run.warnings()
    shown = rtrain("show", "faults").stdout
    assert "but for the last second if the host itself went down" in " ".join(shown.split())

    hosts[1].set_link("up")
    for number in (0, 1):
        run.job.start_again(number)
    run.wait_for_steps(5, workers=4)
    run.let_go()
    assert [result.returncode for result in run.job.wait()] == [0, 0]
    assert SPOOLED in run.stderr
    run.assert_no_report_is_lost()


# fault: the disk of one host is full
def test_a_full_disk_of_one_host_does_not_end_the_run(rtrain, job, hosts):
    disk = hosts[1].command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/srv/disk")
    assert os.spawnvp(os.P_WAIT, disk[0], disk) == 0
    text = reporting()
    run = Run(rtrain, job, hosts, text, runtimes={1: "/srv/disk/runtime"})
    run.wait_for_steps(5, workers=4)
    fill = hosts[1].command("sh", "-c", "cat /dev/zero > /srv/disk/full 2>/srv/disk/error; true")
    assert os.spawnvp(os.P_WAIT, fill[0], fill) == 0
    # Each has a page of its file that it still writes to.
    wait_until(lambda: "reports do not outlive this host's agent for now" in run.stderr, message="a line about the disk")
    run.wait_for_steps(20)
    run.let_go()
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    assert "No space left on device" in run.stderr
    assert rtrain.statuses("faults") == ["FINISHED"]
    run.assert_no_report_is_lost()


# fault: clocks of hosts that differ by hours
def test_clocks_that_differ_by_hours(rtrain, job, hosts):
    hosts[1].clock_ahead_s = 36000
    text = reporting()
    run = Run(rtrain, job, hosts, text)
    run.wait_for_steps(5, workers=4)
    rtrain.env["RTRAIN_RUNTIME_DIR"] = run.job.runtimes[0]
    stacks = rtrain("stack", "faults")
    assert all(f"rank {rank} (pid" in stacks.stdout for rank in range(4)), stacks.stdout + stacks.stderr
    run.let_go()
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    assert "not been heard of" not in run.stderr and "hang" not in run.stderr
    run.assert_no_report_is_lost()


# fault: host names that no name server knows
def test_hosts_need_no_names(rtrain, job, hosts):
    for number in (0, 1):
        found = hosts[number].command("getent", "hosts", hosts[1 - number].name)
        assert os.spawnvp(os.P_WAIT, found[0], found) == 2, "the names do not resolve"
    text = reporting()
    run = Run(rtrain, job, hosts, text)
    run.wait_for_steps(5, workers=4)
    run.let_go()
    assert [result.returncode for result in run.job.wait()] == [0, 0]


class Disturber:
    """Faults at random, of a run of TRAINING."""

    def __init__(self, run, choice):
        self.run, self.choice = run, choice

    def a_worker_is_killed(self):
        pids = self.run.pids()
        if pids:
            os.kill(self.choice.choice(pids), signal.SIGKILL)

    def a_worker_stands_still(self):
        pids = self.run.pids()
        if pids:
            self.stop(self.choice.choice(pids))

    def the_agent_is_killed(self):
        self.run.agent.kill()
        self.run.job.start_again(1)

    def the_agent_stands_still(self):
        self.stop(self.run.agent.pid)

    def the_controller_stands_still(self):
        self.stop(self.run.controller.pid)

    def the_job_is_started_again(self):
        self.run.controller.kill()
        self.run.agent.kill()
        for number in (0, 1):
            self.run.job.start_again(number)

    def the_link_is_down(self):
        self.run.hosts[1].set_link("down")
        time.sleep(self.choice.uniform(0, 4))
        self.run.hosts[1].set_link("up")

    def stop(self, pid):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.choice.uniform(0, 4))
        if os.path.exists(f"/proc/{pid}"):
            os.kill(pid, signal.SIGCONT)

    def disturb(self):
        name = self.choice.choice([name for name in vars(Disturber) if name.startswith(("a_", "the_"))])
        getattr(self, name)()
        return name


# fault: random ones of several hosts, one after the other
def test_after_random_faults_the_parameters_are_those_of_the_calm_run(rtrain, job, hosts):
    count = int(os.environ.get("RTRAIN_TEST_FAULTS", 4))
    seed = int(os.environ.get("RTRAIN_TEST_SEED", random.randrange(10**6)))
    print(f"seed {seed}")
    choice = random.Random(seed)
    steps = 10 * (count + 1)
    text = TRAINING.replace("STEPS", str(steps))
    limit = rtrain.folder / "limit"

    def set_limit(number):
        (rtrain.folder / "new-limit").write_text(f"{number}\n")
        (rtrain.folder / "new-limit").rename(limit)

    set_limit(steps)
    calm = rtrain.run_ok(text, "--name", "calm", "--oversubscribe")
    assert calm.returncode == 0
    for path in rtrain.folder.glob("returned-*"):
        path.unlink()

    set_limit(10)
    run = Run(rtrain, job, hosts, text, "--resume", "auto")
    disturber = Disturber(run, choice)

    def reached(number):
        return rtrain.query("SELECT 1 FROM reports JOIN runs USING(run_id) WHERE name = 'faults' AND superseded = 0 AND "
                            "json_extract(metrics, '$.step') = ? GROUP BY idx HAVING count(*) = 4", number)

    wait_until(lambda: reached(5), message="the first steps")
    for number in range(1, count + 1):
        set_limit(10 * number + 5)
        time.sleep(choice.uniform(0, 0.5))
        fault = disturber.disturb()
        print(f"fault {number}: {fault}", flush=True)
        set_limit(10 * (number + 1))
        wait_until(lambda: reached(10 * (number + 1)) or not run.controller.running, 120, f"step {10 * (number + 1)}")
        assert run.controller.running or number == count, run.stderr
    for result in run.job.wait():
        assert result.returncode == 0, result.stderr
    last = rtrain.json("metrics", "faults")[-1]["metrics"]
    assert last["parameters"] == rtrain.json("metrics", "calm")[-1]["metrics"]["parameters"]
    stored = [json.loads(metrics)["id"] for (metrics,) in
              rtrain.query("SELECT metrics FROM reports JOIN runs USING(run_id) WHERE name = 'faults'")]
    assert len(stored) == len(set(stored)), "a report is there twice"
    returned = {line for path in run.notes() for line in path.read_text().splitlines()}
    assert not returned - set(stored), sorted(returned - set(stored))[:10]
    folders = list((rtrain.run_folder("faults") / "checkpoints").iterdir())
    assert folders, "there are checkpoints"
    for folder in folders:
        checker.verified_manifest(folder)
