-- torch/tensor/local_tensors.lua: describes, for an operator's error, the tensors among the variables of the script's
-- function: 'with x float32 [8, 16], batch[1] int64 [8]'.

local frame = require 'base.errors.frame'

local MOST_TENSORS, MOST_ITEMS = 8, 4

local function is_tensor(engine, value) return type(value) == 'userdata' and engine.is_tensor(value) end

local function describe(name, tensor)
  local device = tostring(tensor.device)
  return ('%s %s [%s]%s'):format(name, tostring(tensor.dtype), table.concat(tensor.shape, ', '),
    device == 'cpu' and '' or ' ' .. device)
end

-- Adds a variable that is a tensor, or a list that begins with tensors.
local function add(engine, out, name, value)
  if is_tensor(engine, value) then
    out[#out + 1] = describe(name, value)
  elseif type(value) == 'table' and getmetatable(value) == nil then
    for i = 1, MOST_ITEMS do
      if is_tensor(engine, value[i]) then out[#out + 1] = describe(('%s[%d]'):format(name, i), value[i]) end
    end
  end
end

-- Of variables with the same name the last one is visible to the code.
local function text_of(engine, variables)
  local last, out = {}, {}
  for i, variable in ipairs(variables) do last[variable[1]] = i end
  for i, variable in ipairs(variables) do
    if last[variable[1]] == i and #out <= MOST_TENSORS then add(engine, out, variable[1], variable[2]) end
  end
  if #out == 0 then return nil end
  if #out > MOST_TENSORS then
    for i = #out, MOST_TENSORS + 1, -1 do out[i] = nil end
    out[#out + 1] = '…'
  end
  return 'with ' .. table.concat(out, ', ')
end

-- Returns whether the function is one of ATen's, or of nn.functional.
local function is_operator(engine, name)
  local functional = package.loaded['torch.nn.functional']
  return engine.op(name) ~= nil or engine.Tensor[name] ~= nil or
    type(functional) == 'table' and rawget(functional, name) ~= nil
end

---Describes the local tensors: errors.locals.
---@param level integer of lua_getstack, as the C function that calls this one counts
---@param operation string the failed operation
---@return string? text nil if the operation is not an operator, or the function has no tensors
return function(level, operation)
  local engine = package.loaded['torch._C']
  if type(engine) ~= 'table' then return nil end
  if not is_operator(engine, operation) then return nil end
  for at = level + 2, math.huge do
    local running = debug.getinfo(at, 'f')
    if running == nil then return nil end
    if frame.is_script(running.func) then return text_of(engine, frame.variables(at)) end
  end
end
