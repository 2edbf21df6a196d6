-- tests/e2e/scripts/virtual_nets.lua: models, and what a training ended with, bit by bit, for runs with virtual workers.

local ordered = require 'base.ordered'
local torch = require 'torch'
local nn = torch.nn

local nets = {}

function nets.mlp() return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4)) end

function nets.plain() return nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)) end

function nets.conv()
  return nn.Sequential(nn.Unflatten(1, {1, 4, 4}), nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2),
    nn.Flatten(), nn.Linear(8 * 4, 4))
end

local Lstm = nn.Module:extend 'Lstm'

function Lstm:init()
  self.lstm = nn.LSTM(4, 12, {batch_first = true, num_layers = 2, dropout = 0.2})
  self.out = nn.Linear(12, 4)
end

function Lstm:forward(x) return self.out((self.lstm(x:view{-1, 4, 4})):select(1, 3)) end

function nets.lstm() return Lstm() end

function nets.transformer()
  return nn.Sequential(nn.Unflatten(1, {4, 4}), nn.TransformerEncoderLayer(4, 2, {dim_feedforward = 8, batch_first = true}),
    nn.Flatten(), nn.Linear(16, 4))
end

-- Returns the bits of all tensors in a nested map, in its order.
local function add(out, name, value)
  if type(value) == 'table' and not torch.is_tensor(value) then
    for _, key in ipairs(ordered.keys_of(value)) do add(out, name .. '.' .. tostring(key), value[key]) end
  elseif type(value) == 'userdata' and torch.is_tensor(value) then
    local numbers = value:detach():double():flatten():tolist()
    for i, number in ipairs(numbers) do numbers[i] = ('%a'):format(number) end
    out[#out + 1] = name .. ' ' .. table.concat(numbers, ' ')
  end
end

function nets.write(path, parts)
  local out = {}
  for _, name in ipairs(ordered.keys_of(parts)) do add(out, name, parts[name]:state_dict()) end
  local file = assert(io.open(path, 'w'))
  file:write(table.concat(out, '\n'), '\n')
  file:close()
end

return nets
