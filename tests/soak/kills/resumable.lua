-- Training whose result a kill at any moment must not change: dropout, batch norm, a shuffled and prepared loader with
-- random samples, Adam, a scheduler, a scaler, numbers from torch and math.random on every rank.
--
-- Saves every `save_every` steps, in the middle of epochs. Every rank writes its final state to `out`-rank-R. With `sharded`
-- each rank has its rows of the model, and of its optimizer.

local torch, train = require 'torch', require 'rtrain'
local shards = require 'torch.tensor.shards'
local data = torch.utils.data

local Noisy = data.Dataset:extend('Noisy')
function Noisy:init(n) self.n = n end
function Noisy:len() return self.n end
function Noisy:get(i)
  local noise = torch.randn(8, {generator = data.sample_generator()})
  return torch.full({8}, i / self.n):add(noise:mul(0.1)), torch.tensor(i % 3, {dtype = 'int64'})
end

-- A batch norm's buffers are those of each rank in a sharded model, and rank 0's in a checkpoint.
local function make_model(is_sharded)
  local norm = is_sharded and torch.nn.LayerNorm(32) or torch.nn.BatchNorm1d(32)
  return torch.nn.Sequential(torch.nn.Linear(8, 32), norm, torch.nn.ReLU(), torch.nn.Dropout(0.3),
    torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
end

local function prepared_model(is_sharded)
  local model = make_model(is_sharded)
  if not is_sharded then return train.torch.prepare_model(model) end
  return train.torch.prepare_model(model, {parallel_strategy = 'fsdp', parallel_strategy_kwargs = {wrap = torch.nn.Linear}})
end

local function whole(tensor) return shards.of(tensor) and tensor:full_tensor() or tensor:clone() end

-- Writes the whole final state and the next random numbers: equal runs write equal bytes.
local function write_last(path, state)
  local tensors = {}
  for name, tensor in require('base.ordered').items(train.torch.unwrap(state.model):state_dict()) do
    tensors['model.' .. name] = whole(tensor)
  end
  local of_params = state.optimizer:state_dict().state
  for index = 0, #state.model:parameters() - 1 do
    for _, name in ipairs {'step', 'exp_avg', 'exp_avg_sq'} do
      tensors[('optimizer.%d.%s'):format(index, name)] = whole(of_params[index][name])
    end
  end
  local numbers = {state.step, state.drawn, state.scaler:get_scale(), state.scheduler:get_last_lr()[1], math.random()}
  tensors.numbers = torch.tensor(numbers, {dtype = 'float64'})
  tensors.random = torch.rand(3)
  torch.save_safetensors(tensors, path)
end

local function train_func(config)
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(11 + rank)
  math.randomseed(17 + rank)
  local model = prepared_model(config.sharded)
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
  local scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.epochs)
  local scaler = torch.amp.GradScaler('cpu', {init_scale = 2 ^ 8, growth_interval = 3})
  local loader = train.torch.prepare_data_loader(data.DataLoader(Noisy(config.samples),
    {batch_size = 4, shuffle = true, num_workers = config.loader_threads}))
  local criterion = torch.nn.CrossEntropyLoss()

  local state = train.state {
    model = model, optimizer = optimizer, scheduler = scheduler, scaler = scaler, loader = loader,
    epoch = 0, step = 0, drawn = 0,
  }
  state:load(train.get_checkpoint())
  while state.epoch < config.epochs do
    loader.sampler:set_epoch(state.epoch)
    for x, y in loader do
      optimizer:zero_grad()
      local loss = criterion(model(x:add(math.random() * 0.01)), y)
      scaler:scale(loss):backward()
      scaler:step(optimizer)
      scaler:update()
      state.step = state.step + 1
      state.drawn = state.drawn + math.random() + torch.rand(1):item()
      if state.step % config.save_every == 0 then
        train.tempdir(function(dir)
          state:save(dir, {async = config.async})
          train.report({step = state.step, loss = loss:item()}, {
            checkpoint = train.Checkpoint.from_directory(dir), checkpoint_upload_mode = config.async and 'ASYNC' or 'SYNC'})
        end)
      else
        train.report {step = state.step, loss = loss:item()}
      end
      if config.slow_s > 0 then os.execute('sleep ' .. config.slow_s) end
    end
    scheduler:step()
    state.epoch = state.epoch + 1
  end
  write_last(('%s-rank-%d'):format(config.out, rank), state)
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {epochs = 3, samples = 60, save_every = 3, loader_threads = 0, slow_s = 0, async = false,
    sharded = false, out = 'last'},
  scaling_config = train.ScalingConfig {num_workers = 2},
  run_config = train.RunConfig {
    name = 'resumable', resume = 'auto', checkpoint_config = {num_to_keep = 2}, failure_config = {max_failures = -1},
  },
}:fit()
