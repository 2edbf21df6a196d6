-- A network of two layers on data of your own: replace make_data and the model.
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'torch.utils.data'
local nn, F = torch.nn, torch.nn.functional

-- Points in the plane; 1 inside of a circle, 0 outside.
local function make_data()
  local x = torch.rand(2048, 2, {generator = torch.Generator(0)}) * 2 - 1
  return data.TensorDataset(x, (x * x):sum(1, {keepdim = true}):lt(0.6):float())
end

-- `rtrain predict` finds it by this name.
local function build_model(config)
  return nn.Sequential(nn.Linear(2, config.hidden), nn.ReLU(), nn.Linear(config.hidden, 1))
end

local function train_func(config)
  torch.manual_seed(config.seed)
  -- Each worker takes its part of the batches; the gradients are averaged over all of them.
  local loader = train.torch.prepare_data_loader(
    data.DataLoader(make_data(), {batch_size = config.batch_size, shuffle = true}))
  local model = train.torch.prepare_model(build_model(config))
  local optimizer = torch.optim.Adam(model:parameters(), {lr = config.lr})

  for epoch = 1, config.epochs do
    loader.sampler:set_epoch(epoch)
    local total, correct, seen = 0, 0, 0
    for x, y in loader do
      local output = model(x)
      local loss = F.binary_cross_entropy_with_logits(output, y)
      optimizer:zero_grad()
      loss:backward()
      optimizer:step()
      total, seen = total + loss:item() * #y, seen + #y
      correct = correct + output:gt(0):eq(y:gt(0.5)):sum():item()
    end
    train.tempdir(function(dir)
      torch.save(train.torch.unwrap(model):state_dict(), dir .. '/model.pt')
      train.report({epoch = epoch, loss = total / seen, accuracy = correct / seen},
        {checkpoint = train.Checkpoint.from_directory(dir)})
    end)
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {lr = 0.01, hidden = 32, batch_size = 64, epochs = 10, seed = 0},
  scaling_config = train.ScalingConfig {num_workers = 1},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {
    num_to_keep = 2, checkpoint_score_attribute = 'accuracy', checkpoint_score_order = 'max'}},
}:fit()
