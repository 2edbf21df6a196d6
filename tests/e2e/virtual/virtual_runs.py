"""A training over virtual workers, and what it ended with."""

SCRIPT = """
local nets = require 'virtual_nets'
local torch, train = require 'torch', require 'rtrain'
local data = torch.utils.data

-- Counts each sample once: the loader is not padded, and ranks add up their counts behind the loop.
local function evaluate(model, set, scaler)
  local loader = train.torch.prepare_data_loader(data.DataLoader(set, {batch_size = 4}), {padding = false})
  local counts = torch.zeros(2)
  model:eval()
  torch.no_grad(function()
    for x, y in loader do
      counts[0]:add_(x:size(0))
      counts[1]:add_(model(x):argmax(1):eq(y):sum())
    end
  end)
  torch.distributed.all_reduce(counts)
  return {samples = counts[0], correct = counts[1], scale = scaler:get_scale()}
end

local function train_func(config)
  torch.manual_seed(3)
  local x, y = torch.randn(config.samples, 16), torch.randint(0, 4, {config.samples})
  local model = train.torch.prepare_model(nets[config.net]())
  if config.start ~= '' and train.get_context():get_world_rank() == 0 then
    torch.save({model = model.module:state_dict(), x = x, y = y}, config.start)
  end
  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
  local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, {gamma = 0.9})
  local loader = train.torch.prepare_data_loader(data.DataLoader(data.TensorDataset(x, y), {
    batch_size = 5, shuffle = true, num_workers = config.loaders, drop_last = config.drop_last}))
  local scaler = torch.amp.GradScaler('cpu', {init_scale = 1024, growth_interval = 3, enabled = config.extras})
  local average = torch.optim.swa_utils.AveragedModel(model.module or model, {
    multi_avg_fn = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers = true})
  local state = train.state {model = model, optimizer = optimizer, scheduler = scheduler, loader = loader, step = 0, epoch = 0}
  state:load(train.get_checkpoint())
  while state.epoch < config.epochs do
    loader.sampler:set_epoch(state.epoch)
    for i, bx, by in loader:enumerate() do
      state.step = state.step + 1
      if state.step == config.stop_at then error 'stopped' end
      local loss = torch.nn.functional.cross_entropy(model(bx), by)
      scaler:scale(loss):backward()
      scaler:unscale_(optimizer)
      local norm = torch.nn.utils.clip_grad_norm_(model:parameters(), 0.5)
      if (i + 1) % config.accumulate == 0 then
        scaler:step(optimizer)
        scaler:update()
        optimizer:zero_grad()
        scheduler:step()
        if config.extras then average:update_parameters(model.module) end
      end
      local metrics = {loss = loss, norm = norm, step = state.step, i = i, drawn = torch.rand({}), lua = math.random()}
      if config.save_every > 0 and state.step % config.save_every == 0 then
        train.tempdir(function(dir)
          state:save(dir)
          train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
        end)
      else
        train.report(metrics)
      end
    end
    state.epoch = state.epoch + 1
  end
  local drawn = torch.rand({}):item()
  if config.extras then train.report(evaluate(model, data.TensorDataset(x, y), scaler)) end
  if train.get_context():get_world_rank() == 0 then
    nets.write(config.out, {model = model.module, optimizer = optimizer, average = average})
  end
  return drawn
end

local result = train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {net = 'mlp', samples = 205, epochs = 2, loaders = 0, accumulate = 1, drop_last = false, out = 'out',
                       save_every = 0, stop_at = 0, start = '', extras = false},
  torch_config = BACKEND and train.TorchConfig {backend = BACKEND} or nil,
  scaling_config = train.ScalingConfig {num_workers = 1, virtual_workers = VIRTUAL},
  run_config = train.RunConfig {name = NAME},
}:fit()
if result.return_value then print('drawn ' .. result.return_value) end
"""


def text(virtual=8, backend=None, name=None):
    backend = f"'{backend}'" if backend else "nil"
    name = f"'{name}'" if name else "nil"
    return SCRIPT.replace("BACKEND", backend).replace("VIRTUAL", str(virtual)).replace("NAME", name)


def set_all(settings):
    return [arg for setting in settings for arg in ("--set", setting)]


def train(rtrain, workers, settings=(), *args, **kwargs):
    """Returns what the run ended with: parameters and optimizer state, its reports, the next random number."""
    out = rtrain.folder / "out"
    out.unlink(missing_ok=True)
    result = rtrain.run_ok(text(**kwargs), "-n", str(workers), "--oversubscribe", *set_all(settings), *args)
    drawn = [line for line in result.stdout.splitlines() if line.startswith("drawn")]
    return out.read_text() if out.exists() else None, rtrain.reports(), drawn
