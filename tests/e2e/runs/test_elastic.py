"""Cores that runs share, and groups that grow and shrink with the available cores."""

import os
import re
import shutil
import signal

import pytest

from conftest import RTRAIN, set_cpus, wait_until

# Holds its cores until the file `release` exists.
HOLDER = """
local train = require 'rtrain'
train.DataParallelTrainer{
  train_loop_per_worker = function()
    train.report{ok = true}
    require('files').wait_for 'release'
  end,
  scaling_config = train.ScalingConfig{num_workers = @WORKERS@},
  run_config = train.RunConfig{name = '@NAME@'},
}:fit()
"""

# Each rank writes down the world size; rank 0 saves the step. Continues until the file `enough` exists.
ELASTIC = """
local epochs, files, train = require 'epochs', require 'files', require 'rtrain'
train.DataParallelTrainer{
  train_loop_per_worker = function()
    local context = train.get_context()
    local rank, size, step = context:get_world_rank(), context:get_world_size(), epochs.of(train.get_checkpoint())
    while true do
      step = step + 1
      local metrics = {step = step, size = size}
      if rank == 0 then epochs.save(step, metrics) else train.report(metrics) end
      if train.collective.broadcast_from_rank_zero(files.exists 'enough') then return end
      os.execute 'sleep 0.05'
    end
  end,
  scaling_config = train.ScalingConfig{
    num_workers = {@RANGE@}, elastic_resize_monitor_interval_s = 0.2, resources_per_worker = {CPU = 1},
  },
  run_config = train.RunConfig{
    name = 'elastic', checkpoint_config = train.CheckpointConfig{num_to_keep = 2},
    failure_config = train.FailureConfig{max_failures = 1},
  },
}:fit()
"""


def holder(name, workers):
    return HOLDER.replace("@NAME@", name).replace("@WORKERS@", str(workers))


def last_size(rtrain):
    rows = rtrain.query("SELECT json_extract(metrics, '$.size') FROM reports WHERE rank = 0 ORDER BY attempt, idx")
    return rows[-1][0] if rows else None


def group_sizes(rtrain):
    """Returns the number of workers of each attempt; an empty list while they start."""
    return [len(attempt["workers"]) for attempt in rtrain.json("show", "elastic")["attempts"]]


def test_runs_wait_for_each_other_in_order_and_say_for_whom(rtrain):
    set_cpus(rtrain, 2)
    rtrain.env["RTRAIN_RESOURCE_NOTICE_S"] = "1"
    first = rtrain.started("run", rtrain.script(holder("first", 2), "first.lua"))
    second = rtrain.start("run", rtrain.script(holder("second", 2), "second.lua"))
    wait_until(lambda: "waiting for 2 cores" in second.stderr, message="the notice of the second run")
    third = rtrain.start("run", rtrain.script(holder("third", 1), "third.lua"))
    wait_until(lambda: "1 run was here earlier" in third.stderr, message="the notice of the third run")
    wait_until(lambda: second.stderr.count("waiting for") >= 2, message="the notice again")
    assert f"in use by 'first' (pid {first.pid}, 2 cores)" in second.stderr
    resources = rtrain.json("resources")
    assert resources["cpus"]["free"] == 0
    assert resources["leases"] == [{"run": "first", "pid": first.pid, "cores": [0, 1], "gpus": []}]
    assert [row["run"] for row in resources["waiting"]] == ["second", "third"]
    assert rtrain.json("show", "second")["status"] == "INITIALIZING"
    (rtrain.folder / "release").touch()
    for running in (first, second, third):
        assert running.wait().returncode == 0, running.stderr
    assert rtrain.json("resources")["leases"] == []
    starts = [rtrain.json("show", name)["attempts"][0]["started_at"] for name in ("first", "second", "third")]
    assert starts == sorted(starts)


def test_who_does_not_want_to_wait_is_told_what_to_do(rtrain):
    set_cpus(rtrain, 1)
    rtrain.env["RTRAIN_RESOURCE_NOTICE_S"] = "1"
    first = rtrain.started("run", rtrain.script(holder("first", 1), "first.lua"))
    second = rtrain.start("run", rtrain.script(holder("second", 1), "second.lua"))
    wait_until(lambda: re.search(r"\(for \d+ s now\)", second.stderr), message="a second's wait")
    assert "--oversubscribe (share what is in use), or `rtrain resources --set cpus=2`" in second.stderr
    waiting = rtrain.json("show", "second")
    assert waiting["waiting_s"] >= 1 and waiting["running_s"] == 0

    third = rtrain.started("run", rtrain.script(holder("third", 1), "third.lua"), "--oversubscribe", reports=2)
    assert f"takes no cores of its own (--oversubscribe); in use by 'first' (pid {first.pid}, 1 core)" in third.stderr
    resources = rtrain.json("resources")
    assert [row["run"] for row in resources["leases"]] == ["first"]
    assert [row["run"] for row in resources["waiting"]] == ["second"]

    set_cpus(rtrain, 2)
    rtrain.wait_for_reports(second, 3)
    (rtrain.folder / "release").touch()
    for running in (first, second, third):
        assert running.wait().returncode == 0, running.stderr
    apart = r" \([\dms. ]+ waiting for its resources, [\dms. ]+ running\)"
    assert re.search(r"run second FINISHED after [\d. ms in]+" + apart, second.stderr.replace(" min", "")), (
        second.stderr
    )
    assert "waiting for its resources" not in first.stderr + third.stderr
    assert re.search(apart, rtrain("show", "second").stdout)
    show = rtrain.json("show", "second")
    assert show["waiting_s"] >= 1 and 0 < show["running_s"] < show["duration_s"] - 0.9
    rows = rtrain("ls", "--sort", "name").stdout.splitlines()
    assert (
        "WAITED" in rows[0]
        and "RAN" in rows[0]
        and [row.split()[0] for row in rows[1:]] == ["first", "second", "third"]
    )


def test_more_workers_than_cores_are_told_what_that_means(rtrain):
    set_cpus(rtrain, 2)
    (rtrain.folder / "release").touch()
    script = rtrain.script(holder("crowd", 2))
    result = rtrain("run", script, "-n", "3")
    assert result.returncode == 0, result.stderr
    assert (
        "3 workers share 2 cores: they take turns, so the run is no faster than with 2 workers (-n 2)" in result.stderr
    )
    assert "share" not in rtrain("run", script, "--name", "room").stderr


def test_a_run_that_waits_ends_with_ctrl_c(rtrain):
    set_cpus(rtrain, 0)
    running = rtrain.start("run", rtrain.script(ELASTIC.replace("@RANGE@", "1, 2")))
    wait_until(lambda: "waiting for at least 1 core: 0 of 0 are free" in running.stderr, message="the notice")
    running.send(signal.SIGINT)
    assert running.wait().returncode == 130
    assert rtrain.json("show", "elastic")["status"] == "ABORTED"
    assert rtrain.json("resources")["waiting"] == []


def test_the_cores_of_a_killed_controller_are_free_when_its_workers_are_gone(rtrain):
    set_cpus(rtrain, 1)
    running = rtrain.started("run", rtrain.script(holder("killed", 1)))
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    rtrain.wait_for_processes()
    (rtrain.folder / "release").touch()
    result = rtrain.run_ok(holder("next", 1))
    assert "waiting" not in result.stderr


# behaviour: a request that can never be met
def test_an_impossible_request_is_exit_4_with_the_numbers(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function() end,
          scaling_config = train.ScalingConfig{num_workers = 2, resources_per_worker = {CPU = 3000}},
        }:fit()
        """)
    assert result.returncode == 4
    assert "2 workers of 3000 cores need 6000 cores, this node has" in result.stderr
    assert not rtrain.storage.exists(), "refused before there is a run"


def test_workers_are_bound_to_the_cores_they_asked_for(rtrain):
    result = rtrain.run_ok("""
        local train = require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function()
            for line in io.lines '/proc/self/status' do
              local list = line:match '^Cpus_allowed_list:%s*(.*)'
              if list then print('bound to ' .. list) end
            end
          end,
          scaling_config = train.ScalingConfig{num_workers = 1, resources_per_worker = {CPU = 1}},
        }:fit()
        """)
    assert f"bound to {min(os.sched_getaffinity(0))}\n" in result.stdout


def test_a_run_inside_a_run_works_on_its_cores(rtrain):
    set_cpus(rtrain, 1)
    rtrain.script(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer{train_loop_per_worker = function() train.report{inner = true} end}:fit()
        """,
        "inner.lua",
    )
    result = rtrain.run_ok(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function()
            assert(os.execute('@RTRAIN@ run inner.lua') == 0)
          end,
        }:fit()
        """.replace("@RTRAIN@", RTRAIN)
    )
    assert "waiting for" not in result.stderr


def test_without_a_runtime_folder_a_run_goes_on_and_says_so(rtrain):
    rtrain.runtime.chmod(0o755)
    (rtrain.folder / "release").touch()
    result = rtrain.run_ok(holder("open", 1))
    assert "cores are not shared with other runs" in result.stderr
    rtrain.runtime.chmod(0o700)


def test_a_run_says_that_its_runtime_folder_is_gone(rtrain):
    running = rtrain.started("run", rtrain.script(holder("homeless", 1)))
    shutil.rmtree(rtrain.runtime)
    wait_until(lambda: f"the runtime folder {rtrain.runtime} is gone" in running.stderr, message="the notice")
    (rtrain.folder / "release").touch()
    assert running.wait().returncode == 0, running.stderr
    rtrain.runtime.mkdir(mode=0o700)
    assert f"the runtime folder {rtrain.runtime} is gone" in rtrain("show", "homeless").stdout


# behaviour: elastic: waits, starts, grows, shrinks
def test_an_elastic_run_waits_starts_at_min_grows_and_shrinks(rtrain):
    set_cpus(rtrain, 1)
    running = rtrain.start("run", rtrain.script(ELASTIC.replace("@RANGE@", "2, 3")))
    try:
        wait_until(
            lambda: "waiting for at least 2 cores: 1 of 1 is free" in running.stderr, message="the notice below min"
        )
        for cpus, size in ((2, 2), (9, 3), (2, 2), (1, 2)):
            set_cpus(rtrain, cpus)
            wait_until(lambda: last_size(rtrain) == size, message=f"a group of {size} on {cpus} cores")
        reached = rtrain.reports("elastic")[-1]["step"]
        wait_until(
            lambda: rtrain.reports("elastic")[-1]["step"] > reached + 10, message="a group that goes on below min"
        )
        (rtrain.folder / "enough").touch()
        result = running.wait()
    finally:
        running.kill()
    assert result.returncode == 0, result.stderr
    assert "the group goes on with 3 workers instead of 2 after its next checkpoint" in result.stderr
    show = rtrain.json("show", "elastic")
    assert show["status"] == "FINISHED"
    assert group_sizes(rtrain) == [2, 3, 2]
    assert {attempt["status"] for attempt in show["attempts"]} == {"FINISHED"}, "a resize is not a failure"
    rows = rtrain.json("metrics", "elastic", "--superseded")
    # The size always stays within the range; no step is lost or repeated.
    assert {row["metrics"]["size"] for row in rows} == {2, 3}
    steps = [row["metrics"]["step"] for row in rtrain.json("metrics", "elastic")]
    assert steps == list(range(1, len(steps) + 1))
    (latest,) = [row for row in rtrain.json("checkpoint", "ls", "elastic") if row["latest"]]
    assert int((rtrain.folder / latest["path"] / "epoch").read_text()) == steps[-1]


def test_an_elastic_run_that_loses_a_worker_restarts_with_what_is_there(rtrain):
    set_cpus(rtrain, 2)
    text = ELASTIC.replace("@RANGE@", "1, 2").replace("interval_s = 0.2", "interval_s = 600")  # looks only at losses
    running = rtrain.started("run", rtrain.script(text), reports=2)
    try:
        set_cpus(rtrain, 1)
        os.kill(rtrain.pids("elastic")[1], signal.SIGKILL)
        wait_until(lambda: last_size(rtrain) == 1, message="a group of 1")
        (rtrain.folder / "enough").touch()
        assert running.wait().returncode == 0, running.stderr
    finally:
        running.kill()


# Two epochs of 40 rows; the checkpoint of each step has the position of the loader.
SHARDED = """
local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data
train.TorchTrainer{
  train_loop_per_worker = function()
    local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(torch.arange(40)), {
      batch_size = 1, shuffle = true}))
    local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
    local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-5, momentum = 0.9})
    local state = train.state{model = model, optimizer = optimizer, loader = loader, epoch = 0}
    state:load(train.get_checkpoint())
    while state.epoch < 2 do
      for x in loader do
        optimizer:zero_grad()
        model(x:to(torch.float32):reshape{-1, 1}):mean():backward()
        optimizer:step()
        train.tempdir(function(dir)
          state:save(dir)
          train.report({rows = x:tolist(), epoch = state.epoch}, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
        os.execute('sleep ' .. (train.get_context():get_world_size() == 3 and 0.02 or 0.3))
      end
      state.epoch = state.epoch + 1
    end
  end,
  scaling_config = train.ScalingConfig{
    num_workers = {1, 3}, elastic_resize_monitor_interval_s = 0.2, resources_per_worker = {CPU = 1},
  },
  run_config = train.RunConfig{name = 'elastic', checkpoint_config = train.CheckpointConfig{num_to_keep = 1}},
}:fit()
"""


# fault: elastic schedule
def test_a_schedule_of_cores_loses_no_row_and_repeats_none(rtrain):
    set_cpus(rtrain, 2)
    running = rtrain.started("run", rtrain.script(SHARDED), reports=2)
    try:
        for cpus in (1, 3):
            set_cpus(rtrain, cpus)
            wait_until(
                lambda cpus=cpus: not running.running or group_sizes(rtrain)[-1] == cpus, message=f"a group of {cpus}"
            )
        result = running.wait()
    finally:
        running.kill()
    assert result.returncode == 0, result.stderr
    assert group_sizes(rtrain) == [2, 1, 3]
    rows = rtrain.json("metrics", "elastic", "--ranks", "--superseded")
    assert not any(row["superseded"] for row in rows), "no step is done twice"
    for epoch in (0, 1):
        seen = [x for row in rows for rank in row["ranks"] if rank["epoch"] == epoch for x in rank["rows"]]
        # The last step of an epoch repeats rows so that every rank has one.
        assert set(seen) == set(range(40)) and len(seen) - 40 < 3, sorted(seen)


@pytest.mark.parametrize(
    "num_workers, text",
    [
        ("{4, 2}", "at least 4"),
        ("{1}", "a range such as {1, 4}"),
        ("'all'", "'auto'"),
        ("{0, 2}", "at least 1"),
        ("{min = 1, mx = 2}", "unknown entry 'mx'"),
    ],
)
def test_a_wrong_range_is_refused(rtrain, num_workers, text):
    result = rtrain.run(f"""
        local train = require 'rtrain'
        train.ScalingConfig{{num_workers = {num_workers}}}
        """)
    assert result.returncode == 3
    assert text in result.stderr and "train.lua:2" in result.stderr


# behaviour: long errors are cut
def test_a_long_error_is_shortened_and_whole_in_the_log(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function()
            error(('a'):rep(600) .. ('b'):rep(5000) .. ('c'):rep(600))
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'long'},
        }:fit()
        """)
    assert result.returncode == 1
    assert "same error on ranks 0-1" in result.stderr
    assert "c" * 500 in result.stderr and "b" * 100 not in result.stderr
    logs = [rtrain.run_folder("long") / "logs" / "attempt-1" / f"rank-{rank}.log" for rank in range(2)]
    (named,) = [log for log in logs if str(log) in result.stderr]  # the log of the rank that failed first
    assert "b" * 5000 in named.read_text()
