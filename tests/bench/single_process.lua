-- One process, one thread: training steps, optimizer steps, memory over many steps. Prints "name<TAB>number" lines.
-- Twin of peers/single_process.py: change both.
--
--   single_process.lua steps|optimizers|memory quick|full
local torch = require 'torch'
local clock = require 'events'
local models = require 'vision.models'
local nn, F, optim = torch.nn, torch.nn.functional, torch.optim

torch.set_num_threads(1)
torch.manual_seed(0)
local quick = arg[2] == 'quick'

local function mlp()
  return nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
end

local function median(values)
  table.sort(values)
  return values[math.ceil(#values / 2)]
end

-- Returns the median milliseconds of a step.
local function milliseconds(step, count)
  local times = {}
  for _ = 1, math.ceil(count / 10) do step() end
  for i = 1, count do
    local start = clock.now()
    step()
    times[i] = (clock.now() - start) * 1e3
  end
  return median(times)
end

local function training(model, optimizer, x, y)
  return function()
    optimizer:zero_grad()
    local loss = F.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    return loss
  end
end

local function print_step(name, step, count)
  io.write(('%s\t%.6f\n'):format(name, milliseconds(step, quick and 3 or count)))
end

local function steps()
  local small, labels = torch.randn(8, 32), torch.randint(0, 10, {8})
  local images, digits = torch.randn(64, 1, 28, 28), torch.randint(0, 10, {64})
  local colours, classes = torch.randn(8, 3, 32, 32), torch.randint(0, 10, {8})
  local net = mlp()
  print_step('mlp_sgd', training(net, optim.SGD(net:parameters(), {lr = 1e-3}), small, labels), 4000)
  net = mlp()
  print_step('mlp_adamw', training(net, optim.AdamW(net:parameters(), {lr = 1e-3}), small, labels), 4000)
  net = models.ConvNet()
  print_step('convnet', training(net, optim.Adadelta(net:parameters(), {lr = 1}), images, digits), 60)
  net = models.resnet18{num_classes = 10}
  print_step('resnet18', training(net, optim.SGD(net:parameters(), {lr = 0.01, momentum = 0.9}), colours, classes), 30)
end

local function optimizers()
  for _, name in ipairs{'AdamW', 'Adadelta', 'RMSprop', 'NAdam', 'SGD'} do
    local parameters = {}
    for i = 1, 200 do
      parameters[i] = nn.Parameter(i % 2 == 0 and torch.randn(64) or torch.randn(64, 64))
      parameters[i].grad = torch.randn_like(parameters[i])
    end
    local optimizer = optim[name](parameters, {lr = 1e-3})
    print_step(name, function() optimizer:step() end, 300)
  end
end

local function resident_mib(name)
  for line in io.lines('/proc/self/status') do
    local kib = line:match('^' .. name .. ':%s+(%d+)')
    if kib then return tonumber(kib) / 1024 end
  end
end

local function memory()
  local net = models.ConvNet()
  local step = training(net, optim.SGD(net:parameters(), {lr = 1e-3}), torch.randn(4, 1, 28, 28),
    torch.randint(0, 10, {4}))
  local count = quick and 20 or 10000
  local at_tenth
  for i = 1, count do
    step()
    if i == count / 10 then at_tenth = resident_mib 'VmRSS' end
  end
  io.write(('growth\t%.4f\npeak\t%.1f\n'):format(resident_mib 'VmRSS' / at_tenth, resident_mib 'VmHWM'))
end

({steps = steps, optimizers = optimizers, memory = memory})[arg[1]]()
