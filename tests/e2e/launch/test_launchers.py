"""Which launcher started a process: what `rtrain env` reports about it, and how a run uses it."""

import re

import pytest

from conftest import RTRAIN, Running

TRAIN = """
local train = require 'rtrain'
train.DataParallelTrainer({
  train_loop_per_worker = function()
    local context = train.get_context()
    train.report {rank = context:get_world_rank(), size = context:get_world_size()}
  end,
  scaling_config = {num_workers = tonumber(arg[1] or 1)}}):fit()
"""

# Variables of the second task of `srun -N2 --ntasks-per-node=1`.
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "n[0-1]",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    "SLURM_PROCID": "1",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "1",
    "SLURM_CPUS_ON_NODE": "4",
}


@pytest.fixture
def slurm(rtrain):
    rtrain.env.update(SLURM)
    return rtrain


def test_env_names_the_rule_and_the_origin_of_each_value(slurm):
    found = slurm.json("env")["launcher"]
    assert (found["engine"], found["num_nodes"], found["node_rank"], found["hosts"]) == ("slurm", 2, 1, ["n0", "n1"])
    assert found["rule"].startswith("SLURM_JOB_ID and SLURM_STEP_ID are set")
    assert found["origins"]["node_rank"] == "SLURM_NODEID=1" and found["warnings"] == [] and found["is_rank"] is False
    lines = slurm("env").stdout.splitlines()
    assert any(line.startswith("launcher  slurm: SLURM_JOB_ID and SLURM_STEP_ID are set") for line in lines)
    assert "          hosts              n0 n1       (SLURM_STEP_NODELIST=n[0-1])" in lines


def test_env_without_a_launcher(rtrain):
    assert rtrain.json("env")["launcher"]["engine"] == "local"
    assert rtrain("env").stdout.endswith("launcher  local: no launcher has left its variables\n")


def test_env_shows_a_wrong_value_and_all_the_rest(slurm):
    slurm.env["SLURM_PROCID"] = "9"
    text = "SLURM_PROCID = 9: with SLURM_STEP_NUM_TASKS = 2 the ranks are 0 to 1"
    assert slurm.json("env")["launcher"] == {"error": text}
    result = slurm("env")
    assert result.returncode == 0 and f"launcher  error: {text}\n" in result.stdout and "storage" in result.stdout


def test_a_launcher_by_its_name(slurm):
    assert slurm.json("env", "--launcher", "local")["launcher"]["rule"] == "--launcher local"
    assert "did you mean 'slurm'?" in slurm.json("env", "--launcher", "slrum")["launcher"]["error"]
    slurm.env["RTRAIN_LAUNCHER"] = "local"
    assert slurm.json("env")["launcher"]["engine"] == "local"


def test_on_several_nodes_exec_has_no_agents(slurm):
    script = slurm.script(TRAIN)
    result = slurm("exec", script)
    assert result.returncode == 3, result.stderr
    assert "slurm has started this on 2 nodes (SLURM_STEP_NUM_NODES=2): start `rtrain run` on them" in result.stderr
    assert slurm("run", script, "--launcher", "local").returncode == 0


def test_the_tasks_of_a_step_on_one_node_are_ranks(slurm):
    one_host = {
        "SLURM_STEP_NODELIST": "n0",
        "SLURM_STEP_NUM_NODES": "1",
        "SLURM_STEP_TASKS_PER_NODE": "2",
        "SLURM_NODEID": "0",
    }
    script = slurm.script(TRAIN)
    ranks = [
        Running(
            [RTRAIN, "run", str(script), "--name", "job", "--", "0"],
            slurm.folder,
            {**slurm.env, **one_host, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)},
        )
        for rank in range(2)
    ]
    for rank in ranks:
        result = rank.wait()
        assert result.returncode == 0, result.stderr
    assert slurm.query("SELECT rank FROM reports ORDER BY rank") == [(0,), (1,)]


def test_tasks_that_are_no_ranks_say_that_each_trains_alone(slurm):
    one_host = {
        "SLURM_STEP_NODELIST": "n0",
        "SLURM_STEP_NUM_NODES": "1",
        "SLURM_STEP_TASKS_PER_NODE": "2",
        "SLURM_NODEID": "0",
    }
    script = slurm.script(TRAIN)
    for rank in range(2):
        slurm.env.update({**one_host, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)})
        result = slurm("run", script, "--name", f"alone-{rank}", "--", "1")
        assert result.returncode == 0, result.stderr
        said = (
            "slurm has started 2 processes (SLURM_STEP_NUM_TASKS=2), each of which trains alone with num_workers = 1: "
            "num_workers = 2, or 0 (-n 0), makes them the ranks of one run"
        )
        assert (said in result.stderr) == (rank == 0), result.stderr
    assert slurm.query("SELECT rank FROM reports") == [(0,), (0,)]


def test_a_script_that_srun_has_not_started_says_so(slurm):
    del slurm.env["SLURM_STEP_ID"]
    slurm.env["SLURM_JOB_NUM_NODES"] = "2"
    result = slurm.run(TRAIN)
    assert result.returncode == 0, result.stderr
    assert (
        "SLURM_JOB_ID=7 with 2 nodes, but srun has not started this process: it trains on this node alone"
        in result.stderr
    )


# Counts epochs over several starts of a run: each start continues from the previous one.
COUNTS = """
local epochs, files, train = require 'epochs', require 'files', require 'rtrain'
for i = 1, tonumber(arg[1] or 1) do
  train.DataParallelTrainer({
    train_loop_per_worker = function()
      local epoch = epochs.of(train.get_checkpoint()) + 1
      train.tempdir(function(dir)
        files.write(dir .. '/epoch', tostring(epoch))
        train.report({epoch = epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
    end,
    run_config = RUN_CONFIG}):fit()
end
"""


@pytest.fixture
def batch(rtrain):
    """Variables of a batch script of Slurm on one node."""
    rtrain.env.update(
        {"SLURM_JOB_ID": "123", "SLURM_JOB_NUM_NODES": "1", "SLURM_PROCID": "0", "SLURM_JOB_NAME": "b.sh"}
    )
    return rtrain


def runs(rtrain):
    return [(run["name"], len(rtrain.json("show", run["name"])["attempts"])) for run in reversed(rtrain.json("ls"))]


def test_a_run_of_a_job_is_named_after_it_and_goes_on_after_a_requeue(batch):
    script = batch.script(COUNTS.replace("RUN_CONFIG", "nil"))
    assert batch("run", script).returncode == 0
    again = batch("run", script)
    assert again.returncode == 3 and "train-123" in again.stderr and "resume" in again.stderr
    batch.env["SLURM_RESTART_COUNT"] = "1"
    assert batch("run", script).returncode == 0
    assert runs(batch) == [("train-123", 2)]
    assert [row["epoch"] for row in batch.reports("train-123")] == [1, 2]
    refused = batch("run", script, "--resume", "never")
    assert refused.returncode == 3 and runs(batch) == [("train-123", 2)]


def test_a_name_of_its_own_goes_on_after_a_requeue_too(batch):
    script = batch.script(COUNTS.replace("RUN_CONFIG", "{name = 'mine'}"))
    assert batch("run", script).returncode == 0
    assert batch("run", script).returncode == 3
    batch.env["SLURM_RESTART_COUNT"] = "1"
    assert batch("run", script).returncode == 0
    assert runs(batch) == [("mine", 2)]
    says_never = batch.script(COUNTS.replace("RUN_CONFIG", "{name = 'mine', resume = 'never'}"))
    assert batch("run", says_never).returncode == 3


def test_steps_and_runs_of_one_job_have_names_of_their_own(batch):
    script = batch.script(COUNTS.replace("RUN_CONFIG", "nil"))
    assert batch("run", script, "--", "2").returncode == 0
    batch.env.update(
        {
            **SLURM,
            "SLURM_JOB_ID": "123",
            "SLURM_STEP_ID": "1",
            "SLURM_STEP_NUM_NODES": "1",
            "SLURM_NODEID": "0",
            "SLURM_STEP_NODELIST": "n0",
            "SLURM_STEP_NUM_TASKS": "1",
            "SLURM_STEP_TASKS_PER_NODE": "1",
            "SLURM_PROCID": "0",
        }
    )
    assert batch("run", script).returncode == 0
    assert runs(batch) == [("train-123", 1), ("train-123-2", 1), ("train-123.1", 1)]


def test_in_a_shell_of_a_job_runs_are_named_by_their_date(batch):
    del batch.env["SLURM_PROCID"]
    batch.env.update({"SLURM_JOB_NAME": "interactive", "SLURM_RESTART_COUNT": "1"})
    script = batch.script(COUNTS.replace("RUN_CONFIG", "nil"))
    assert batch("run", script).returncode == 0 and batch("run", script).returncode == 0
    names = [name for name, attempts in runs(batch)]
    assert len(set(names)) == 2 and all(re.fullmatch(r"train-\d{8}-[0-9a-f]{4}", name) for name in names), names
