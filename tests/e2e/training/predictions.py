"""A run that classifies shapes, and rtrain predict with its model."""

import json

import pytest

# A network for drawn shapes. The accuracy covers all images of the test set, which is written as Parquet and idx.
SCRIPT = """
    local torch, train, data = require 'torch', require 'rtrain', require 'rtrain.data'
    local datasets = require 'vision.datasets'
    local nn, F = torch.nn, torch.nn.functional

    local ConvNet = nn.Module:extend 'ConvNet'
    function ConvNet:init()
      self.conv, self.norm, self.fc = nn.Conv2d(1, 8, 5), nn.BatchNorm2d(8), nn.Linear(8 * 6 * 6, 10)
      self.dropout = nn.Dropout(0.2)
    end
    function ConvNet:forward(x)
      x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 4)
      return self.fc(self.dropout(torch.flatten(x, 1)))
    end

    local function images_of(is_train)
      local set = datasets.shapes10{train = is_train, n = is_train and 1200 or 333, size = 28, channels = 1}
      return set.data:view(-1, 28, 28), set.targets
    end

    local function preprocess(batch) return batch.image:unsqueeze(1):float():div(255) end

    local function train_func(config)
      torch.manual_seed(1)
      torch.set_num_threads(1)
      local x, y = images_of(true)
      local net = ConvNet()
      local model = train.torch.prepare_model(net)
      local optimizer = torch.optim.Adam(model:parameters(), {lr = config.lr})
      local rank = train.get_context():get_world_rank()
      for epoch = 1, config.epochs do
        model:train()
        for at = rank * 60, 1140, 120 do
          local loss = F.cross_entropy(model(preprocess{image = x:narrow(0, at, 60)}), y:narrow(0, at, 60))
          optimizer:zero_grad()
          loss:backward()
          optimizer:step()
        end
        model:eval()
        local tx, ty = images_of(false)
        local right = torch.no_grad(function() return net(preprocess{image = tx}):argmax(1):eq(ty):sum():item() end)
        train.tempdir(function(dir)
          if rank > 0 then return train.report{right = right} end
          torch.save({model = model:state_dict(), epoch = epoch}, dir .. '/model.pt')
          train.report({right = right}, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
      end
    end

    local tx, ty = images_of(false)
    data.from_tensors{image = tx, label = ty}:write_parquet(arg[1] .. '/test', {mode = 'ignore'})
    train.TorchTrainer{
      train_loop_per_worker = train_func,
      train_loop_config = {lr = 0.01, epochs = 5},
      scaling_config = train.ScalingConfig{num_workers = 2},
      run_config = train.RunConfig{name = 'shapes', checkpoint_config = {checkpoint_score_attribute = 'right'}},
    }:fit()
    """


@pytest.fixture
def trained(rtrain):
    """A run whose script was deleted, and the predictions that it reported for its best checkpoint."""
    script = rtrain.script(SCRIPT)
    result = rtrain("run", script, "--", rtrain.folder)
    assert result.returncode == 0, result.stdout + result.stderr
    script.unlink()
    best = next(row for row in json.loads(rtrain("checkpoint", "ls", "shapes", "--json").stdout) if row["best"])
    return best["metrics"]["right"]


def predict(rtrain, *args):
    result = rtrain("predict", *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return result
