"""A loss, gradient or metric that becomes NaN or infinite is detected: FailureConfig.on_nan."""

import json

import pytest

from conftest import nightly

pytestmark = nightly

# Two ranks. In step 3 the layer fc2 gives NaN on rank 1; through the gradients all ranks have NaN in step 4.
NET = """
    local torch = require 'torch'
    local train = require 'rtrain'
    local nn = torch.nn

    local Middle = nn.Linear:extend 'Middle'
    function Middle:forward(x)
      local out = nn.Linear.forward(self, x)
      return self.is_broken and out / 0 * 0 or out
    end
    local Net = nn.Module:extend 'Net'
    function Net:init() self.fc1, self.fc2, self.fc3 = nn.Linear(4, 8), Middle(8, 8), nn.Linear(8, 1) end
    function Net:forward(x) return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x))))) end
    local rank = function() return train.get_context():get_world_rank() end
"""

BY_HAND = (
    NET
    + """
    local function train_func(config)
      torch.manual_seed(1)
      local model = train.torch.prepare_model(Net())
      local net = train.torch.unwrap(model)
      local optimizer = torch.optim.SGD(model:parameters(), {lr = 0.01})
      for step = 1, 6 do
        local x = torch.randn(5, 4)
        if step == 3 and rank() == config.rank then
          if config.how == 'output' then net.fc2.is_broken = true end
          if config.how == 'weight' then torch.no_grad(function() net.fc2.weight:fill_(0 / 0) end) end
          if config.how == 'input' then x:fill_(math.huge) end
        end
        local loss = model(x):pow(2):mean()
        optimizer:zero_grad()
        loss:backward()
        optimizer:step()
        train.report {loss = loss}
      end
    end
    train.TorchTrainer({
      train_loop_per_worker = train_func,
      train_loop_config = {how = arg[1], rank = tonumber(arg[2])},
      scaling_config = train.ScalingConfig {num_workers = tonumber(arg[3])},
      run_config = train.RunConfig {name = 'mine', failure_config = train.FailureConfig {on_nan = arg[4], max_failures = 2}},
    }):fit()
"""
)

PLACES = {
    "output": "the first output that is not finite is that of Net.fc2 (Middle)",
    "weight": "the parameter fc2.weight is not finite",
    "input": "what Net was called with is not finite",
}
# The other rank computes with the same parameters, and has no NaN in that step.
ALONE = (
    ", while the other ranks, which should have the same parameters, had only finite values in that step: something has "
    "changed those of rank 1 alone, which FailureConfig.verify_replicas finds at a commit"
)


@pytest.mark.parametrize("how", PLACES)
def test_the_step_the_rank_and_the_layer_are_named_once(rtrain, how):
    result = rtrain.run_ok(BY_HAND, "--", how, 1, 2)
    said = [line for line in (result.stdout + result.stderr).splitlines() if " on rank" in line]
    assert len(said) == 1, result.stderr
    alone = ALONE if how == "weight" else ""
    assert f"the loss is nan in step 3 on rank 1: {PLACES[how]}{alone} (FailureConfig.on_nan" in said[0]
    shown = rtrain("show", "mine").stdout
    assert shown.count("the loss is nan in step 3 on rank 1") == 1
    assert len(rtrain.reports("mine")) == 6


@pytest.mark.parametrize("workers", [0, 1])
def test_with_one_worker_too(rtrain, workers):
    result = rtrain.run_ok(BY_HAND, "--", "output", 0, workers)
    assert f"the loss is nan in step 3 on rank 0: {PLACES['output']}" in result.stderr


def test_error_ends_the_run_without_a_retry(rtrain):
    result = rtrain.run(BY_HAND, "--", "weight", 1, 2, "error")
    assert result.returncode == 1
    assert "rank 1 raised an error:" in result.stderr
    assert "train.lua:" in result.stderr and "loss:backward()" in result.stderr
    assert f"the loss is nan in step 3: {PLACES['weight']} (FailureConfig.on_nan = 'error')" in result.stderr
    assert "an error of kind 'not_finite' is not retried" in result.stderr
    assert rtrain.statuses("mine") == ["ERRORED"]
    assert rtrain.json("show", "mine")["attempts"][0]["error"]["code"] == "not_finite"
    assert len(rtrain.reports("mine")) == 2


def test_ignore_says_nothing(rtrain):
    result = rtrain.run_ok(BY_HAND, "--", "output", 1, 2, "ignore")
    assert "on rank" not in result.stderr
    assert "not finite" not in rtrain("show", "mine").stdout


def test_a_metric_that_is_not_finite(rtrain):
    script = """
        local train = require 'rtrain'
        train.DataParallelTrainer({
          train_loop_per_worker = function()
            for epoch = 1, 3 do
              train.report {epoch = epoch, val = {loss = epoch == 2 and 0 / 0 or 1, best = math.huge * (epoch - 1.5)}}
            end
          end,
          scaling_config = train.ScalingConfig {num_workers = 3},
          run_config = train.RunConfig {name = 'mine', failure_config = train.FailureConfig {on_nan = arg[1]}},
        }):fit()
        """
    result = rtrain.run_ok(script, "--", "warn")
    assert result.stderr.count("the metric val/best is -inf in report 0 on ranks 0-2 (FailureConfig") == 1
    assert result.stderr.count("FailureConfig") == 1
    again = rtrain.run(script.replace("'mine'", "'again'"), "--", "error")
    assert again.returncode == 1
    assert "same error on ranks 0-2:" in again.stderr
    assert rtrain.reports("again") == []


def test_the_report_of_a_metric_is_counted_over_the_whole_run(rtrain):
    result = rtrain.run_ok("""
        local torch = require 'torch'
        local train = require 'rtrain'
        train.TorchTrainer({
          train_loop_per_worker = function()
            local checkpoint = train.get_checkpoint()
            local optimizer = torch.optim.SGD({torch.zeros(1, {requires_grad = true})}, {lr = 1})
            for epoch = checkpoint and 2 or 0, 4 do
              optimizer:step()
              if epoch == 1 then
                train.tempdir(function(dir) train.report({x = 1}, {checkpoint = train.Checkpoint.from_directory(dir)}) end)
                error 'once'
              end
              local is_first = train.get_context():get_world_rank() == 1
              train.report {x = epoch == 3 and is_first and 0 / 0 or epoch == 4 and 0 / 0 or 1}
            end
          end,
          scaling_config = train.ScalingConfig {num_workers = 2},
          run_config = train.RunConfig {failure_config = train.FailureConfig {max_failures = 1}},
        }):fit()
        """)
    assert "the metric x is nan in report 3, after step 2 on rank 1 (FailureConfig" in result.stderr, result.stderr


LOOP = (
    NET
    + """
    local function train_func(config)
      torch.manual_seed(1)
      local net = Net()
      local data = torch.utils.data
      local x = torch.randn(64, 4)
      train.loop {
        model = net,
        training_step = function(model, batch, batch_idx)
          if config.how == 'output' then net.fc2.is_broken = batch_idx == 2 and rank() == 1 end
          local out = model(batch[1])
          -- The gradient of a square root at 0 is infinite, the gradient of its argument is 0.
          if config.how == 'gradient' and batch_idx == 1 then out = out + (out * 0):sqrt() end
          return out:pow(2):mean()
        end,
        optimizer = torch.optim.SGD(net:parameters(), {lr = 0.01}),
        train_dataloader = data.DataLoader(data.TensorDataset(x), {batch_size = 8}),
        max_epochs = 1, gradient_clip_val = config.clip, enable_checkpointing = false,
      }
    end
    train.TorchTrainer({
      train_loop_per_worker = train_func,
      train_loop_config = {how = arg[1], clip = tonumber(arg[2])},
      scaling_config = train.ScalingConfig {num_workers = 2},
      run_config = train.RunConfig {name = 'mine'},
    }):fit()
"""
)


def test_the_loss_in_train_loop(rtrain):
    result = rtrain.run_ok(LOOP, "--", "output")
    assert f"the loss is nan in step 3 on rank 1: {PLACES['output']}" in result.stderr
    assert result.stderr.count("FailureConfig") == 1


def test_a_gradient_in_train_loop(rtrain):
    """It is detected in the same step if gradients are clipped, otherwise by the next loss."""
    clipped = rtrain.run_ok(LOOP, "--", "gradient", "1")
    assert "the norm of the gradients is nan in step 2 on ranks 0-1: all 6 gradients are not finite" in clipped.stderr
    later = rtrain.run_ok(LOOP.replace("'mine'", "'later'"), "--", "gradient")
    assert "the loss is nan in step 3 on ranks 0-1: all 6 parameters are not finite" in later.stderr


def test_another_value_is_refused(rtrain):
    result = rtrain("exec", "-e", "require('rtrain').FailureConfig {on_nan = 'stop'}")
    assert result.returncode == 3
    assert "FailureConfig.on_nan = 'stop': expected 'warn' or 'error' or 'ignore'" in result.stderr


DATASET = """
    local torch, train = require 'torch', require 'rtrain'
    local data = train.data
    local function train_func()
      local model = train.torch.prepare_model(torch.nn.Linear(1, 1))
      local shard = train.get_dataset_shard 'train'
      for batch in shard:iter_torch_batches {batch_size = 4, dtypes = 'float32'} do
        local loss = (model(batch.x:reshape(-1, 1)) - batch.y:reshape(-1, 1)):pow(2):mean()
        loss:backward()
        train.report {loss = loss}
      end
    end
    train.TorchTrainer({
      train_loop_per_worker = train_func,
      datasets = {train = SOURCE},
      scaling_config = train.ScalingConfig {num_workers = 1},
      run_config = train.RunConfig {name = 'mine'},
    }):fit()
"""


def write_csv(folder, columns):
    path = folder / "a.csv"
    path.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(*columns.values())))
    return f"data.read_csv '{path}'", str(path)


def write_json(folder, columns):
    """JSON has no NaN: null is read as NaN where floats are requested."""
    path = folder / "a.jsonl"
    rows = [{"x": x, "y": y if y == y else None} for x, y in zip(*columns.values())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"data.read_json '{path}'", str(path)


def write_parquet(folder, columns):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not here: scripts/test --oracle installs it")
    import pyarrow

    path = folder / "a.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return f"data.read_parquet '{path}'", f"{path}, row group 0"


def write_numpy(folder, columns):
    numpy = pytest.importorskip("numpy", reason="numpy is not here: scripts/test --oracle installs it")
    paths = [folder / f"{name}.npy" for name in columns]
    for path, values in zip(paths, columns.values()):
        numpy.save(path, numpy.array(values))
    return f"data.read_numpy {{x = '{paths[0]}', y = '{paths[1]}'}}", f"{paths[0]} and {paths[1]}"


@pytest.mark.parametrize("write", [write_csv, write_json, write_parquet, write_numpy], ids=lambda fn: fn.__name__[6:])
def test_the_column_and_the_file_of_a_value_are_named(rtrain, write):
    columns = {"x": [i / 2 for i in range(12)], "y": [float("nan") if i in (6, 7) else i / 4 for i in range(12)]}
    source, label = write(rtrain.folder, columns)
    result = rtrain.run_ok(DATASET.replace("SOURCE", source))
    assert (
        "on rank 0: the parameters and the output of Linear are finite, and column 'y' of the last batch is nan in row 2 "
        f"(row 6 of {label}) and in 1 more (FailureConfig" in result.stderr
    ), result.stderr
    columns["x"][9] = columns["y"][9] = float("inf")
    columns["y"][6] = columns["y"][7] = 0.5
    if write is write_json:
        return  # JSON has no infinity
    source, label = write(rtrain.folder, columns)
    result = rtrain.run_ok(DATASET.replace("SOURCE", source).replace("'mine'", "'infinite'"))
    assert (
        "what Linear was called with is not finite, and column 'x' of the last batch is inf in row 1 "
        f"(row 9 of {label}) (FailureConfig" in result.stderr
    ), result.stderr
