"""The timing of a run: how the train function's time is split into phases, per attempt and rank."""

import re

import pytest

NAP_S = 0.05
SLOW = """
local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data
local function nap(where, wanted) if where == wanted then os.execute 'sleep 0.05' end end

local Slow = data.Dataset:extend 'Slow'
function Slow:init(where) self.where = where end
function Slow:len() return 8 end
function Slow:get(i)
  if self.where == 'data' and i % 2 == 0 then os.execute 'sleep 0.05' end
  return torch.ones(2) * i, torch.ones(1)
end

local Net = torch.nn.Module:extend 'Net'
function Net:init(where)
  self.where, self.fc = where, torch.nn.Linear(2, 1)
end
function Net:forward(x)
  nap(self.where, 'forward')
  local out = self.fc(x)
  out:register_hook(function(grad) nap(self.where, 'backward') return grad end)
  return out
end

train.TorchTrainer {
  train_loop_per_worker = function(config)
    local where, rank = config.where, train.get_context():get_world_rank()
    local is_resumed = train.get_checkpoint() ~= nil
    local model = train.torch.prepare_model(Net(where))
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-3})
    optimizer:register_step_pre_hook(function() nap(where, 'optimizer') end)
    local loader = data.DataLoader(Slow(where), {batch_size = 2, num_workers = config.threads})
    for x, y in loader do
      optimizer:zero_grad()
      torch.nn.functional.mse_loss(model(x), y):backward()
      optimizer:step()
      if where == 'communication' then
        if rank == 1 then os.execute 'sleep 0.05' end
        torch.distributed.barrier()
      end
    end
    train.tempdir(function(dir)
      for _ = 1, 4 do
        nap(where, 'checkpoint')
        if rank == 1 then nap(where, 'late') end
      end
      train.report({rank = rank}, {checkpoint = train.Checkpoint.from_directory(dir), checkpoint_upload_mode = config.mode})
    end)
    for _ = 1, 4 do nap(where, 'other') end
    if config.fail and not is_resumed then error 'once' end
  end,
  train_loop_config = {where = '', threads = 0, fail = false, mode = 'SYNC'},
  run_config = train.RunConfig {name = 'run', failure_config = train.FailureConfig {max_failures = 1}},
}:fit()
"""
PHASES = ["backward", "checkpoint", "communication", "data", "forward", "optimizer", "other", "report", "wait"]


def timings(rtrain):
    """Returns, for each attempt, the mean and each rank's timing."""
    return [
        (attempt["timing"], [worker["timing"] for worker in attempt["workers"]])
        for attempt in rtrain.json("show", "run")["attempts"]
    ]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("phase", ["data", "forward", "backward", "optimizer", "checkpoint", "other"])
def test_each_phase_has_its_time(rtrain, phase, workers):
    rtrain.run_ok(SLOW, "-n", workers, "--set", f"where={phase}", "-q", "--oversubscribe")
    [(mean, ranks)] = timings(rtrain)
    assert len(ranks) == max(workers, 1)
    for rank in ranks:
        assert sorted(rank) == [f"{name}_s" for name in PHASES]
        assert rank[f"{phase}_s"] >= 4 * NAP_S
    for key in mean:
        assert mean[key] == pytest.approx(sum(rank[key] for rank in ranks) / len(ranks))
    shown = rtrain("show", "run").stdout
    shares = dict(re.findall(r"(\w+) (<?\d+) %", re.search(r"\n     time  .*: (.*)", shown).group(1)))
    assert set(shares) <= set(PHASES) and int(shares[phase].lstrip("<")) >= 1


def test_who_waits_for_the_others_communicates(rtrain):
    rtrain.run_ok(SLOW, "-n", 2, "--set", "where=communication", "-q", "--oversubscribe")
    [(_, [first, second])] = timings(rtrain)
    assert first["wait_s"] >= 3 * NAP_S and first["wait_s"] > second["wait_s"] and second["other_s"] >= 4 * NAP_S


@pytest.mark.parametrize("mode", ["SYNC", "NO_UPLOAD"])
def test_who_saves_early_waits_for_the_others_reports(rtrain, mode):
    rtrain.run_ok(SLOW, "-n", 2, "--set", "where=late", "--set", f"mode={mode}", "-q", "--oversubscribe")
    [(_, [first, second])] = timings(rtrain)
    assert second["checkpoint_s"] >= 4 * NAP_S
    assert first["report_s"] > max(first["checkpoint_s"], second["report_s"]), (first, second)


def test_threads_that_load_are_waited_for(rtrain):
    rtrain.run_ok(SLOW, "-n", 0, "--set", "where=data", "--set", "threads=1", "-q")
    [(timing, _)] = timings(rtrain)
    assert timing["data_s"] >= NAP_S, "the first batch at least"


def test_each_attempt_has_its_own(rtrain):
    rtrain.run_ok(SLOW, "-n", 1, "--set", "where=forward", "--set", "fail=true", "-q")
    attempts = timings(rtrain)
    assert len(attempts) == 2
    for mean, _ in attempts:
        assert mean["forward_s"] >= 4 * NAP_S
    series = rtrain.json("metrics", "run", "--series", "time/forward_s", "--superseded")
    assert {point["attempt"] for point in series} == {1, 2} and series[-1]["step"] == 4, "steps of the optimizer"


def test_a_run_that_trains_nothing_has_none(rtrain):
    rtrain.run_ok(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function() train.report {x = 1} end,
          run_config = train.RunConfig {name = 'run'},
        }):fit()
        """,
        "-q",
    )
    assert timings(rtrain) == [(None, [None])]
    assert "\n     time  " not in rtrain("show", "run").stdout
