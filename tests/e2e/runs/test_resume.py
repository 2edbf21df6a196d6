"""Resuming a run: never, auto and must; who owns the run, which files it keeps, and who may not write to it."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess

import pytest

from conftest import RTRAIN, SOURCE, Running, leftovers, processes_of, wait_until

# Saves a count of epochs in its checkpoints. In epoch `config.pause_at` it waits for ever before its report.
COUNTING = """
local epochs, files, train = require 'epochs', require 'files', require 'rtrain'

local function train_func(config)
  local first = epochs.of(train.get_checkpoint()) + 1
  local rank = train.get_context():get_world_rank()
  for epoch = first, config.epochs do
    if epoch == config.pause_at then
      train.report{epoch = epoch, without = 'checkpoint'}
      while true do os.execute('sleep 0.02') end
    end
    train.tempdir(function(dir)
      if rank == 0 then files.write(dir .. '/epoch', tostring(epoch)) end
      train.report({epoch = epoch, first = first}, {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
    if epoch == config.fail_at then error('epoch ' .. epoch .. ' fails') end
  end
  return 'from ' .. first
end

local result = train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {epochs = 4, pause_at = 0, fail_at = 0},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'run', checkpoint_config = {num_to_keep = 2}},
}:fit()
local rows = {}
for i, row in ipairs(result.metrics_dataframe) do rows[i] = row.epoch end
print('rows', table.concat(rows, ' '))
print('epoch', result.metrics and result.metrics.epoch)
print('checkpoint', result.checkpoint.path:match('[^/]*$'))
"""


def one(rtrain, query):
    with rtrain.database() as db:
        return db.execute(query).fetchall()


def paused(rtrain, *args, epoch=3):
    """Starts a run that has committed the checkpoint before this epoch and now waits in the epoch."""
    return rtrain.started("run", rtrain.script(COUNTING), "--set", f"pause_at={epoch}", *args, reports=epoch)


def kill(running):
    """Kills the controller as the death of its machine would: no other process gets a message."""
    running.send(signal.SIGKILL)
    running.process.wait()


def gone_on(rtrain, *args):
    result = rtrain("run", rtrain.script(COUNTING), "--resume", "auto", *args)
    assert result.returncode == 0, result.stderr
    return result


def test_a_killed_controller_leaves_a_lost_run_that_goes_on_unbroken(rtrain):
    running = paused(rtrain)
    run_id = rtrain.json("show", "run")["run_id"]
    kill(running)
    show = rtrain.json("show", "run")
    assert show["status"] == "LOST" and [a["status"] for a in show["attempts"]] == ["LOST"]
    assert "LOST" in rtrain("ls").stdout
    rtrain.wait_for_processes()

    result = gone_on(rtrain)
    assert f"pid {running.pid} on" in result.stderr, "says whose run it was"
    assert "rows\t1 2 3 4" in result.stdout, "the history of the script is the run's"
    show = rtrain.json("show", "run")
    assert (show["status"], show["run_id"]) == ("FINISHED", run_id)
    assert [(a["attempt"], a["status"]) for a in show["attempts"]] == [(1, "LOST"), (2, "FINISHED")]
    assert all(a["ended_at"] for a in show["attempts"])
    rows = rtrain.json("metrics", "run", "--superseded")
    assert [(row["index"], row["attempt"], row["superseded"]) for row in rows] == [
        (0, 1, False),
        (1, 1, False),
        (2, 1, True),
        (2, 2, False),
        (3, 2, False),
    ]
    assert one(rtrain, "SELECT owner_epoch FROM runs") == [(2,)]
    assert leftovers(rtrain.run_folder("run") / "staging") == []


# behaviour: a second fit with the same name
def test_a_second_fit_goes_on_and_ends_at_once_when_nothing_is_left(rtrain):
    rtrain.run_ok(COUNTING)
    again = gone_on(rtrain)
    assert "rows\t1 2 3 4" in again.stdout and "epoch\t4" in again.stdout
    assert "checkpoint\tcheckpoint_000003" in again.stdout
    longer = gone_on(rtrain, "--set", "epochs=6")
    assert "rows\t1 2 3 4 5 6" in longer.stdout, "a finished run runs again from its last checkpoint"
    show = rtrain.json("show", "run")
    assert show["config"]["epochs"] == 6 and len(show["attempts"]) == 3
    assert [c["index"] for c in show["checkpoints"]] == [4, 5]


def test_never_refuses_auto_begins_must_wants_a_run(rtrain):
    must = rtrain("run", rtrain.script(COUNTING), "--resume", "must")
    assert must.returncode == 3 and "no run 'run'" in must.stderr
    assert not rtrain.run_folder("run").exists()
    gone_on(rtrain)
    never = rtrain("run", rtrain.script(COUNTING))
    assert never.returncode == 3
    assert "--resume auto" in never.stderr and "--name" in never.stderr
    assert rtrain("run", rtrain.script(COUNTING), "--resume", "must").returncode == 0
    near = rtrain("run", rtrain.script(COUNTING), "--resume", "must", "--name", "rum")
    assert near.returncode == 3 and "did you mean 'run'" in near.stderr
    assert rtrain("run", rtrain.script(COUNTING), "--resume", "aut").returncode == 2
    nameless = rtrain.script(COUNTING.replace("name = 'run', ", ""))
    assert rtrain("run", nameless, "--resume", "auto").returncode == 3


# fault: two controllers, one run
def test_a_second_controller_is_refused_and_told_whose_the_run_is(rtrain):
    running = paused(rtrain)
    for mode in ("auto", "must"):
        second = rtrain("run", rtrain.script(COUNTING), "--resume", mode)
        assert second.returncode == 4
        assert f"pid {running.pid} on" in second.stderr and "rtrain stop run" in second.stderr
    assert rtrain("run", rtrain.script(COUNTING)).returncode == 3
    assert one(rtrain, "SELECT owner_epoch, status FROM runs") == [(1, "RUNNING")]
    running.kill()


def stopped_before_the_lock(rtrain, *args):
    """Starts a controller that has created its run's folder and stops (SIGSTOP) before it takes the lock."""
    rtrain.env["RTRAIN_FAULT"] = "lock.take:1:stop:controller"
    running = rtrain.start("run", rtrain.script(COUNTING), *args)
    del rtrain.env["RTRAIN_FAULT"]
    wait_until(
        lambda: f"{pathlib.Path('/proc', str(running.pid), 'stat').read_text()}".rsplit(")")[-1].split()[0] == "T",
        message="the stop",
    )
    return running


# Exit code of whichever is second: a new run reports that the name is taken, a resumed one that the run is live.
CODE_OF_A_TAKEN_NAME = {"never": 3, "auto": 4, "must": 4}


@pytest.mark.parametrize("resume", ["never", "auto", "must"])
def test_a_name_that_is_in_use_has_one_code(rtrain, resume):
    winner = rtrain.started("run", rtrain.script(COUNTING), "--set", "pause_at=3", "--name", "my run", reports=3)
    refused = rtrain("run", "train.lua", "--name", "my run", "--resume", resume)
    assert refused.returncode == CODE_OF_A_TAKEN_NAME[resume], refused.stderr
    if resume != "never":
        assert "rtrain stop 'my run'" in refused.stderr
    # Simulates that the run's row does not exist yet.
    with contextlib.closing(sqlite3.connect(rtrain.storage / "rtrain.db", isolation_level=None, timeout=30)) as db:
        db.execute("UPDATE runs SET name = 'other'")
    again = rtrain("run", "train.lua", "--name", "my run", "--resume", "auto" if resume == "must" else resume)
    assert again.returncode == CODE_OF_A_TAKEN_NAME[resume] and f"pid {winner.pid} on" in again.stderr, again.stderr
    kill(winner)
    rtrain.wait_for_processes()


@pytest.mark.parametrize("resume", ["never", "auto"])
def test_a_start_that_lost_the_lock_leaves_the_winners_run_alone(rtrain, resume):
    loser = stopped_before_the_lock(rtrain, "--resume", resume)
    winner = rtrain.started("run", rtrain.script(COUNTING), "--set", "pause_at=3", "--resume", "auto", reports=3)
    loser.send(signal.SIGCONT)
    refused = loser.wait()
    assert refused.returncode == CODE_OF_A_TAKEN_NAME[resume]
    assert f"being run by pid {winner.pid} on" in refused.stderr, refused.stderr
    files = leftovers(rtrain.run_folder("run"))
    assert {"lock", "checkpoints/checkpoint_000000/epoch", "checkpoints/checkpoint_000001/epoch"} <= set(files)
    kill(winner)
    rtrain.wait_for_processes()
    assert "rows\t1 2 3 4" in gone_on(rtrain).stdout


def test_a_start_that_comes_after_the_winners_end_leaves_its_run_alone(rtrain):
    loser = stopped_before_the_lock(rtrain)
    gone_on(rtrain)
    files = set(leftovers(rtrain.run_folder("run")))
    loser.send(signal.SIGCONT)
    refused = loser.wait()
    assert refused.returncode == 3 and "the run name 'run' is taken" in refused.stderr, refused.stderr
    assert files <= set(leftovers(rtrain.run_folder("run")))


def test_a_start_that_fails_takes_away_only_what_it_made(rtrain):
    rtrain.env["RTRAIN_FAULT"] = "run.create:1:errno=EIO"
    assert rtrain("run", rtrain.script(COUNTING)).returncode == 4
    assert not rtrain.run_folder("run").exists()
    rtrain.run_folder("run").mkdir()
    assert rtrain("run", rtrain.script(COUNTING)).returncode == 4
    assert rtrain.run_folder("run").exists(), "it was there before"
    del rtrain.env["RTRAIN_FAULT"]
    rtrain.run_ok(COUNTING)


def test_a_controller_that_lost_its_run_stops_and_names_the_new_owner(rtrain):
    running = rtrain.started("run", rtrain.script(COUNTING), "--set", "epochs=1000000", reports=2)
    # Simulates a controller on another node that the lock did not keep out.
    with sqlite3.connect(rtrain.storage / "rtrain.db", timeout=30) as db:
        db.execute("""UPDATE runs SET owner_epoch = 2, status = 'RUNNING', owner = '{"pid": 71, "host": "gpu-3"}'""")
    db.close()
    result = running.wait()
    assert result.returncode == 4, result.stderr
    assert "taken over by pid 71 on gpu-3" in result.stderr
    count = one(rtrain, "SELECT count(*) FROM reports")
    assert one(rtrain, "SELECT status, ended_at FROM runs") == [("RUNNING", None)], "nothing is written any more"
    rtrain.wait_for_processes()
    assert one(rtrain, "SELECT count(*) FROM reports") == count


# fault: controller and workers killed
def test_everything_killed_at_once_goes_on(rtrain):
    running = paused(rtrain)
    for pid in processes_of(rtrain.storage):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    running.process.wait()
    staging = rtrain.run_folder("run") / "staging" / "1-dead-7" / "rank-0"
    staging.mkdir(parents=True)
    (staging / "half").write_text("x")
    assert "rows\t1 2 3 4" in gone_on(rtrain).stdout
    assert not staging.exists(), "half-written files are swept"


# behaviour: what every worker starts with
def test_workers_start_with_the_latest_checkpoint_and_the_next_report(rtrain):
    kill(paused(rtrain))
    gone_on(rtrain)
    ranks = rtrain.json("metrics", "run", "--ranks")
    assert [row["metrics"].get("first") for row in ranks] == [1, 1, 3, 3]
    assert all(rank["first"] == 3 for row in ranks[2:] for rank in row["ranks"])


def test_failed_attempts_of_earlier_controllers_count(rtrain):
    running = rtrain.started(
        "run", rtrain.script(COUNTING), "--max-failures", "2", "--set", "fail_at=1", "--set", "pause_at=2", reports=2
    )
    wait_until(lambda: one(rtrain, "SELECT 1 FROM reports WHERE attempt = 2"), message="the second attempt")
    kill(running)
    assert json.loads(one(rtrain, "SELECT failures FROM runs")[0][0])["worker"] == 1
    result = rtrain("run", rtrain.script(COUNTING), "--resume", "must", "--max-failures", "1", "--set", "fail_at=2")
    assert result.returncode == 1, "one of one is spent"
    assert [a["status"] for a in rtrain.json("show", "run")["attempts"]] == ["ERRORED", "LOST", "ERRORED"]
    gone_on(rtrain)
    again = rtrain(
        "run",
        rtrain.script(COUNTING),
        "--resume",
        "must",
        "--max-failures",
        "1",
        "--set",
        "fail_at=5",
        "--set",
        "epochs=6",
    )
    assert again.returncode == 0, "a run that had finished starts its budget from zero"


def test_a_checkpoint_whose_row_was_never_written_is_adopted(rtrain):
    kill(paused(rtrain))
    with sqlite3.connect(rtrain.storage / "rtrain.db") as db:
        db.execute("DELETE FROM checkpoints WHERE idx = 1")
    db.close()
    result = gone_on(rtrain)
    assert "adopted the checkpoint checkpoint_000001" in result.stderr
    assert rtrain.reports("run")[2]["first"] == 3


def test_a_checkpoint_that_a_later_attempt_left_behind_is_not_adopted(rtrain):
    kill(paused(rtrain))
    folder = rtrain.run_folder("run") / "checkpoints"
    shutil.copytree(folder / "checkpoint_000001", rtrain.folder / "kept")
    with sqlite3.connect(rtrain.storage / "rtrain.db") as db:
        db.execute("DELETE FROM checkpoints WHERE idx = 1")
    db.close()
    shutil.rmtree(folder / "checkpoint_000001")
    gone_on(rtrain, "--set", "epochs=1")
    os.rename(rtrain.folder / "kept", folder / "checkpoint_000001")  # simulates a controller that came too late
    assert "rows\t1 2" in gone_on(rtrain, "--set", "epochs=2").stdout
    assert rtrain.reports("run")[1]["first"] == 2


# behaviour: storage that cannot be written
def test_storage_that_cannot_be_written_fails_before_any_worker(rtrain):
    (rtrain.folder / "file").write_text("")
    result = rtrain.run(COUNTING, "--storage", rtrain.folder / "file" / "below", "--resume", "auto")
    assert result.returncode == 4 and "rank" not in result.stderr


# Runs in its own pid namespace: the controller in each namespace is pid 1.
CONTAINED = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]


def test_two_containers_share_a_volume(rtrain):
    if shutil.which("unshare") is None or subprocess.run([*CONTAINED, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine allows no namespaces")
    command = [*CONTAINED, RTRAIN, "run", str(rtrain.script(COUNTING)), "--resume", "auto"]
    first = Running([*command, "--set", "pause_at=3"], rtrain.folder, rtrain.env)
    rtrain.wait_for_reports(first, 3)
    second = Running(command, rtrain.folder, rtrain.env).wait()
    assert second.returncode == 4 and "is being run by pid 1 on" in second.stderr
    assert rtrain.json("show", "run")["status"] == "RUNNING", "seen from outside of both"
    first.kill()
    rtrain.wait_for_processes()
    third = Running(command, rtrain.folder, rtrain.env).wait()
    assert third.returncode == 0 and "rows\t1 2 3 4" in third.stdout


RESUMABLE = SOURCE / "tests" / "soak" / "kills" / "resumable.lua"


def reports_made(rtrain, attempt):
    """Returns the number of rank 0's reports in the killed run."""
    return len(
        rtrain.query(
            "SELECT 1 FROM reports JOIN runs USING(run_id) WHERE name = 'killed' AND attempt = ? AND rank = 0", attempt
        )
    )


@pytest.mark.parametrize("is_async, is_sharded", [("false", "false"), ("true", "false"), ("true", "true")])
def test_killed_three_times_a_run_ends_with_the_same_bits(rtrain, is_async, is_sharded):
    """Kills a worker, rank 0 and the controller, each in the middle of an epoch. tests/soak/kills kills at any
    moment."""
    sharded = f"sharded={is_sharded}"
    straight = rtrain("run", RESUMABLE, "--name", "straight", "--set", "out=straight", "--set", sharded)
    assert straight.returncode == 0, straight.stderr
    command = (
        "run",
        RESUMABLE,
        "--name",
        "killed",
        "--set",
        "out=killed",
        "--set",
        f"async={is_async}",
        "--set",
        sharded,
        "--set",
        "slow_s=0.05",
    )
    running = rtrain.start(*command)
    for attempt, rank in ((1, 1), (2, 0)):
        wait_until(
            lambda attempt=attempt: reports_made(rtrain, attempt) >= 5, message=f"5 reports of attempt {attempt}"
        )
        os.kill(rtrain.pids("killed")[rank], signal.SIGKILL)
    wait_until(lambda: reports_made(rtrain, 3) >= 5, message="5 reports of attempt 3")
    kill(running)
    last = rtrain(*command[:-1], "slow_s=0")
    assert last.returncode == 0, last.stderr
    assert len(rtrain.json("show", "killed")["attempts"]) == 4
    assert rtrain.reports("killed") == rtrain.reports("straight"), "every loss is the same"
    for rank in (0, 1):
        files = [(rtrain.folder / f"{name}-rank-{rank}").read_bytes() for name in ("straight", "killed")]
        assert files[0] == files[1], f"rank {rank}"


SEEN = """
local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data
train.TorchTrainer{
  train_loop_per_worker = function(config)
    local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(torch.arange(30)), {
      batch_size = 2, shuffle = true}))
    local state = train.state{loader = loader, had = 0}
    state:load(train.get_checkpoint())
    for x in loader do
      state.had = state.had + 1
      train.tempdir(function(dir)
        state:save(dir)
        train.report({samples = x:tolist(), had = state.had}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      while state.had == config.wait_after do os.execute('sleep 0.02') end
    end
  end,
  train_loop_config = {wait_after = 3},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'seen'},
}:fit()
"""


# fault: another world size on resume
def test_other_numbers_of_workers_see_the_rest_of_the_epoch_once(rtrain):
    """The run has 2, then 1, then 3 workers."""
    script = rtrain.script(SEEN)
    for args, steps in (((), 3), (("-n", "1", "--resume", "must", "--set", "wait_after=6"), 6)):
        running = rtrain.started("run", script, *args, reports=steps)
        wait_until(lambda: len(rtrain.json("checkpoint", "ls", "seen")) == steps, message=f"checkpoint {steps}")
        kill(running)
    result = rtrain("run", script, "--resume", "must", "-n", "3", "--set", "wait_after=0")
    assert result.returncode == 0, result.stderr
    rows = rtrain.json("metrics", "seen", "--ranks")
    assert [len(row["ranks"]) for row in rows] == [2] * 3 + [1] * 3 + [3] * 2
    assert sorted(i for row in rows for rank in row["ranks"] for i in rank["samples"]) == list(range(30))
    assert rows[-1]["metrics"]["had"] == 8
