"""num_workers = 0 under the variables of torchrun: the processes that torchrun has started become the ranks of one
run."""

import importlib.util
import signal
import sys

import pytest

from conftest import RTRAIN, Running, wait_until
from test_heal import LOSE, SAVE, training

TRAIN = """
local torch, train, data = require 'torch', require 'rtrain', require 'rtrain.data'
local function train_func(config)
  local context = train.get_context()
  local rank, size = context:get_world_rank(), context:get_world_size()
  assert(context:get_local_rank() == rank and context:get_local_world_size() == size and context:get_node_rank() == 0)
  assert(tostring(rank) == os.getenv 'RANK' and tostring(size) == os.getenv 'WORLD_SIZE')
  torch.manual_seed(rank)
  local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
  local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.1})
  local first = train.get_checkpoint() and 2 or 1
  for epoch = first, 3 do
    local rows = 0
    for batch in train.get_dataset_shard('train'):iter_torch_batches {batch_size = 4, dtypes = {id = 'float32'}} do
      local x = batch.id:view(-1, 1) / 8
      rows = rows + x:size(0)
      optimizer:zero_grad();
      (model(x) - 2 * x):pow(2):mean():backward()
      optimizer:step()
    end
    local sum = torch.tensor {rank + 1}
    torch.distributed.all_reduce(sum)
    local name = train.collective.broadcast_from_rank_zero('from ' .. rank)
    train.tempdir(function(dir)
      torch.save(model:state_dict(), dir .. '/rank-' .. rank .. '.pt')
      train.report({epoch = epoch, rank = rank, rows = rows, sum = sum:item(), name = name,
        weight = train.torch.unwrap(model).weight:item()}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
    if epoch == config.fails_after and first == 1 and rank == 1 then error('rank one is broken') end
  end
  return 'returned by ' .. rank
end
local result = train.TorchTrainer({
  train_loop_per_worker = train_func,
  train_loop_config = {fails_after = 0},
  datasets = {train = data.range(16)},
  scaling_config = {num_workers = 0},
  run_config = {name = 'job', failure_config = {max_failures = tonumber(os.getenv 'RETRIES' or 0)}},
}):fit()
print('result', result.return_value, result.metrics.epoch, #result.metrics_dataframe, result.checkpoint ~= nil)
"""


class Job:
    """Starts processes like torchrun, one for each rank."""

    def __init__(self, rtrain, script, size=2, args=(), each=lambda rank: {}, **variables):
        self.ranks = []
        for rank in range(size):
            env = {
                **rtrain.env,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(size),
                "LOCAL_WORLD_SIZE": str(size),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": "29500",
                **{name: str(value) for name, value in variables.items()},
                **each(rank),
            }
            self.ranks.append(Running([RTRAIN, "run", str(script), *args], rtrain.folder, env))

    def wait(self, timeout=120):
        return [rank.wait(timeout) for rank in self.ranks]


def checkpoint_files(rtrain):
    folder = rtrain.run_folder("job") / "checkpoints"
    return {
        path.name: sorted(file.name for file in path.iterdir() if file.suffix == ".pt") for path in folder.iterdir()
    }


def test_the_ranks_are_the_processes_of_the_launcher(rtrain):
    results = Job(rtrain, rtrain.script(TRAIN)).wait()
    for result in results:
        assert result.returncode == 0, result.stderr
        assert result.stdout == "result\treturned by 0\t3\t3\ttrue\n"
    assert "FINISHED" in results[0].stderr and results[1].stderr == ""
    runs = rtrain.json("ls")
    assert [(run["name"], run["status"], run["num_workers"]) for run in runs] == [("job", "FINISHED", 2)]
    with rtrain.database() as db:
        rows = db.execute("SELECT rank, count(*) FROM reports GROUP BY rank").fetchall()
        assert rows == [(0, 3), (1, 3)]
    files = checkpoint_files(rtrain)
    assert len(files) == 3 and all(names == ["rank-0.pt", "rank-1.pt"] for names in files.values())
    # Workers that rtrain starts give the same numbers: they have the same shards and gradients.
    assert rtrain.reports("job")[-1]["rows"] == 8 and rtrain.reports("job")[-1]["sum"] == 3
    again = rtrain("run", rtrain.script(TRAIN.replace("assert(tostring", "-- ")), "-n", "2", "--name", "spawned")
    assert again.returncode == 0, again.stderr
    assert rtrain.reports("job") == rtrain.reports("spawned")


def test_a_failing_rank_fails_all_and_is_retried(rtrain):
    script = rtrain.script(TRAIN)
    results = Job(rtrain, script, args=("--set", "fails_after=1")).wait()
    assert [result.returncode for result in results] == [1, 1], [result.stderr for result in results]
    for result in results:
        assert "rank one is broken" in result.stderr
    run = rtrain.json("show", "job")
    assert run["status"] == "ERRORED" and "rank one is broken" in run["attempts"][0]["error"]["ranks"]["1"]["message"]
    results = Job(rtrain, script, args=("--set", "fails_after=1", "--name", "again"), RETRIES=1).wait()
    for result in results:
        assert result.returncode == 0, result.stderr
        assert result.stdout == "result\treturned by 0\t3\t3\ttrue\n"
    assert [attempt["status"] for attempt in rtrain.json("show", "again")["attempts"]] == ["ERRORED", "FINISHED"]


WAITS = """
local train = require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function()
    for i = 1, math.huge do
      train.report {i = i}
      train.collective.barrier()
      if train.stop_requested() and STOPS then return end
    end
  end,
  scaling_config = {num_workers = 0}, run_config = {name = 'job', failure_config = {preemption_grace_s = 30}}}):fit()
"""


def wait_for_reports(rtrain, size=2):
    """Waits until every rank has reported."""
    wait_until(lambda: len(rtrain.query("SELECT DISTINCT rank FROM reports")) == size, message="the first reports")


def test_a_rank_that_dies_ends_the_job(rtrain):
    job = Job(rtrain, rtrain.script(WAITS.replace("STOPS", "false")), size=3)
    wait_for_reports(rtrain, 3)
    job.ranks[1].send(signal.SIGKILL)
    results = job.wait()
    assert results[0].returncode == results[2].returncode != 0, results[2].stderr
    assert f"rank 1 (pid {job.ranks[1].pid}) has gone" in results[0].stderr
    assert rtrain.json("show", "job")["status"] == "ERRORED"


def test_in_train_elastic_too_and_the_next_job_goes_on(rtrain):
    text = training(
        at_step=LOSE.format(rank=1, step=5), after_step=SAVE.replace("@MODE@", "SYNC"), limits="max_failures = 3"
    )
    calm = Job(rtrain, rtrain.script(training()), args=("--name", "calm")).wait()
    path = rtrain.script(text)
    first, second = Job(rtrain, path).wait()
    assert (first.returncode, second.returncode) == (5, -signal.SIGKILL)
    assert "train.elastic: the loss of a rank ends the run: the launcher has started each rank" in first.stderr
    assert "rank 1" in first.stderr and "has gone" in first.stderr
    again = Job(rtrain, path, args=("--resume", "auto")).wait()
    assert [result.stdout for result in again] == [result.stdout for result in calm], again[0].stderr
    assert "END 24 steps" in again[1].stdout


def test_the_death_of_rank_zero_ends_the_others(rtrain):
    job = Job(rtrain, rtrain.script(WAITS.replace("STOPS", "false")))
    wait_for_reports(rtrain)
    job.ranks[0].send(signal.SIGKILL)
    result = job.ranks[1].wait()
    assert result.returncode > 0 and "the process of rank 0, which keeps the run, has gone" in result.stderr


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_every_rank_ends_all_alike(rtrain, number, code):
    job = Job(rtrain, rtrain.script(WAITS.replace("STOPS", "true")))
    wait_for_reports(rtrain)
    for rank in reversed(job.ranks):
        rank.send(number)
    assert [result.returncode for result in job.wait()] == [code, code]


def test_several_runs_in_one_script(rtrain):
    text = """
        local train = require 'rtrain'
        for i = 1, 3 do
          local result = train.DataParallelTrainer({
            train_loop_per_worker = function() train.report {i = i}; return i end,
            scaling_config = {num_workers = 0}}):fit()
          print(i, result.return_value, result.metrics.i)
        end
        """
    results = Job(rtrain, rtrain.script(text)).wait()
    assert [result.stdout for result in results] == ["1\t1\t1\n2\t2\t2\n3\t3\t3\n"] * 2, results
    assert len(rtrain.json("ls")) == 3


def test_a_missing_rank_is_named(rtrain):
    script = rtrain.script(WAITS.replace("STOPS", "true"))
    missing = {0: "the process of rank 0 has not begun this fit()", 1: "rank 1"}
    for present, absent in ((0, 1), (1, 0)):
        env = {
            "RANK": present,
            "LOCAL_RANK": present,
            "WORLD_SIZE": 2,
            "LOCAL_WORLD_SIZE": 2,
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": 29501,
            "RTRAIN_JOIN_TIMEOUT_S": 0.5,
        }
        process = Running(
            [RTRAIN, "run", str(script)],
            rtrain.folder,
            {**rtrain.env, **{name: str(value) for name, value in env.items()}},
        )
        result = process.wait()
        assert result.returncode > 0 and missing[absent] in result.stderr and "0.5 s" in result.stderr, result.stderr


@pytest.mark.parametrize(
    "change, text",
    [
        ({"RANK": "two"}, "RANK = 'two': expected a whole number"),
        ({"RANK": "2", "LOCAL_RANK": "2"}, "with WORLD_SIZE = 2 the ranks are 0 to 1"),
        ({"WORLD_SIZE": "3"}, "not a multiple of LOCAL_WORLD_SIZE = 2"),
        ({"LOCAL_RANK": "1"}, "on one node they are the same"),
        (
            {"RTRAIN_JOIN_TIMEOUT_S": "soon"},
            "RTRAIN_JOIN_TIMEOUT_S = 'soon' in the environment: expected a number of seconds",
        ),
    ],
)
def test_wrong_variables_are_named(rtrain, change, text):
    script = rtrain.script(WAITS.replace("STOPS", "true"))
    env = {
        **rtrain.env,
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "29502",
        **change,
    }
    result = Running([RTRAIN, "run", str(script)], rtrain.folder, env).wait()
    assert result.returncode == 3 and text in result.stderr, result.stderr


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="Python's torch is missing (RTRAIN_TEST_PYTHON)")
def test_the_real_torchrun(rtrain):
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "--no-python",
        RTRAIN,
        "run",
        str(rtrain.script(TRAIN)),
        "-n",
        "0",
    ]
    logs = rtrain.folder / "logs"
    logs.mkdir()
    env = {**rtrain.env, "TMPDIR": str(logs)}  # torchrun leaves its own temporary files
    result = Running(torchrun, rtrain.folder, env).wait()
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("result\treturned by 0\t3\t3\ttrue\n") == 2
    assert [row["sum"] for row in rtrain.reports("job")] == [3, 3, 3]
    failed = Running([*torchrun, "--set", "fails_after=1", "--name", "failed"], rtrain.folder, env).wait()
    assert failed.returncode == 1 and "rank one is broken" in failed.stderr
    assert rtrain.json("show", "failed")["status"] == "ERRORED"
