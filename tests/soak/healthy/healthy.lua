-- A training in which no rank is slow, for a number of seconds.
local torch, train = require 'torch', require 'rtrain'

local function train_func(config)
  local nn, data = torch.nn, torch.utils.data
  torch.set_num_threads(1)
  local NETS = {
    mlp = function() return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)), {128} end,
    wide = function() return nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)), {512} end,
    conv = function()
      return nn.Sequential(nn.Conv2d(3, 16, 3, {padding = 1}), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, {stride = 2}), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10)), {3, 32, 32}
    end,
  }
  local net, shape = NETS[config.net]()
  local set = data.TensorDataset(torch.randn(config.samples, unpack(shape)), torch.randint(0, 10, {config.samples}))
  local loader = train.torch.prepare_data_loader(
    data.DataLoader(set, {batch_size = config.batch_size, shuffle = true, num_workers = config.threads}))
  local model = train.torch.prepare_model(net)
  local optimizer = torch.optim.AdamW(model:parameters(), {lr = 1e-3})
  local rank = train.get_context():get_world_rank()

  local function evaluate()
    for _ = 1, 5 do model.module(torch.randn(config.batch_size, unpack(shape))) end
  end
  local function save(step)
    if config.saves == 'none' or config.saves == 'first' and rank > 0 then return train.report{step = step} end
    train.tempdir(function(folder)
      torch.save(model:state_dict(), folder .. '/model-' .. rank .. '.pt')
      train.report({step = step}, {checkpoint = train.Checkpoint.from_directory(folder),
                                   checkpoint_upload_mode = config.saves == 'async' and 'ASYNC' or 'SYNC'})
    end)
  end

  local until_s = os.time() + config.seconds
  local is_over, step = torch.zeros(1), 0
  while is_over:item() == 0 do
    for x, y in loader do
      optimizer:zero_grad()
      nn.functional.cross_entropy(model(x), y):backward()
      optimizer:step()
      step = step + 1
      if step % config.report_every == 0 then save(step) end
    end
    if config.evaluates and rank == 0 then evaluate() end
    if rank == 0 and os.time() >= until_s then is_over:fill_(1) end
    torch.distributed.broadcast(is_over, 0)
  end
end

train.TorchTrainer{
  train_loop_per_worker = train_func,
  train_loop_config = {net = 'mlp', samples = 512, batch_size = 16, threads = 0, saves = 'none', report_every = 20,
                       evaluates = false, seconds = 60},
  scaling_config = train.ScalingConfig{num_workers = 2},
  run_config = train.RunConfig{name = 'healthy', checkpoint_config = train.CheckpointConfig{num_to_keep = 1}},
}:fit()
