"""rtrain sweep: runs an ordinary training script with many configurations."""

import json
import os
import shlex
import signal

import pytest

from conftest import nightly, wait_until

SCRIPT = """
local train = require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function(config)
    for step = 1, 4 do
      train.report {loss = (math.log10(config.lr) + 2) ^ 2 + config.model.width / 100 + 1 / step}
    end
  end,
  train_loop_config = {lr = 1, model = {width = 8}, amp = false, name = 'x', sizes = {1, 2}},
}):fit()
print('script', arg[1])
"""


def configs(rtrain, name):
    return [
        rtrain.json("show", run["name"])["config"]
        for run in sorted(rtrain.json("ls", "--tag", f"sweep:{name}"), key=lambda run: run["name"])
    ]


def test_a_grid_tries_all_combinations_and_shows_the_best(rtrain):
    script = rtrain.script(SCRIPT)
    result = rtrain(
        "sweep",
        script,
        "--grid",
        "lr=1e-1,1e-2,1e-3",
        "--grid",
        "model.width=4,16",
        "--jobs",
        "2",
        "--name",
        "first",
        "--tag",
        "mine",
        "--note",
        "tried",
        "--set",
        "name=y",
        "--",
        "[1,2]",
    )
    assert result.returncode == 0, result.stderr
    assert [(c["lr"], c["model"]["width"], c["name"]) for c in configs(rtrain, "first")] == [
        (0.1, 4, "y"),
        (0.01, 4, "y"),
        (0.001, 4, "y"),
        (0.1, 16, "y"),
        (0.01, 16, "y"),
        (0.001, 16, "y"),
    ]
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["TRIAL", "STATUS", "lr", "model.width", "REPORTS", "loss", "TIME"]
    assert [line.split()[0] for line in lines[1:7]] == [f"first-00{i}" for i in range(6)]
    assert lines[2].split()[1] == "*" and lines[7] == "best trial: first-001 with loss=0.29 (lr=1e-2 model.width=4)"
    assert "rtrain ls --tag sweep:first" in result.stderr
    assert len(rtrain.json("ls", "--tag", "mine")) == 6
    assert rtrain.query("SELECT DISTINCT note FROM runs") == [("tried",)]
    assert rtrain.json("show", "best:loss:min")["name"] == "first-001"
    log = (rtrain.storage / ".sweeps/first/logs/first-000.log").read_text()
    assert "script\t[1,2]" in log


@nightly
def test_random_draws_from_spaces_and_lists(rtrain):
    script = rtrain.script(SCRIPT)
    options = [
        "--space",
        "lr=loguniform(1e-4, 1e-1)",
        "--grid",
        "model.width=4,8,16",
        "--space",
        "amp=choice(true,false)",
        "--grid",
        "sizes=[1,2],[3,4]",
        "--random",
        "4",
        "-q",
    ]
    assert rtrain("sweep", script, *options, "--name", "a").returncode == 0
    assert rtrain("sweep", script, *options, "--name", "b").returncode == 0
    assert rtrain("sweep", script, *options, "--name", "c", "--seed", "1").returncode == 0
    first = configs(rtrain, "a")
    assert len(first) == 4 and all(1e-4 <= c["lr"] <= 1e-1 and c["model"]["width"] in (4, 8, 16) for c in first)
    assert {c["amp"] for c in first} <= {True, False} and all(c["sizes"] in ([1, 2], [3, 4]) for c in first)
    assert configs(rtrain, "b") == first and configs(rtrain, "c") != first
    for name, seed in (("d", 2**53 + 1), ("e", 2**53)):
        assert rtrain("sweep", script, *options, "--name", name, "--seed", str(seed)).returncode == 0
    assert configs(rtrain, "d") != configs(rtrain, "e"), "a double has no 2^53 + 1"


@nightly
def test_a_sampler_and_a_scheduler_can_be_named(rtrain):
    script = rtrain.script(SCRIPT)
    result = rtrain(
        "sweep",
        script,
        "--space",
        "lr=loguniform(1e-4, 1e-1)",
        "--random",
        "14",
        "--search",
        "tpe",
        "--scheduler",
        "asha(max_t=3, reduction_factor=2)",
        "--metric",
        "loss",
        "--mode",
        "min",
        "--jobs",
        "1",
        "--name",
        "s",
    )
    assert result.returncode == 0, result.stderr
    counts = [len(rtrain.reports(f"s-{i:03}")) for i in range(14)]
    assert max(counts) == 3 and min(counts) == 1
    assert "STOPPED" in result.stdout


def test_a_parameter_that_the_script_does_not_have_ends_the_sweep(rtrain):
    script = rtrain.script(SCRIPT)
    result = rtrain("sweep", script, "--grid", "lrr=1,2,3,4", "--jobs", "2", "--name", "s")
    assert result.returncode == 3
    assert "--set lrr: train_loop_config has no 'lrr': did you mean 'lr'?" in result.stderr
    assert rtrain.json("ls") == []
    wrong = rtrain("sweep", script, "--grid", "lr=1,fast", "--jobs", "1", "--name", "s")
    assert wrong.returncode == 3 and "the script's value is a number, 'fast' is none" in wrong.stderr
    right = rtrain("sweep", script, "--grid", "lr=1,2", "--name", "other")
    assert right.returncode == 0, "the names are free again"
    nothing = rtrain("sweep", rtrain.script("print 'hello'", "empty.lua"), "--grid", "lr=1,2")
    assert nothing.returncode == 3 and "ended without a call of fit()" in nothing.stderr


def test_a_trial_that_fails_leaves_the_others_alone(rtrain):
    script = rtrain.script(SCRIPT.replace("for step", "if config.lr == 2 then error('too fast') end\n    for step"))
    result = rtrain("sweep", script, "--grid", "lr=1,2,3", "--jobs", "1", "--name", "s")
    assert result.returncode == 1
    assert rtrain.statuses("s-001") is not None
    assert [run["status"] for run in sorted(rtrain.json("ls"), key=lambda run: run["name"])] == [
        "FINISHED",
        "ERRORED",
        "FINISHED",
    ]
    assert "too fast" in result.stderr


def test_a_metric_that_is_not_reported_ends_the_sweep(rtrain):
    script, grid = rtrain.script(SCRIPT), ("--grid", "lr=1,2,3", "--jobs", "1", "--mode", "min", "--name", "s")
    result = rtrain("sweep", script, *grid, "--metric", "losss")
    assert result.returncode == 3
    assert "the metric 'losss', which trial s-000 has not reported: did you mean 'loss'?" in result.stderr
    assert rtrain.statuses("s-000") == ["FINISHED"], "the trials behind it are not trained for nothing"
    assert rtrain("sweep", script, *grid, "--metric", "loss", "--resume", "auto").returncode == 0
    assert [run["status"] for run in rtrain.json("ls")] == ["FINISHED"] * 3


def test_a_nested_metric_is_named_with_its_path(rtrain):
    script = rtrain.script("""
        local train = require 'rtrain'
        train.TorchTrainer {
          train_loop_per_worker = function(config) train.report {val = {loss = (config.lr - 2) ^ 2}} end,
          train_loop_config = {lr = 1},
        }:fit()
    """)
    result = rtrain("sweep", script, "--grid", "lr=1,2,3", "--metric", "val/loss", "--mode", "min", "--name", "s")
    assert result.returncode == 0 and "best trial: s-001 with val/loss=0 (lr=2)" in result.stdout


@nightly
def test_a_value_in_quotes_is_what_is_between_them(rtrain):
    grid = 'name=it\'s,"a,b",\'it\'\'s\',"a\\"b",""," x ",C:\\d,"("'
    assert rtrain("sweep", rtrain.script(SCRIPT), "--grid", grid, "-q", "--name", "a").returncode == 0
    assert [c["name"] for c in configs(rtrain, "a")] == ["it's", "a,b", "it's", 'a"b', "", " x ", "C:\\d", "("]
    space = """name=choice('a,b', "a,b")"""
    assert (
        rtrain("sweep", rtrain.script(SCRIPT), "--space", space, "--random", "1", "-q", "--name", "b").returncode == 0
    )
    assert [c["name"] for c in configs(rtrain, "b")] == ["a,b"]


@pytest.mark.parametrize(
    "options, expected",
    [
        (["--grid", "name='a,b"], "--grid name='a,b: the quote before a,b has no end"),
        (["--grid", "name='a' b,c"], "after 'a' expected a comma, got b"),
        ([], "nothing to try: give --grid KEY=A,B"),
        (["--grid", "lr"], "--grid lr: expected KEY=A,B"),
        (["--grid", "lr=1,,2"], "an empty value"),
        (["--grid", "lr=1", "--grid", "lr=2"], "the parameter was given twice"),
        (["--space", "lr=uniform(0,1)"], "how many trials? give --random N"),
        (["--space", "lr=unifrom(0,1)", "--random", "2"], "train.tune has no unifrom: did you mean 'uniform'"),
        (["--space", "lr=uniform(0,x)", "--random", "2"], "'x' is not a number"),
        (["--space", "lr=1", "--random", "2"], "lr=loguniform(1e-4, 1e-1)"),
        (["--grid", "lr=1", "--search", "tpe"], "--search tpe needs --metric NAME and --mode"),
        (["--grid", "lr=1", "--search", "tpe", "--metric", "loss", "--mode", "min"], "--search tpe needs --random N"),
        (["--grid", "lr=1", "--scheduler", "asha"], "--scheduler needs --metric NAME and --mode"),
        (["--grid", "lr=1", "--scheduler", "ashaa", "--metric", "loss", "--mode", "min"], "expected asha or median"),
        (["--grid", "lr=1", "--resume", "auto"], "without a name"),
    ],
)
def test_what_is_wrong_with_an_option_is_said(rtrain, options, expected):
    result = rtrain("sweep", rtrain.script(SCRIPT), *options)
    assert result.returncode in (2, 3) and expected in result.stderr, result.stderr


# Reports and saves in each step; in step 3 it waits for the file `go` or for a stop request.
SLOW = """
local torch, train = require 'torch', require 'rtrain'
train.TorchTrainer({
  train_loop_per_worker = function(config)
    local checkpoint = train.get_checkpoint()
    local first = checkpoint and torch.load(checkpoint.path .. '/state.pt').step or 0
    for step = first + 1, 6 do
      train.tempdir(function(dir)
        torch.save({step = step}, dir .. '/state.pt')
        train.report({step = step}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      if step == 3 then
        io.open(config.folder .. '/at-' .. config.lr, 'w'):close()
        while not io.open(config.folder .. '/go') and not train.stop_requested() do os.execute 'sleep 0.05' end
      end
    end
  end,
  train_loop_config = {lr = 1, folder = FOLDER},
}):fit()
"""


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signal_lets_trials_save_and_the_sweep_goes_on(rtrain, number, code):
    script = rtrain.script(SLOW.replace("FOLDER", f"'{rtrain.folder}'"))
    options = [
        "sweep",
        script,
        "--grid",
        "lr=1,2,3",
        "--jobs",
        "2",
        "--name",
        "slow",
        "--metric",
        "step",
        "--mode",
        "max",
    ]
    running = rtrain.start(*options)
    wait_until(lambda: (rtrain.folder / "at-1").exists() and (rtrain.folder / "at-2").exists())
    running.send(number)
    assert running.wait().returncode == code, running.stderr
    assert "the trials are asked to save and end" in running.stderr
    command = shlex.split(running.stderr.split("to go on with it: ")[1].splitlines()[0])
    rtrain.wait_for_processes()
    statuses = {run["name"]: run["status"] for run in rtrain.json("ls")}
    assert statuses == dict.fromkeys(["slow-000", "slow-001"], "ABORTED" if number == signal.SIGINT else "PREEMPTED")
    (rtrain.folder / "go").touch()
    assert rtrain(*options).returncode == 3, "the name is taken"
    result = rtrain(*command[1:])
    assert result.returncode == 0, result.stderr
    for i in range(3):
        assert [report["step"] for report in rtrain.reports(f"slow-00{i}")] == [1, 2, 3, 4, 5, 6]
    assert [
        len(rtrain.query("SELECT 1 FROM attempts JOIN runs USING(run_id) WHERE name = ?", f"slow-00{i}"))
        for i in range(3)
    ] == [2, 2, 1]


def test_a_second_signal_ends_all_at_once(rtrain):
    script = rtrain.script(SLOW.replace("FOLDER", f"'{rtrain.folder}'").replace(" and not train.stop_requested()", ""))
    running = rtrain.start("sweep", script, "--grid", "lr=1,2", "--jobs", "1", "--name", "slow")
    wait_until(lambda: (rtrain.folder / "at-1").exists())
    running.send(signal.SIGINT)
    wait_until(lambda: "asked to save and end" in running.stderr)
    running.send(signal.SIGINT)
    assert running.wait().returncode == 130
    rtrain.wait_for_processes()


# fault: SIGKILL of rtrain sweep
def test_a_killed_sweep_goes_on(rtrain):
    script = rtrain.script(SLOW.replace("FOLDER", f"'{rtrain.folder}'"))
    options = ["sweep", script, "--grid", "lr=1,2,3", "--jobs", "2", "--name", "slow"]
    running = rtrain.start(*options)
    wait_until(lambda: (rtrain.folder / "at-1").exists() and (rtrain.folder / "at-2").exists())
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    (rtrain.folder / "go").touch()
    assert rtrain("sweep", script, "--grid", "lr=1,2", "--name", "slow", "--resume", "auto").returncode == 3
    result = rtrain(*options, "--resume", "auto")
    assert result.returncode == 0, result.stderr
    journal = [json.loads(line) for line in (rtrain.storage / ".sweeps/slow/journal.jsonl").read_text().splitlines()]
    assert [event["number"] for event in journal if event["event"] == "trial"] == [0, 1, 2]
    assert sorted(event["number"] for event in journal if event["event"] == "end") == [0, 1, 2]


def test_the_name_of_a_long_script_is_cut_off(rtrain):
    """Cuts off the names of a run and of a sweep's trials; each trial also has the name in a tag."""
    script = rtrain.script(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer{train_loop_per_worker = function(config) train.report{loss = config.lr} end,
                                  train_loop_config = {lr = 1}}:fit()
    """,
        "x" * 240 + ".lua",
    )
    assert rtrain("run", script).returncode == 0
    result = rtrain("sweep", script, "--grid", "lr=1,2", "--jobs", "1")
    assert result.returncode == 0, result.stderr
    names = [run["name"] for run in rtrain.json("ls")]
    assert len(names) == 3 and all(name.startswith("x" * 80 + "-") for name in names)


def test_a_sweep_without_a_metric_says_that_none_is_best(rtrain):
    script = rtrain.script("""
        local train = require 'rtrain'
        train.DataParallelTrainer{train_loop_per_worker = function(config) train.report{score = config.lr, epoch = 1} end,
                                  train_loop_config = {lr = 1}}:fit()
    """)
    result = rtrain("sweep", script, "--grid", "lr=1,2", "--jobs", "2")
    assert result.returncode == 0 and "best trial" not in result.stdout
    assert (
        "no trial is called the best: name the metric that counts, --metric NAME --mode min|max; they have reported "
        "epoch, score"
    ) in result.stderr
    assert [line.split()[1] for line in result.stdout.splitlines()[1:]] == ["FINISHED", "FINISHED"]
