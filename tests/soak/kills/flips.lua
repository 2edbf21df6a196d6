-- Training whose replicas are damaged: after some steps of the optimizers, before the commit, one rank flips a bit of a
-- parameter or of an optimizer's state. Tensors are float32, bfloat16 and int64, small and large.
--
-- A flip leaves a file flip-STEP that says what was changed. All ranks write what they end with: last-RANK.

local ordered = require 'base.ordered'
local files = require 'files'
local torch, train = require 'torch', require 'rtrain'
local nn = torch.nn

local Net = nn.Module:extend 'Net'

function Net:init()
  self.first = nn.Linear(16, 96)
  self.wide = nn.Linear(96, 96)
  self.half = nn.Linear(96, 24, {dtype = 'bfloat16'})
  self.last = nn.Linear(24, 4)
  self.order = nn.Parameter(torch.arange(24), {requires_grad = false})
end

function Net:forward(x)
  x = self.wide(self.first(x):relu()):relu()
  return self.last(self.half(x:to 'bfloat16'):float():index_select(1, self.order))
end

-- Returns all tensors that the replicas have in common, with the names that messages use.
local function tensors_of(state)
  local out = {}
  for name, param in train.torch.unwrap(state.model):named_parameters() do
    out[#out + 1] = {name = 'model.' .. name, tensor = param:detach()}
  end
  for _, part in ipairs {'adam', 'sgd'} do
    for i, param in ipairs(state[part].param_groups[1].params) do
      local of_param = state[part].state[param] or {}
      for _, name in ipairs(ordered.keys_of(of_param)) do
        local tensor = of_param[name]
        if torch.is_tensor(tensor) then out[#out + 1] = {name = ('%s.state[%d].%s'):format(part, i, name), tensor = tensor} end
      end
    end
  end
  return out
end

-- What is damaged in a step: the same on all ranks, and in a step that is made again.
local function draw(config, state)
  math.randomseed(config.seed * 1e6 + state.step)
  if math.random() > config.share then return nil end
  local tensors = tensors_of(state)
  local found = tensors[math.random(#tensors)]
  local bytes = found.tensor:view(-1):view 'uint8'
  return {
    rank = math.random(0, train.get_context():get_world_size() - 1), name = found.name, dtype = tostring(found.tensor.dtype),
    byte = bytes:narrow(0, math.random(0, bytes:numel() - 1), 1), bit = math.random(0, 7),
  }
end

local function flip(flipped, step)
  local path = 'flip-' .. step
  if files.exists(path) then return nil end  -- the step is made again
  files.write(path, ('%d %s %s %d\n'):format(flipped.rank, flipped.name, flipped.dtype, flipped.bit))
  local right = flipped.byte:item()
  flipped.byte:bitwise_xor_(2 ^ flipped.bit)
  return right
end

local function save(state)
  train.tempdir(function(dir)
    state:save(dir)
    train.report({step = state.step}, {checkpoint = train.Checkpoint.from_directory(dir)})
  end)
end

local function train_func(config)
  torch.manual_seed(config.seed)
  local rank = train.get_context():get_world_rank()
  local model = train.torch.prepare_model(Net())
  local net = train.torch.unwrap(model)
  local adam = torch.optim.AdamW({net.first.weight, net.first.bias, net.half.weight, net.half.bias}, {lr = 0.002})
  local sgd = torch.optim.SGD({net.wide.weight, net.wide.bias, net.last.weight, net.last.bias}, {lr = 0.01, momentum = 0.9})
  local state = train.state {model = model, adam = adam, sgd = sgd, step = 0, flips = 0}
  state:load(train.get_checkpoint())
  train.elastic(state, function()
    while state.flips < config.flips do
      state.step = state.step + 1
      local generator = torch.Generator():manual_seed(100 * state.step + rank)
      adam:zero_grad()
      sgd:zero_grad()
      model(torch.randn({4, 16}, {generator = generator})):pow(2):mean():backward()
      adam:step()
      sgd:step()
      local flipped = draw(config, state)
      if flipped then state.flips = state.flips + 1 end
      local right = flipped and flipped.rank == rank and not config.calm and flip(flipped, state.step)
      state:commit()
      assert(not right or flipped.byte:item() == right, flipped and flipped.name .. ' was not given back')
      if config.save_every > 0 and state.step % config.save_every == 0 then save(state) end
    end
  end)
  local tensors = ordered.new()
  for _, each in ipairs(tensors_of(state)) do tensors[each.name] = each.tensor:clone() end
  torch.save_safetensors(tensors, 'last-' .. rank)
end

train.TorchTrainer {
  train_loop_per_worker = train_func,
  train_loop_config = {seed = 1, flips = 100, share = 0.5, save_every = 0, calm = false},
  scaling_config = train.ScalingConfig {num_workers = 3},
  run_config = train.RunConfig {name = 'flips',
    failure_config = train.FailureConfig {verify_replicas = 1, max_failures = -1}},
}:fit()
