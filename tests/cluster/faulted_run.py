"""Runs over two nodes that record every report that has returned, for tests that inject faults."""

import json
import pathlib
import time

from conftest import wait_until

# Until the file `go` exists, each rank records every report that has returned in its own file. A group that will be
# resized stops at a checkpoint.
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
# Four ranks make steps up to the number in the file `limit`, with a checkpoint after every fifth step. They record
# their reports in the same way.
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
      -- DDP's first step adds in another order than its later steps, which changes the sum of four numbers.
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
  torch_config = train.TorchConfig{backend = 'gloo'},  -- shared memory, the default on one node, adds in another order
  run_config = train.RunConfig{name = 'faults', failure_config = train.FailureConfig{max_failures = -1, node_timeout_s = 2}},
}
trainer:fit()
"""


def reporting(workers="4", node_timeout=30, has_checkpoints=False):
    return (
        REPORTING.replace("WORKERS", workers)
        .replace("NODE_TIMEOUT", str(node_timeout))
        .replace("CHECKPOINTS", str(has_checkpoints).lower())
    )


class Run:
    """A run under faults, and its job on two nodes."""

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
        """Returns the controller's stderr without the lines of reports."""
        return "\n".join(line for line in self.stderr.splitlines() if not line.startswith("report "))

    def notes(self):
        """Returns the files in which the ranks record the reports that have returned."""
        return list(self.rtrain.folder.glob("returned-*"))

    def pids(self, host=None):
        """Returns the pids of the newest attempt's living workers, on this node or on all nodes."""
        found = self.rtrain.query(
            "SELECT pid FROM workers WHERE attempt = (SELECT max(attempt) FROM attempts) AND host LIKE ? ORDER BY rank",
            host or "%",
        )
        return [pid for (pid,) in found if pathlib.Path(f"/proc/{pid}").exists()]

    def num_steps(self, pid):
        path = next(iter(self.rtrain.folder.glob(f"returned-*-{pid}")), None)
        return len(path.read_text().splitlines()) if path else 0

    def wait_for_steps(self, count, host=None, workers=None):
        """Waits until the newest attempt has `workers` workers on the node, and each has made `count` more reports."""
        begun = {}

        def moved():
            assert self.controller.running, self.said()
            now = self.pids(host)
            for pid in now:
                begun.setdefault(pid, self.num_steps(pid))
            return (
                now
                and len(now) == (workers or len(now))
                and all(self.num_steps(pid) >= begun[pid] + count for pid in now)
            )

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
