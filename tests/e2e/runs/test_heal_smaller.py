"""train.elastic when no worker can replace a lost rank: an elastic group continues without it, in the same processes.
tests/cluster/test_elastic.py tests lost nodes."""

import re

import pytest

from conftest import no_process, set_cpus
from test_heal import attempts, ends, statuses, training

# The last rank is lost in the sixth step; the fourth process, which should replace it, cannot be started.
LOSE = "if rank == @RANK@ and state.step == 5 and files.once 'lost' then os.execute 'kill -9 $PPID' end"
NO_FOURTH = no_process(4)
REPORT = "train.report {step = state.step, size = train.get_context():get_world_size(), rows = batch[2]:tolist()}"
# A run that ends at its fifth step, and a run of two workers that continues from its checkpoint.
REFERENCE = """
local first = train.TorchTrainer {
  train_loop_per_worker = train_func, train_loop_config = {until_step = 5},
  scaling_config = train.ScalingConfig {num_workers = @WORKERS@}, run_config = train.RunConfig {name = 'first'},
}:fit()
train.TorchTrainer {
  train_loop_per_worker = train_func, train_loop_config = {from = first.checkpoint.path},
  scaling_config = train.ScalingConfig {num_workers = 2}, run_config = train.RunConfig {name = 'second'},
}:fit()
"""


def smaller(num_workers="{1, 3}", torch="", rank=2, **places):
    """Returns test_heal's training for an elastic group with numbered samples, which loses that rank."""
    text = training(**{"at_step": LOSE.replace("@RANK@", str(rank)), "after_step": REPORT, **places})
    text = text.replace("data.TensorDataset(x)", "data.TensorDataset(x, torch.arange(64))").replace(
        "model(batch)", "model(batch[1])"
    )
    text = text.replace("for batch in loader do", "for x, y in loader do\n        local batch = {x, y}")
    scaling = f"num_workers = {num_workers}, resources_per_worker = {{CPU = 1}}"
    return text.replace("num_workers = 2", scaling).replace("run_config =", f"{torch}\n  run_config =")


def reference(workers=3, torch=""):
    """Returns a script that makes the same steps with the same group sizes, but resumes from a checkpoint in
    between."""
    save = "if config.until_step == state.step then @SAVE@ return end"
    save = save.replace(
        "@SAVE@",
        "train.tempdir(function(dir) state:save(dir); train.report({step = state.step}, "
        "{checkpoint = train.Checkpoint.from_directory(dir)}) end)",
    )
    text = smaller(at_step="", after_step=save).replace("function train_func()", "function train_func(config)")
    text = text.replace("state:load(train.get_checkpoint())", "state:load(config.from)")
    runs = REFERENCE.replace("@WORKERS@", str(workers)).replace("run_config =", f"{torch} run_config =")
    return text[: text.index("train.TorchTrainer {")] + runs


def end_of_reference(result):
    """Returns the END lines of the second run."""
    found = [end for end in ends(result) if not end[1].startswith("5 steps")]
    assert len(found) == 2 and len({text for _, text in found}) == 1, found
    return found


def seen(rtrain, epoch_steps):
    """Returns the samples of each epoch, without superseded steps."""
    rows = rtrain.json("metrics", "healed", "--ranks", "--superseded")
    kept = [row for row in rows if not row["superseded"]]
    assert [row["index"] for row in kept] == list(range(len(kept)))
    out, first = [], 0
    for steps in epoch_steps:
        out.append([x for row in kept[first : first + steps] for rank in row["ranks"] for x in rank["rows"]])
        first += steps
    assert first == len(kept)
    return out


def check_lost_and_left_out(rtrain, result, num_attempts=3):
    assert statuses(rtrain) == ["HEALED"] * (num_attempts - 1) + ["FINISHED"]
    assert "cannot be replaced" in result.stderr and "the others go on without it" in result.stderr
    assert "the group goes on with 2 workers instead of 3" in result.stderr
    assert "all ranks go on from their last commit" in result.stderr


@pytest.mark.parametrize("torch", ["", "torch_config = train.TorchConfig {backend = 'gloo'},"], ids=["shm", "gloo"])
def test_a_rank_that_cannot_be_replaced_is_left_out(rtrain, torch):
    set_cpus(rtrain, 3)
    wanted = end_of_reference(rtrain.run_ok(reference(torch=torch)))
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    result = rtrain.run_ok(smaller(torch=torch))
    check_lost_and_left_out(rtrain, result)
    assert ends(result) == wanted
    assert attempts(rtrain) == [(1, "HEALED", 0), (2, "HEALED", 0), (3, "FINISHED", 1)]
    # The message has the cause and the number of workers, and the other ranks keep their processes.
    shown = rtrain.json("show", "healed")["attempts"]
    assert "killed by signal 9" in shown[0]["error"]["message"] and shown[0]["error"]["rank"] == 2
    assert "Resource temporarily unavailable" in shown[1]["error"]["message"]
    assert [len(each["workers"]) for each in shown] == [3, 2, 2]
    sizes = rtrain.query(
        "SELECT attempts.num_workers FROM attempts JOIN runs USING(run_id) WHERE name = 'healed' ORDER BY attempt"
    )
    assert [size for (size,) in sizes] == [3, 3, 2]
    pids = [[worker["pid"] for worker in each["workers"]] for each in shown]
    assert pids[0][:2] == pids[2]


def test_no_sample_is_left_out_or_comes_twice(rtrain):
    set_cpus(rtrain, 3)
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    check_lost_and_left_out(rtrain, rtrain.run_ok(smaller(rank=0)))
    # Five steps of three ranks with four samples each leave four samples, which are one step of two ranks.
    epochs = seen(rtrain, [5 + 1, 8, 8])
    assert all(sorted(each) == list(range(64)) for each in epochs)
    sizes = [row["metrics"]["size"] for row in rtrain.json("metrics", "healed")]
    assert sizes == [3] * 5 + [2] * 17


def test_any_rank_may_be_the_one_that_is_left_out(rtrain):
    """Rank 2 becomes rank 1, and a later loss is healed under the new rank."""
    set_cpus(rtrain, 3)
    again = (
        "if train.get_context():get_world_rank() == 1 and state.step == 9 and files.once 'again' then "
        "os.execute 'kill -9 $PPID' end"
    )
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    result = rtrain.run_ok(smaller(rank=1).replace("loss:backward()", f"{again}\nloss:backward()"))
    assert statuses(rtrain) == ["HEALED"] * 3 + ["FINISHED"]
    shown = rtrain.json("show", "healed")["attempts"]
    assert [each["error"]["rank"] for each in shown[:-1]] == [1, 1, 1]
    pids = [{worker["rank"]: worker["pid"] for worker in each["workers"]} for each in shown]
    assert pids[2] == {0: pids[0][0], 1: pids[0][2]}
    assert pids[3][0] == pids[0][0] and pids[3][1] != pids[2][1]
    found = ends(result)
    assert [rank for rank, _ in found] == ["0", "1"] and found[0][1] == found[1][1]
    epochs = seen(rtrain, [6, 8, 8])
    assert all(sorted(each) == list(range(64)) for each in epochs)


def test_one_rank_may_be_left(rtrain):
    set_cpus(rtrain, 2)
    rtrain.env["RTRAIN_FAULT"] = no_process(3)
    result = rtrain.run_ok(smaller("{1, 2}", rank=0))
    assert "the group goes on with 1 worker instead of 2" in result.stderr
    assert statuses(rtrain) == ["HEALED", "HEALED", "FINISHED"]
    assert len(ends(result)) == 1
    assert all(sorted(each) == list(range(64)) for each in seen(rtrain, [5 + 6, 16, 16]))


def test_a_group_that_may_not_become_smaller_ends(rtrain):
    set_cpus(rtrain, 3)
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    # A sampler with another number of replicas cannot be split again.
    other = "local odd = data.DistributedSampler(data.TensorDataset(x), {num_replicas = 7, rank = 3})"
    odd = smaller(before=other).replace("local sum = 0", "local sum = 0 * #odd")
    for name, text in (("fixed", smaller("3")), ("least", smaller("{3, 4}")), ("odd", odd)):
        result = rtrain.run(text, "--name", name)
        (rtrain.folder / "lost").unlink()
        assert result.returncode == 4, result.stderr
        assert statuses(rtrain, name) == ["HEALED", "ERRORED"], name
        assert "Resource temporarily unavailable" in result.stderr and "go on without it" not in result.stderr


def test_a_group_that_has_become_smaller_waits_for_no_checkpoint_to_grow(rtrain):
    set_cpus(rtrain, 3)
    save = """
      train.tempdir(function(dir)
        state:save(dir)
        train.report({step = state.step}, {checkpoint = train.Checkpoint.from_directory(dir)})
      end)
      if train.get_context():get_world_size() == 2 then os.execute 'sleep 0.1' end
    """
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    text = smaller(after_step=save).replace(
        "num_workers = {1, 3}", "num_workers = {1, 3}, elastic_resize_monitor_interval_s = 0.2"
    )
    result = rtrain.run_ok(text)
    assert "the group goes on with 3 workers instead of 2 after its next commit" in result.stderr
    assert "another size of the group" not in result.stderr, "nobody is asked to stop"
    shown = rtrain.json("show", "healed")["attempts"]
    assert [each["status"] for each in shown] == ["HEALED", "HEALED", "FINISHED", "FINISHED"]
    assert [len(each["workers"]) for each in shown] == [3, 2, 2, 3]
    found = ends(result)
    assert [rank for rank, _ in found] == ["0", "1", "2"] and len({text for _, text in found}) == 1


def test_the_shard_of_a_dataset_is_dealt_out_again(rtrain):
    set_cpus(rtrain, 3)
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    result = rtrain.run_ok("""
        local files = require 'files'
        local data, torch, train = require 'rtrain.data', require 'torch', require 'rtrain'
        local function train_func()
          local context = train.get_context()
          torch.manual_seed(1)
          local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
          local optimizer = torch.optim.SGD(model:parameters(), {lr = 1e-6})
          local shard, all = train.get_dataset_shard 'rows', train.get_dataset_shard 'whole'
          local state = train.state {model = model, optimizer = optimizer, shard = shard, epoch = 0}
          train.elastic(state, function()
            while state.epoch < 2 do
              for batch in shard:iter_torch_batches {batch_size = 4} do
                optimizer:zero_grad()
                model(batch.id:float():unsqueeze(1)):mean():backward()
                if context:get_world_rank() == 1 and state.epoch == 0 and files.once 'lost' then os.execute 'kill -9 $PPID' end
                optimizer:step()
                train.report {rows = batch.id:tolist(), epoch = state.epoch}
                state:commit()
              end
              state.epoch = state.epoch + 1
            end
            local count = 0
            for batch in all:iter_torch_batches {batch_size = 4} do count = count + #batch.id end
            return count
          end)
          print(('PARAMETER %.17g'):format(train.torch.unwrap(model).weight:item()))
        end
        train.TorchTrainer {
          train_loop_per_worker = train_func,
          scaling_config = train.ScalingConfig {num_workers = {1, 3}, resources_per_worker = {CPU = 1}},
          datasets = {rows = data.range(96), whole = data.range(10)},
          dataset_config = train.DataConfig {datasets_to_split = {'rows'}},
          run_config = train.RunConfig {name = 'healed'},
        }:fit()
        """)
    check_lost_and_left_out(rtrain, result)
    values = re.findall("PARAMETER (.*)", result.stdout)
    assert len(values) == 2 and len(set(values)) == 1
    for epoch in (0, 1):
        rows = [
            x
            for row in rtrain.json("metrics", "healed", "--ranks", "--superseded")
            if not row["superseded"]
            for rank in row["ranks"]
            if rank["epoch"] == epoch
            for x in rank["rows"]
        ]
        assert sorted(rows) == list(range(96))


def test_train_loop_goes_on_with_fewer_ranks(rtrain):
    """Gradients are accumulated over two batches, and the rest of the epoch is not a multiple of two batches."""
    set_cpus(rtrain, 3)
    rtrain.env["RTRAIN_FAULT"] = NO_FOURTH
    result = rtrain.run_ok("""
        local files = require 'files'
        local torch, train = require 'torch', require 'rtrain'
        local data = torch.utils.data
        local function train_func()
          torch.manual_seed(3)
          local net = torch.nn.Linear(6, 1)
          local out = train.loop {
            model = net,
            optimizer = function(model) return torch.optim.SGD(model:parameters(), {lr = 0.01, momentum = 0.9}) end,
            train_dataloader = data.DataLoader(data.TensorDataset(torch.randn({80, 6}, {generator = torch.Generator(5)})),
              {batch_size = 5, shuffle = true}),
            training_step = function(model, batch, i)
              local rank = train.get_context():get_world_rank()
              if rank == 1 and i == 2 and files.once 'lost' then os.execute 'kill -9 $PPID' end
              -- Each rank has another loss, so without averaged gradients the parameters would differ.
              return model(batch):pow(2):mean() * (1 + rank)
            end,
            max_epochs = 2, accumulate_grad_batches = 2,
          }
          print(('END %d steps %.17g'):format(out.steps, net.weight:double():abs():sum():item()))
        end
        train.TorchTrainer {
          train_loop_per_worker = train_func,
          scaling_config = train.ScalingConfig {num_workers = {1, 3}, resources_per_worker = {CPU = 1}},
          run_config = train.RunConfig {name = 'healed'},
        }:fit()
        """)
    check_lost_and_left_out(rtrain, result)
    found = ends(result)
    assert len(found) == 2 and found[0][1] == found[1][1], found
    # One step of three ranks; five batches of the remaining 50 samples in three steps; then four steps.
    assert found[0][1].startswith("8 steps")
