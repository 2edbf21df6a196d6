"""train.elastic: lost ranks are replaced while the other ranks live, and only the interrupted step is lost."""

import os
import re
import signal
import subprocess
import sys

import pytest

from conftest import ALL, RTRAIN, SOURCE, wait_until

KILLS = SOURCE / "tests" / "soak" / "kills" / "elastic.py"

# Prints each rank's sum of parameters and its number of steps. `@AT_STEP@` runs in each step before the backward pass,
# `@AFTER_STEP@` between the optimizer's step and the commit.
TRAINING = """
local files = require 'files'
local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data

local function train_func()
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(5 + rank)
  local x = torch.randn({64, 4}, {generator = torch.Generator(1)})
  local net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
  local model = train.torch.prepare_model(net)
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
  local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(x), {batch_size = 4, shuffle = true}))
  local state = train.state {model = model, optimizer = optimizer, loader = loader, epoch = 0, step = 0}
  state:load(train.get_checkpoint())
  @BEFORE@
  train.elastic(state, function()
    while state.epoch < 3 do
      loader.sampler:set_epoch(state.epoch)
      for batch in loader do
        optimizer:zero_grad()
        local loss = model(batch):pow(2):mean()
        @AT_STEP@
        loss:backward()
        optimizer:step()
        state.step = state.step + 1
        @AFTER_STEP@
        state:commit()
        @AFTER_COMMIT@
      end
      state.epoch = state.epoch + 1
    end
  end)
  local sum = 0
  for _, param in ipairs(net:parameters()) do sum = sum + param:double():abs():sum():item() end
  print(('END %d steps %.17g'):format(state.step, sum))
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {name = 'healed', failure_config = train.FailureConfig {@LIMITS@}},
}:fit()
"""
LOSE = "if rank == {rank} and state.step == {step} and files.once 'lost-{step}' then os.execute 'kill -9 $PPID' end"
SAVE = """
if state.step % 2 == 0 then
  train.tempdir(function(dir)
    state:save(dir)
    train.report({step = state.step}, {checkpoint = train.Checkpoint.from_directory(dir), checkpoint_upload_mode = '@MODE@'})
  end)
else
  train.report {step = state.step}
end
"""


def training(**places):
    text = TRAINING
    for name in ("BEFORE", "AT_STEP", "AFTER_STEP", "AFTER_COMMIT", "LIMITS"):
        text = text.replace(f"@{name}@", places.get(name.lower(), ""))
    return text


def ends(result):
    """Returns the END lines that the ranks printed, by rank."""
    return sorted(re.findall(r"\[rank (\d)\] END (.*)", result.stdout + result.stderr))


CALM = []


def calm(rtrain):
    """Returns the END lines of a run without losses; the run is the same each time, so it is made once."""
    if not CALM:
        CALM.extend(ends(rtrain.run_ok(training(), "--name", "calm")))
        assert len(CALM) == 2
    return CALM


def attempts(rtrain, name="healed"):
    return rtrain.query(
        "SELECT attempt, attempts.status, heal_s IS NOT NULL FROM attempts JOIN runs USING(run_id) WHERE name = ? "
        "ORDER BY attempt",
        name,
    )


def statuses(rtrain, name="healed"):
    return [status for _, status, _ in attempts(rtrain, name)]


def check_random_kills(tmp_path, kills, *options):
    """Kills workers of a run at random moments, and compares what every rank has at its end with a calm run."""
    result = subprocess.run(
        [sys.executable, KILLS, "--kills", str(kills), *options],
        env={**os.environ, "RTRAIN": str(RTRAIN), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "the same bits" in result.stdout


def test_workers_killed_at_random_moments_leave_the_bits_alone(tmp_path):
    check_random_kills(tmp_path, 15 if ALL else 5)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_lost_rank_is_replaced_while_the_other_lives(rtrain, rank):
    wanted = calm(rtrain)
    lose = LOSE.format(rank=rank, step=5) + "\n" + LOSE.format(rank=1 - rank, step=11)
    result = rtrain.run_ok(training(at_step=lose, after_step=SAVE.replace("@MODE@", "SYNC")))
    assert ends(result) == wanted
    assert attempts(rtrain) == [(1, "HEALED", 0), (2, "HEALED", 1), (3, "FINISHED", 1)]
    assert "it is replaced, and the others do the step that was cut again" in result.stderr
    assert "all ranks go on from their last commit" in result.stderr
    # The other rank keeps its process.
    pids = dict(
        rtrain.query(
            "SELECT attempt, pid FROM workers JOIN runs USING(run_id) WHERE rank = ? AND name = 'healed'", 1 - rank
        )
    )
    assert pids[1] == pids[2] != pids[3]
    # Every report is stored exactly once.
    steps = rtrain.query(
        "SELECT json_extract(metrics, '$.step') FROM reports JOIN runs USING(run_id) WHERE name = 'healed' "
        "AND superseded = 0 AND rank = 0 ORDER BY idx"
    )
    assert [step for (step,) in steps] == list(range(1, 25))


def test_what_is_shown_of_a_heal(rtrain):
    result = rtrain.run_ok(training(at_step=LOSE.format(rank=1, step=5)))
    assert result.returncode == 0
    shown = rtrain.json("show", "healed")["attempts"]
    assert [each["status"] for each in shown] == ["HEALED", "FINISHED"]
    assert shown[0]["error"]["rank"] == 1
    assert "killed by signal 9" in shown[0]["error"]["message"]
    assert shown[0]["heal_s"] is None
    assert 0 < shown[1]["heal_s"] < 30
    text = rtrain("show", "healed").stdout
    assert re.search(r"HEALED", text), text
    assert rtrain.json("show", "healed")["status"] == "FINISHED"


# Each fault point, the rank that is killed there, and what else must be lost to reach the point.
POINTS = [
    ("elastic.prepare:9", 1, None),
    ("elastic.prepare:9", 0, None),
    ("elastic.commit:9", 1, None),
    ("elastic.commit:9", 0, None),
    ("elastic.back:1", 0, 1),
]


@pytest.mark.parametrize(("point", "rank", "other"), POINTS)
def test_a_rank_that_is_killed_in_a_commit_or_on_its_way_back(rtrain, point, rank, other):
    wanted = calm(rtrain)
    lose = LOSE.format(rank=other, step=5) if other is not None else ""
    rtrain.env["RTRAIN_FAULT"] = f"{point}:kill:rank={rank}:attempt=1"
    result = rtrain.run(training(at_step=lose, limits="max_failures = 1"))
    del rtrain.env["RTRAIN_FAULT"]
    assert result.returncode == 0, result.stdout + result.stderr
    if other is None:
        assert attempts(rtrain) == [(1, "HEALED", 0), (2, "FINISHED", 1)]
        assert ends(result) == wanted
    else:  # no rank is left, so the run begins again
        assert statuses(rtrain) == ["ERRORED", "FINISHED"]
        assert ends(result) == wanted


TWICE = "loss:backward(); optimizer:step(); optimizer:zero_grad(); loss = model(batch):abs():mean()"


def test_two_steps_of_an_optimizer_in_a_commit(rtrain):
    """A loss after the second step is healed; after a loss between the two steps no rank can go back."""
    wanted = ends(rtrain.run_ok(training(at_step=TWICE), "--name", "calm"))
    rtrain.env["RTRAIN_FAULT"] = "elastic.commit:9:kill:rank=1:attempt=1"
    result = rtrain.run_ok(training(at_step=TWICE))
    del rtrain.env["RTRAIN_FAULT"]
    assert statuses(rtrain) == ["HEALED", "FINISHED"]
    assert ends(result) == wanted
    result = rtrain.run_ok(
        training(at_step=TWICE + "\n" + LOSE.format(rank=1, step=7), limits="max_failures = 1"), "--name", "between"
    )
    assert statuses(rtrain, "between") == ["ERRORED", "FINISHED"]
    assert ends(result) == wanted


def test_a_controller_that_is_killed_in_a_heal_takes_the_run_with_it(rtrain):
    text = training(at_step=LOSE.format(rank=1, step=5), after_step=SAVE.replace("@MODE@", "SYNC"))
    rtrain.env["RTRAIN_FAULT"] = "attempt.heal:1:kill:controller"
    assert rtrain.run(text).returncode == -signal.SIGKILL
    del rtrain.env["RTRAIN_FAULT"]
    rtrain.wait_for_processes()
    result = rtrain.run_ok(text, "--resume", "auto")
    assert [steps.split()[0] for _, steps in ends(result)] == ["24", "24"]


def test_heals_have_a_limit_of_their_own(rtrain):
    lose = LOSE.format(rank=1, step=5) + "\n" + LOSE.format(rank=0, step=11)
    result = rtrain.run(training(at_step=lose, limits="max_heals = 1"))
    assert result.returncode == 5
    assert statuses(rtrain) == ["HEALED", "ERRORED"]
    result = rtrain.run(
        training(at_step=LOSE.format(rank=1, step=7), limits="max_heals = 0, max_failures = 1"), "--name", "none"
    )
    assert result.returncode == 0, result.stderr
    assert "it is replaced" not in result.stderr


def test_an_error_of_the_script_is_no_loss(rtrain):
    result = rtrain.run(training(at_step="if rank == 1 and state.step == 5 then error 'no good' end"))
    assert result.returncode == 1
    assert "no good" in result.stderr
    assert attempts(rtrain) == [(1, "ERRORED", 0)]


def test_a_loss_between_step_and_commit_restarts_the_group(rtrain):
    """The other ranks wait for the lost rank with parameters that are neither those before the step nor committed."""
    after = (
        LOSE.format(rank=1, step=7) + "\ntorch.distributed.all_reduce(torch.ones(1))" + SAVE.replace("@MODE@", "SYNC")
    )
    result = rtrain.run_ok(training(after_step=after, limits="max_failures = 1"))
    assert statuses(rtrain) == ["ERRORED", "FINISHED"]
    assert ends(result) == calm(rtrain)


def test_parameters_that_were_changed_otherwise_restart_the_group(rtrain):
    at_step = "torch.no_grad(function() net[1].weight:add_(0) end)\n" + LOSE.format(rank=1, step=7)
    rtrain.run_ok(training(at_step=at_step, limits="max_failures = 1"))
    assert statuses(rtrain) == ["ERRORED", "FINISHED"]


def test_a_collective_before_it_cannot_be_done_again(rtrain):
    text = training(before="train.collective.barrier()", at_step=LOSE.format(rank=1, step=5), limits="max_failures = 1")
    result = rtrain.run_ok(text)
    assert "1 collective comes before train.elastic" in result.stdout + result.stderr
    assert statuses(rtrain) == ["ERRORED", "FINISHED"]


def test_a_second_call_does_not_heal(rtrain):
    again = """
      if train.elastic(state, function() return 'first' end) ~= 'first' then error 'no result' end
    """
    text = training(before=again, at_step=LOSE.format(rank=1, step=5), limits="max_failures = 1")
    result = rtrain.run_ok(text)
    assert "it was called before in this train function" in result.stdout + result.stderr
    assert statuses(rtrain) == ["ERRORED", "FINISHED"]


def test_with_one_worker_a_loss_restarts_it(rtrain):
    result = rtrain.run_ok(training(at_step=LOSE.format(rank=0, step=5), limits="max_failures = 1"), "-n", "1")
    assert "the loss of a rank restarts the group: there is one rank" in result.stdout + result.stderr


def test_in_local_mode_a_loss_ends_the_run_and_another_process_takes_it_up(rtrain):
    calm = rtrain.run_ok(training(), "--local", "--name", "calm")
    text = training(at_step=LOSE.format(rank=0, step=5), after_step=SAVE.replace("@MODE@", "SYNC"))
    lost = rtrain.run(text, "--local")
    assert lost.returncode == -signal.SIGKILL
    assert "the loss of a rank ends the run: the train function runs in the script's own process" in lost.stderr
    result = rtrain.run_ok(text, "--local", "--resume", "auto")
    assert result.stdout == calm.stdout and result.stdout.startswith("END 48 steps")


def test_a_checkpoint_that_a_lost_rank_has_no_part_in_is_left_out(rtrain):
    """The other rank waits in report() for the part of the lost rank, with parameters that all ranks have reached."""
    lose = LOSE.format(rank=1, step=6)
    result = rtrain.run_ok(training(after_step=lose + SAVE.replace("@MODE@", "SYNC")))
    assert ends(result) == calm(rtrain)
    assert statuses(rtrain) == ["HEALED", "FINISHED"]
    assert "report 5 has no checkpoint: a rank was lost before its part was there" in result.stderr
    kept = [each["index"] for each in rtrain.json("checkpoint", "ls", "healed")]
    assert sorted(kept) == [1, 3, 7, 9, 11, 13, 15, 17, 19, 21, 23]
    reports = rtrain.query(
        "SELECT idx, rank FROM reports JOIN runs USING(run_id) WHERE name = 'healed' AND superseded = 0"
    )
    assert sorted(reports) == sorted((idx, rank) for idx in range(24) for rank in (0, 1) if (idx, rank) != (5, 1))


def test_an_asynchronous_upload_of_a_lost_rank_is_left_out(rtrain):
    lose = LOSE.format(rank=1, step=6)
    result = rtrain.run_ok(training(after_step=SAVE.replace("@MODE@", "ASYNC") + lose))
    assert ends(result) == calm(rtrain)
    kept = [each["index"] for each in rtrain.json("checkpoint", "ls", "healed")]
    assert {1, 3, 7, 9, 23} <= set(kept)


def test_a_stop_that_comes_in_a_heal_is_asked_behind_it(rtrain):
    stop = "if train.stop_requested() then print 'STOPPED' return end\nos.execute 'sleep 0.05'"
    rtrain.env["RTRAIN_FAULT"] = "worker.hello:1:sleep=1500:rank=1:attempt=2"
    text = training(at_step=LOSE.format(rank=1, step=5), after_commit=stop)
    running = rtrain.start("run", rtrain.script(text))
    wait_until(lambda: "it is replaced" in running.stderr, message="the loss")
    running.send(signal.SIGINT)
    running.wait()
    del rtrain.env["RTRAIN_FAULT"]
    output = running.stdout + running.stderr
    assert "all ranks go on from their last commit" in output
    assert output.count("STOPPED") == 2, output


def test_the_shard_of_a_dataset_goes_on_where_it_was(rtrain):
    """When rows are filtered, the ranks agree on their number in rounds, through the attempt's store."""
    text = """
        local files = require 'files'
        local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'
        local function train_func(config)
          local rank = train.get_context():get_world_rank()
          torch.manual_seed(1)
          local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
          local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-6})
          local shard = train.get_dataset_shard()
          local state = train.state {model = model, optimizer = optimizer, shard = shard, epoch = 0, sum = 0}
          train.elastic(state, function()
            while state.epoch < 2 do
              for batch in shard:iter_torch_batches {batch_size = 4} do
                local x = batch.id:float():unsqueeze(1)
                optimizer:zero_grad()
                model(x):mean():backward()
                if config.lose and rank == 1 and state.epoch == 1 and files.once 'lost' then os.execute 'kill -9 $PPID' end
                optimizer:step()
                state.sum = state.sum + 1
                state:commit()
              end
              state.epoch = state.epoch + 1
            end
          end)
          return ('%d %.17g'):format(state.sum, train.torch.unwrap(model).weight:item())
        end
        local function even(row) return row.id % 2 == 0 end
        for _, lose in ipairs {false, true} do
          local result = train.TorchTrainer {
            train_loop_per_worker = train_func, train_loop_config = {lose = lose},
            scaling_config = train.ScalingConfig {num_workers = 2},
            datasets = {train = data.range(100):filter(even)},
          }:fit()
          print('RESULT ' .. result.return_value)
        end
    """
    result = rtrain.run_ok(text)
    first, second = re.findall("RESULT (.*)", result.stdout)
    assert first == second
    assert "it is replaced" in result.stderr


def test_train_loop_heals_by_itself(rtrain):
    text = """
        local files = require 'files'
        local torch, train = require 'torch', require 'rtrain'
        local data, F = torch.utils.data, torch.nn.functional
        local function train_func(config)
          local rank = train.get_context():get_world_rank()
          torch.manual_seed(3 + rank)
          local set = data.TensorDataset(torch.randn({96, 6}, {generator = torch.Generator(5)}))
          local net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.3),
            torch.nn.Linear(16, 1))
          local out = train.loop {
            model = net,
            optimizer = function(model) return torch.optim.SGD(model:parameters(), {lr = 0.01, momentum = 0.9}) end,
            lr_scheduler = function(optimizer) return torch.optim.lr_scheduler.StepLR(optimizer, 2) end,
            train_dataloader = data.DataLoader(set, {batch_size = 8, shuffle = true}),
            val_dataloader = data.DataLoader(set, {batch_size = 16}),
            training_step = function(model, batch, i)
              for _, at in ipairs(config.lose) do
                if rank == at % 2 and i == at and files.once('lost-' .. at) then os.execute 'kill -9 $PPID' end
              end
              return model(batch):pow(2):mean()
            end,
            validation_step = function(model, batch) return {val_loss = model(batch):pow(2):mean()} end,
            max_epochs = 3, accumulate_grad_batches = 2,
          }
          local sum = 0
          for _, param in ipairs(net:parameters()) do sum = sum + param:double():abs():sum():item() end
          return ('%d %.17g %.17g'):format(out.steps, out.metrics.val_loss, sum)
        end
        for _, lose in ipairs {{}, {2, 3, 5}} do  -- after a step that all ranks have made
          local result = train.TorchTrainer {
            train_loop_per_worker = train_func, train_loop_config = {lose = lose},
            scaling_config = train.ScalingConfig {num_workers = 2},
          }:fit()
          print('RESULT ' .. result.return_value)
        end
    """
    result = rtrain.run_ok(text)
    first, second = re.findall("RESULT (.*)", result.stdout)
    assert first == second
    assert result.stderr.count("it is replaced") == 3


def test_its_arguments_are_checked(rtrain):
    result = rtrain.run("""
        local train = require 'rtrain'
        train.TorchTrainer {train_loop_per_worker = function()
          local state = train.state {step = 0}
          local function message(fn, ...) return select(2, pcall(fn, ...)).message end
          print(message(train.elastic, {}, function() end))
          print(message(train.elastic, state, 3))
          print(message(state.commit, state))
          print(message(train.state, {commit = 1}))
        end}:fit()
    """)
    assert result.returncode == 0, result.stderr
    for text in [
        "train.elastic: expected a state of train.state, got a table",
        "train.elastic: expected a function(state), got a number",
        "state:commit: only inside of train.elastic(state, function(state) … end)",
        "other than save, load, init and commit",
    ]:
        assert text in result.stdout, result.stdout
