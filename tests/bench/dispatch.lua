-- Nanoseconds per eager operation from Lua, the twin of peers/dispatch.py; prints "name<TAB>ns", the least of all.
local torch = require 'torch'
local nn = require 'torch.nn'
local F = require 'torch.nn.functional'
local optim = require 'torch.optim'
local clock = require 'events'

local function make_cases()
  torch.manual_seed(0)
  local x, y = torch.randn(4), torch.randn(4)
  local a, b = torch.randn(8, 8), torch.randn(8, 8)
  local batch, weight, bias = torch.randn(8, 32), torch.randn(32, 32), torch.randn(32)
  local leaf = torch.randn(4, {requires_grad = true})
  local layer = nn.Linear(32, 32)
  local net = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
  local labels = torch.randint(0, 10, {8})
  local sgd = optim.SGD(net:parameters(), {lr = 1e-3})
  local adamw = optim.AdamW(net:parameters(), {lr = 1e-3})

  local function train_step(optimizer)
    optimizer:zero_grad()
    F.cross_entropy(net(batch), labels):backward()
    optimizer:step()
  end

  return {
    {'empty', 1, function() end},
    {'add', 1, function() return x + y end},
    {'mm', 1, function() return a:mm(b) end},
    {'view', 1, function() return a:view(64) end},
    {'linear', 1, function() return F.linear(batch, weight, bias) end},
    {'add_scalar', 1, function() return x + 1 end},
    {'add_', 1, function() return x:add_(y) end},
    {'mul_grad', 1, function() return leaf * y end},
    {'relu', 1, function() return torch.relu(x) end},
    {'sum', 1, function() return a:sum() end},
    {'select', 1, function() return a[0] end},
    {'item', 1, function() return y[0]:item() end},
    {'nn_linear', 2, function() return layer(batch) end},
    {'mlp_forward', 5, function() return net(batch) end},
    {'backward', 10, function() (leaf * y):sum():backward() end},
    {'mlp_step_sgd', 50, function() train_step(sgd) end},
    {'mlp_step_adamw', 50, function() train_step(adamw) end},
  }
end

local function nanoseconds(case, calls)
  local start = clock.now()
  for _ = 1, calls do case() end
  return (clock.now() - start) * 1e9 / calls
end

local calls, repeats = tonumber(arg[1]), tonumber(arg[2])
torch.set_num_threads(1)
for _, entry in ipairs(make_cases()) do
  local name, divisor, case = entry[1], entry[2], entry[3]
  local count = math.max(1, math.floor(calls / divisor))
  nanoseconds(case, math.max(1, math.floor(count / 10)))
  local best = math.huge
  for _ = 1, repeats do best = math.min(best, nanoseconds(case, count)) end
  io.write(('%s\t%.1f\n'):format(name, best))
end
