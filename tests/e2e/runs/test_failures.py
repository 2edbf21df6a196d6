"""Failures in a run: which rank is named, how the run ends, and what it leaves behind."""

import os
import signal

import pytest

from conftest import ENDLESS, leftovers, open_sockets, processes_of, sockets_of, wait_until

# Each rank saves the epoch in its checkpoint. `lose(epoch, rank)` decides where a process is lost, once.
RESUMING = """
local once = require('files').once
local torch = require 'torch'
local train = require 'rtrain'

local function train_func()
  local rank = train.get_context():get_world_rank()
  local first = 1
  local checkpoint = train.get_checkpoint()
  if checkpoint then
    checkpoint:with_directory(function(dir) first = torch.load(dir .. '/state.pt').epoch + 1 end)
  end
  for epoch = first, 5 do
    @LOSE@
    local weight = torch.distributed.all_reduce(torch.tensor{epoch})
    train.tempdir(function(dir)
      local options
      if rank == 0 then
        torch.save({epoch = epoch, weight = weight}, dir .. '/state.pt')
        options = {checkpoint = train.Checkpoint.from_directory(dir)}
      end
      train.report({epoch = epoch, first = first}, options)
    end)
  end
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{
    name = 'resuming',
    checkpoint_config = train.CheckpointConfig{num_to_keep = 2},
    failure_config = train.FailureConfig{max_failures = 0},
  },
}:fit()
"""
KILL_SELF = "os.execute('kill -9 $PPID')"


def assert_nothing_left(rtrain, name):
    rtrain.wait_for_processes()
    assert leftovers(rtrain.run_folder(name) / "staging") == []


# behaviour: only the user's frames
# fault: Lua error on one rank
def test_an_error_on_one_rank_is_told_once(rtrain):
    result = rtrain.run("""
        local torch = require 'torch'
        local train = require 'rtrain'
        local function read_columns()
          error('no such column')
        end
        train.TorchTrainer{
          train_loop_per_worker = function()
            if train.get_context():get_world_rank() == 1 then
              read_columns()
            end
            torch.distributed.barrier()
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'wrong'},
        }:fit()
        """)
    assert result.returncode == 1
    assert result.stderr.count(": no such column") == 1
    assert "rank 1" in result.stderr
    assert "train.lua:4:" in result.stderr
    assert "train.lua:9" in result.stderr, "the caller's frame"
    assert "rank 0" not in result.stderr, "a rank that only lost its peer is not named"
    show = rtrain.json("show", "wrong")
    assert show["status"] == "ERRORED"
    assert "no such column" in str(show["attempts"][0]["error"])
    assert_nothing_left(rtrain, "wrong")


def test_an_error_on_all_ranks_is_one_short_message(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local columns = nil
            return columns.first
          end,
          scaling_config = train.ScalingConfig{num_workers = 4},
        }:fit()
        """)
    assert result.returncode == 1
    assert result.stderr.count("train.lua:5:") == 1
    assert "ranks 0" in result.stderr or "all 4 ranks" in result.stderr or "all ranks" in result.stderr
    assert len(result.stderr.splitlines()) <= 15, result.stderr


def test_a_script_may_go_on_after_a_failed_run(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        local result = train.TorchTrainer{
          train_loop_per_worker = function() error('on purpose') end,
          scaling_config = train.ScalingConfig{num_workers = 2},
        }:fit{raise = false}
        print('caught', result.error.code, result.error.ranks ~= nil, tostring(result.error):match('on purpose'))
        """)
    assert result.returncode == 0, result.stderr
    assert "caught\tuser\ttrue\ton purpose" in result.stdout


def test_a_killed_worker_ends_the_run(rtrain):
    running = rtrain.started("run", rtrain.script(ENDLESS), reports=3)
    sockets = sockets_of(processes_of(rtrain.storage))
    victim = rtrain.pids("endless")[1]
    os.kill(victim, signal.SIGKILL)
    result = running.wait()  # earlier than any deadline of the run
    assert result.returncode == 5
    assert "rank 1" in result.stderr and str(victim) in result.stderr and "SIGKILL" in result.stderr
    show = rtrain.json("show", "endless")
    assert show["status"] == "ERRORED"
    (attempt,) = show["attempts"]
    assert next(worker["signal"] for worker in attempt["workers"] if worker["rank"] == 1) in (9, "SIGKILL")
    assert len(rtrain.reports("endless")) >= 3, "what was reported before is kept"
    assert_nothing_left(rtrain, "endless")
    wait_until(lambda: not open_sockets(sockets), message="the end of all sockets")


# behaviour: errors of teardown after a peer's death
def test_what_a_dead_peer_does_to_the_others_shutdown_is_not_their_error(rtrain):
    result = rtrain.run("""
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local model = train.torch.prepare_model(torch.nn.Linear(2, 2))
            model(torch.ones(1, 2)):sum():backward()
            if train.get_context():get_world_rank() == 1 then
              while not io.open 'returned' do os.execute 'sleep 0.02' end
              os.execute 'kill -9 $PPID'
            end
            io.open('returned', 'w'):close()
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'shutdown'},
        }:fit()
        """)
    assert result.returncode == 5, result.stdout + result.stderr
    assert "rank 1" in result.stderr and "SIGKILL" in result.stderr
    assert "rank 0" not in result.stderr, result.stderr
    assert_nothing_left(rtrain, "shutdown")


# fault: SIGABRT
def test_an_abort_in_native_code_is_told_with_its_reason(rtrain):
    result = rtrain.run("""
        local ffi = require 'ffi'
        local train = require 'rtrain'
        train.DataParallelTrainer{
          train_loop_per_worker = function()
            ffi.cdef 'void abort(void);'
            if train.get_context():get_world_rank() == 1 then ffi.C.abort() end
            train.report{}
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
        }:fit()
        """)
    assert result.returncode == 5, result.stdout + result.stderr
    assert "rank 1" in result.stderr and "SIGABRT" in result.stderr


# behaviour: an error in a helper thread
def test_an_error_in_a_loaders_thread_ends_the_worker_with_that_error(rtrain):
    result = rtrain.run("""
        local torch = require 'torch'
        local train = require 'rtrain'
        local data = torch.utils.data
        local Broken = data.Dataset:extend 'Broken'
        function Broken:len() return 40 end
        function Broken:get(i)
          if i == 13 then error 'no such picture' end
          return i
        end
        train.TorchTrainer{
          train_loop_per_worker = function()
            local loader = data.DataLoader(Broken(), {batch_size = 4, num_workers = 2})
            for batch in loader do train.report{batch = batch:tolist()} end
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
        }:fit()
        """)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "sample 13: " in result.stderr and "no such picture" in result.stderr, result.stderr
    assert "DataLoader worker" in result.stderr and "train.lua:7" in result.stderr, result.stderr


# fault: NaN in one rank's gradient
def test_a_gradient_of_nan_on_one_rank_leaves_the_last_good_checkpoint_the_best(rtrain):
    result = rtrain.run_ok("""
        local torch = require 'torch'
        local train = require 'rtrain'
        local result = train.TorchTrainer{
          train_loop_per_worker = function()
            local rank = train.get_context():get_world_rank()
            local model = train.torch.prepare_model(torch.nn.Linear(4, 1))
            local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.01})
            for step = 1, 5 do
              local x = torch.ones(2, 4)
              if step == 3 and rank == 1 then x = x * (0 / 0) end
              optimizer:zero_grad()
              local loss = model(x):pow(2):mean()
              loss:backward()
              optimizer:step()
              local mean = torch.distributed.all_reduce(loss:detach(), 'avg')
              train.tempdir(function(dir)
                torch.save(model:state_dict(), dir .. '/rank-' .. rank .. '.pt')
                train.report({step = step, loss = mean}, {checkpoint = train.Checkpoint.from_directory(dir)})
              end)
            end
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'nan', checkpoint_config = train.CheckpointConfig{
            num_to_keep = 2, checkpoint_score_attribute = 'loss', checkpoint_score_order = 'min'}},
        }:fit()
        local checkpoint, metrics = result:get_best_checkpoint('loss', 'min')
        print('best', checkpoint.path:match '[^/]*$')
        checkpoint:with_directory(function(dir)
          for _, weight in pairs(torch.load(dir .. '/rank-1.pt')) do assert(weight:isfinite():all():item()) end
        end)
        """)
    rows = rtrain.json("checkpoint", "ls", "nan")
    assert [row["index"] for row in rows if row["best"]] == [1], rows
    assert [row["index"] for row in rows if row["latest"]] == [4], rows
    assert "best\tcheckpoint_000001" in result.stdout


def test_a_killed_worker_is_replaced_from_the_latest_checkpoint(rtrain):
    # The loss waits until rank 0 has its checkpoint of epoch 3.
    script = RESUMING.replace(
        "@LOSE@",
        f"""
        if epoch == 4 then
          torch.distributed.barrier()
          if rank == 1 and once('lost') then {KILL_SELF} end
        end""",
    )
    result = rtrain.run_ok(script, "--max-failures", "2")
    assert "SIGKILL" in result.stderr
    show = rtrain.json("show", "resuming")
    assert show["status"] == "FINISHED"
    assert [attempt["attempt"] for attempt in show["attempts"]] == [1, 2]
    assert rtrain.statuses() == ["ERRORED", "FINISHED"]
    rows = rtrain.json("metrics", "resuming")
    assert [row["metrics"]["epoch"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["index"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["attempt"] for row in rows] == [1, 1, 1, 2, 2]
    assert rows[-1]["metrics"]["first"] == 4
    assert_nothing_left(rtrain, "resuming")


# behaviour: two failures in the middle
def test_two_failures_in_the_middle_leave_no_gap(rtrain):
    script = RESUMING.replace(
        "@LOSE@", "if epoch % 2 == 0 and rank == 1 and once('failed-' .. epoch) then error('again') end"
    )
    rtrain.run_ok(script, "--max-failures", "2")
    rows = rtrain.json("metrics", "resuming", "--superseded")
    assert [(row["metrics"]["epoch"], row["metrics"]["first"], row["attempt"]) for row in rows] == [
        (1, 1, 1),
        (2, 2, 2),
        (3, 2, 2),
        (4, 4, 3),
        (5, 4, 3),
    ]
    assert rtrain.statuses() == ["ERRORED", "ERRORED", "FINISHED"]


def test_an_error_is_retried_and_then_reported(rtrain):
    script = RESUMING.replace("@LOSE@", "if epoch == 3 then error('always here') end")
    result = rtrain.run(script, "--max-failures", "1")
    assert result.returncode == 1
    show = rtrain.json("show", "resuming")
    assert show["status"] == "ERRORED"
    assert rtrain.statuses() == ["ERRORED", "ERRORED"]
    assert [row["epoch"] for row in rtrain.reports("resuming")] == [1, 2]


@pytest.mark.parametrize("reset, attempts", [("", 2), (", reset_after_s = 0.001", 4)])
def test_counts_begin_anew_after_an_attempt_that_ran_long(rtrain, reset, attempts):
    result = rtrain.run(
        """
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            train.report{}
            os.execute('sleep 0.05; echo x >> attempts')
            local file = io.open('attempts')
            local count = #file:read('*a') / 2
            file:close()
            if count < 4 then error('attempt ' .. count) end
          end,
          run_config = train.RunConfig{name = 'run', failure_config = train.FailureConfig{max_failures = 1RESET}}}):fit()
        """.replace("RESET", reset)
    )
    assert (result.returncode == 0) == (attempts == 4), result.stderr
    assert len(rtrain.json("show", "run")["attempts"]) == attempts


def test_work_after_the_latest_checkpoint_is_done_again_and_superseded(rtrain):
    rtrain.run_ok("""
        local epochs, train = require 'epochs', require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            local first = epochs.of(train.get_checkpoint()) + 1
            for epoch = first, 4 do
              if epoch == 4 and first == 1 then error('half way') end
              if epoch == 2 then epochs.save(epoch) else train.report{epoch = epoch} end
            end
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'again', failure_config = train.FailureConfig{max_failures = 1}},
        }:fit()
        """)
    rows = rtrain.json("metrics", "again")
    assert [(row["metrics"]["epoch"], row["attempt"]) for row in rows] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    every = rtrain.json("metrics", "again", "--superseded")
    assert sorted((row["metrics"]["epoch"], row["attempt"]) for row in every) == [
        (1, 1),
        (2, 1),
        (3, 1),
        (3, 2),
        (4, 2),
    ]


# fault: `os.exit` in a worker
def test_leaving_by_os_exit_is_a_lost_worker(rtrain):
    result = rtrain.run("""
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            if train.get_context():get_world_rank() == 1 then os.exit(0) end
            torch.distributed.barrier()
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
        }:fit()
        """)
    assert result.returncode == 5
    assert "left early" in result.stderr and "rank 1" in result.stderr


def test_a_report_that_a_returned_rank_will_never_make_is_an_error(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            if train.get_context():get_world_rank() == 1 then return end
            train.tempdir(function(dir)
              io.open(dir .. '/f', 'w'):close()
              train.report({}, {checkpoint = train.Checkpoint.from_directory(dir)})
            end)
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          run_config = train.RunConfig{name = 'uneven'},
        }:fit()
        """)
    assert result.returncode != 0
    assert "rank 1" in result.stderr and "returned" in result.stderr and "train.lua:7" in result.stderr
    assert rtrain.json("checkpoint", "ls", "uneven") == []
    assert_nothing_left(rtrain, "uneven")


@pytest.mark.parametrize(
    "waits",
    [
        "torch.distributed.barrier()",
        "pcall(train.collective.barrier) torch.distributed.barrier()",  # after the other rank has returned
        "model(torch.ones(1, 2)):sum():backward()",
    ],
    ids=["collective", "later collective", "backward"],
)
# behaviour: time-out of a collective
# fault: one collective too many
def test_a_collective_that_a_returned_rank_will_never_join_is_an_error(rtrain, waits):
    result = rtrain.run(
        """
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function()
            train.collective.barrier()  -- so that timeout_s does not cover the start of the workers
            local model = train.torch.prepare_model(torch.nn.Linear(2, 2))
            torch.distributed.barrier()
            if train.get_context():get_world_rank() == 1 then return end
            @WAITS@
          end,
          scaling_config = train.ScalingConfig{num_workers = 2},
          torch_config = train.TorchConfig{timeout_s = 30},
        }:fit()
        """.replace("@WAITS@", waits)
    )
    assert result.returncode == 1, result.stderr
    assert "rank 0" in result.stderr and "train.lua:9" in result.stderr
    assert "rank 1" in result.stderr and "has already returned from the train function" in result.stderr


def test_a_misspelt_field_is_refused_before_any_worker(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.TorchTrainer{
          train_loop_per_worker = function() io.open('worker', 'w'):close() end,
          scaling_config = train.ScalingConfig{num_wokers = 2},
        }:fit()
        """)
    assert result.returncode == 3
    assert "did you mean 'num_workers'" in result.stderr
    assert "train.lua:4:" in result.stderr
    assert not rtrain.storage.exists() and not (rtrain.folder / "worker").exists()


@pytest.mark.parametrize("config", ["elastic = true", "use_tpu = true"])
def test_a_field_that_does_not_work_yet_is_refused(rtrain, config):
    result = rtrain.run(f"""
        local train = require 'rtrain'
        train.TorchTrainer{{
          train_loop_per_worker = function() end,
          scaling_config = train.ScalingConfig{{{config}}},
        }}:fit()
        """)
    assert result.returncode == 3
    assert config.split()[0] in result.stderr
