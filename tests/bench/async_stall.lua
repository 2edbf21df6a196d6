-- A loop of equal steps on one thread that sometimes saves 400 MB without waiting; the twin of peers/async_stall.py.
local torch = require 'torch'
local train = require 'rtrain'

local function make_state()
  local state = {}
  for i = 1, 16 do state['layer' .. i] = torch.full({6250000}, i) end
  return state
end

local function train_func(config)
  local clock = require 'events'
  local events = clock.open(config.events, 0)
  local state, a, b = make_state(), torch.randn(700, 700), torch.randn(700, 700)
  local saving
  for step = 1, config.steps do
    local start = clock.now()
    for _ = 1, 4 do torch.mm(a, b) end
    local seconds = clock.now() - start
    events:mark(saving and not saving:done() and 'during' or 'normal', seconds)
    if step % config.every == 0 then
      start = clock.now()
      train.tempdir(function(dir)
        saving = train.async_save(state, dir .. '/state.pt')
        train.report({step = step}, {checkpoint = train.Checkpoint.from_directory(dir), checkpoint_upload_mode = 'ASYNC'})
      end)
      events:mark('stall', clock.now() - start)
    end
  end
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {steps = 600, every = 100, events = '.'},
  scaling_config = train.ScalingConfig {num_workers = 1, resources_per_worker = {CPU = 1}},
  run_config = train.RunConfig {checkpoint_config = train.CheckpointConfig {num_to_keep = 1}},
}:fit()
