-- Training in train.elastic whose ranks are killed at any moment: dropout, batch norm, a shuffled and prepared loader
-- with random samples, Adam, a scheduler, a scaler, numbers from torch and math.random on every rank. Makes no
-- checkpoints. With GPUs the gradients travel over NCCL, but all computation stays on the CPU: simulated devices
-- compute nothing. With `sharded` each rank has rows of the model, and a copy of another rank's.
--
-- Every rank writes its final state to `out`-rank-R: equal runs write equal bytes.

local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data

local Noisy = data.Dataset:extend('Noisy')
function Noisy:init(n) self.n = n end
function Noisy:len() return self.n end
function Noisy:get(i)
  local noise = torch.randn(8, {generator = data.sample_generator()})
  return torch.full({8}, i / self.n):add(noise:mul(0.1)), torch.tensor(i % 3, {dtype = 'int64'})
end

local function make_model()
  return torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(), torch.nn.Dropout(0.3),
    torch.nn.Linear(32, 3))
end

-- Returns this rank's rows of a sharded tensor, any other tensor itself.
local function own_rows(tensor)
  local is_sharded, rows = pcall(tensor.to_local, tensor)
  return is_sharded and rows or tensor
end

local function write_last(path, state)
  local tensors = {}
  for name, tensor in require('base.ordered').items(train.torch.unwrap(state.model):state_dict()) do
    tensors['model.' .. name] = own_rows(tensor)
  end
  for index, of_param in next, state.optimizer:state_dict().state do
    for _, name in ipairs {'step', 'exp_avg', 'exp_avg_sq'} do
      tensors[('optimizer.%d.%s'):format(index, name)] = own_rows(of_param[name]):clone()
    end
  end
  tensors.numbers = torch.tensor({state.step, state.epoch, state.scaler:get_scale(), state.scheduler:get_last_lr()[1],
                                  math.random()}, {dtype = 'float64'})
  tensors.random = torch.rand(3)
  torch.save_safetensors(tensors, path)
end

local function average_on_devices(model)
  for _, param in ipairs(model:parameters()) do
    local grad = param.grad:to 'cuda'
    torch.distributed.all_reduce(grad, 'avg')
    param.grad:copy_(grad:to 'cpu')
  end
end

local function train_func(config)
  torch.manual_seed(11)
  local model = make_model()
  local kwargs = config.sharded and {wrap = torch.nn.Linear, replicas = 1} or nil
  local strategy = {parallel_strategy = config.sharded and 'fsdp' or 'ddp', parallel_strategy_kwargs = kwargs}
  if not config.gpus then model = train.torch.prepare_model(model, strategy) end
  local rank = train.get_context():get_world_rank()
  torch.manual_seed(11 + rank)
  math.randomseed(17 + rank)
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.001})
  local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20, {gamma = 0.9})
  local scaler = torch.amp.GradScaler('cpu', {init_scale = 2 ^ 8, growth_interval = 30})
  local loader = train.torch.prepare_data_loader(data.DataLoader(Noisy(240), {batch_size = 4, shuffle = true}),
    {move_to_device = false})
  local criterion = torch.nn.CrossEntropyLoss()
  local state = train.state {
    model = model, optimizer = optimizer, scheduler = scheduler, scaler = scaler, loader = loader, epoch = 0, step = 0,
  }
  train.elastic(state, function()
    local ffi = require 'ffi'
    ffi.cdef 'int usleep(unsigned int);'
    while state.step < config.steps do
      loader.sampler:set_epoch(state.epoch)
      for x, y in loader do
        ffi.C.usleep(4000)  -- slows steps down, so that kills hit the run on a fast machine too
        optimizer:zero_grad()
        local loss = criterion(model(x:add(math.random() * 0.01)), y)
        scaler:scale(loss):backward()
        if config.gpus then average_on_devices(model) end
        scaler:step(optimizer)
        scaler:update()
        state.step = state.step + 1
        if state.step % 10 == 0 then train.report {step = state.step, loss = loss:item()} end
        state:commit()
        if state.step >= config.steps then break end
      end
      scheduler:step()
      state.epoch = state.epoch + 1
    end
  end)
  write_last(('%s-rank-%d'):format(config.out, rank), state)
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {steps = 400, out = 'last', gpus = false, sharded = false},
  scaling_config = train.ScalingConfig {num_workers = 4},
  run_config = train.RunConfig {name = 'elastic'},
}:fit()
