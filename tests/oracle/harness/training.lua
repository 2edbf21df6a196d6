-- Twenty training steps of a small network, and the layout of the optimizer's state_dict: the Lua side of
-- harness/training.py.

local ordered = require 'base.ordered'
local torch = require 'torch'

local training = {}

local STEPS = 20

---Returns a value of a state_dict as text.
---@param value any
---@return string
function training.scalar(value)
  if type(value) == 'table' then
    local parts = {}
    for i, item in ipairs(value) do parts[i] = training.scalar(item) end
    return '(' .. table.concat(parts, ' ') .. ')'
  end
  if value == torch.none then return 'none' end
  return type(value) == 'number' and ('%.10g'):format(value) or tostring(value)
end

local function sorted_names(state)
  local names = ordered.keys(state)
  table.sort(names)
  return names
end

local function described(name, value)
  if torch.is_tensor(value) then
    return ('%s:%s[%s]'):format(name, value.dtype, table.concat(value:size(), 'x'))
  end
  return type(value) == 'table' and ('%s:%d'):format(name, #value) or name
end

local function layout(optimizer)
  local state, count, names = optimizer:state_dict(), 0, {}
  for _ in next, state.state do count = count + 1 end
  for i, name in ipairs(state.state[0] and sorted_names(state.state[0]) or {}) do
    names[i] = described(name, state.state[0][name])
  end
  local out = {tostring(count), table.concat(names, ' ')}
  for _, group in ipairs(state.param_groups) do
    local fields = {}
    for name, value in ordered.items(group) do fields[#fields + 1] = name .. '=' .. training.scalar(value) end
    out[#out + 1] = table.concat(fields, ' ')
  end
  return out
end

local function sizes(optimizer, param)
  local state, out = optimizer.state[param], {}
  for _, name in ipairs(state and sorted_names(state) or {}) do
    if torch.is_tensor(state[name]) then out[#out + 1] = state[name]:to('complex128'):abs():sum():item() end
  end
  return torch.tensor(out)
end

local function make(spec, params)
  if spec.sparse then params = {params[1]} end
  local groups = {{params = params}}
  if spec.second then
    groups = {{params = {params[1], params[2]}}, {params = {unpack(params, 3)}}}
    for name, value in next, spec.second do groups[2][name] = value end
  end
  return torch.optim[spec.optimizer](groups, spec.options)
end

local function loss_of(params, x, y)
  if x.dtype == 'int64' then
    return (torch.embedding(params[1], x, {sparse = true}):mean(1):matmul(params[2]) - y):pow(2):mean()
  end
  if #params == 2 then return (x:matmul(params[1]):matmul(params[2]) - y):pow(2):mean() end
  local w1, b1, w2, b2 = unpack(params)
  local difference = torch.tanh(x:matmul(w1) + b1):matmul(w2) + b2 - y
  if x:is_complex() then difference = difference:abs() end
  return difference:pow(2):mean()
end

local function change(spec, optimizer, params)
  if spec.resume then
    local state = optimizer:state_dict()
    optimizer = make(spec, params)
    optimizer:load_state_dict(state)
  end
  for _, group in ipairs(optimizer.param_groups) do group.lr = group.lr / 2 end
  return optimizer
end

---Trains like the Python function of the same name.
---@param spec table {optimizer, options, second, resume, absent, sparse}
---@param x torch.Tensor
---@param y torch.Tensor
---@param ... torch.Tensor the first values of the parameters
---@return torch.Tensor params, torch.Tensor sizes of the first one's state, string[] layout of the dictionary
function training.run(spec, x, y, ...)
  local params = {...}
  for i, value in ipairs(params) do params[i] = value:clone():requires_grad_() end
  local optimizer = make(spec, params)
  for step = 0, STEPS - 1 do
    if step == STEPS / 2 then optimizer = change(spec, optimizer, params) end
    optimizer:step(function()
      optimizer:zero_grad()
      local loss = loss_of(params, x, y)
      loss:backward()
      if spec.absent and step % 3 == 1 then params[2].grad = nil end
      return loss
    end)
  end
  local values = {}
  for i, param in ipairs(params) do values[i] = param:detach():reshape(-1) end
  return torch.cat(values), sizes(optimizer, params[1]), layout(optimizer)
end

return training
