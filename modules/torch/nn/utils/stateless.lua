-- torch/nn/utils/stateless.lua: torch.nn.utils.stateless: calls modules with other parameters.

local args = require 'base.args'
local errors = require 'base.errors'
local ordered = require 'base.ordered'

local stateless = {}

-- Returns the place of each parameter and buffer: {name, module, field}; shared tensors appear under each name.
local function places(module)
  local found = {}
  for prefix, owner in module:named_modules() do
    for _, list in ipairs{'_parameters', '_buffers'} do
      for name in owner:_own(list) do
        found[#found + 1] = {prefix == '' and name or prefix .. '.' .. name, owner._fields, name}
      end
    end
  end
  return found
end

local function check_names(found, given)
  local known, names = {}, {}
  for i, place in ipairs(found) do known[place[1]], names[i] = true, place[1] end
  for _, name in ipairs(ordered.is(given) and ordered.keys(given) or {}) do
    if not known[name] then args.no_such('functional_call: the module', name, names) end
  end
  for name in next, given do
    if not known[name] then args.no_such('functional_call: the module', name, names) end
  end
end

-- Merges several tables.
local function merged(given)
  if #given == 0 then return given end
  local all = {}
  for _, each in ipairs(given) do
    for name, tensor in next, each do
      if all[name] then errors.raise('argument', ("functional_call: '%s' is in two of the tables"):format(name)) end
      all[name] = tensor
    end
  end
  return all
end

local signature = args.signature('functional_call', {'module', 'parameters_and_buffers', {'args', {}},
  {'tie_weights', true}})

-- Returns the temporary value for each place; with tied weights also for the other names of the same tensor.
local function replacements(found, given, ties)
  local by_tensor = {}
  for _, place in ipairs(found) do
    local new = given[place[1]]
    if new ~= nil and ties then by_tensor[place[2][place[3]]] = new end
  end
  return function(place)
    local old = place[2][place[3]]
    return given[place[1]] or by_tensor[old] or old
  end
end

---Calls a module with other tensors in place of its parameters and buffers; the module keeps its own. Arguments:
---module, parameters_and_buffers (name → tensor, or a list of such tables), args (a tensor or a list), {tie_weights =
---true: shared tensors are replaced under all their names}.
---@param ... any
---@return any ... the results of the module
---
---```lua
---local torch = require 'torch'
---local layer = torch.nn.Linear(2, 1)
---local call = torch.nn.utils.stateless.functional_call
---local y = call(layer, {weight = torch.ones(1, 2), bias = torch.zeros(1)}, torch.ones(1, 2))
---assert(y:item() == 2)
---```
function stateless.functional_call(...)
  -- As the last argument, a map of names would be treated as keywords.
  local first, second = ...
  if type(second) ~= 'table' then errors.raise('argument', 'functional_call: expected a table of names and tensors') end
  second = merged(second)
  local p = signature:bind(first, setmetatable({}, {}), select(3, ...))
  local found = places(first)
  check_names(found, second)
  local replacement, old = replacements(found, second, p.tie_weights), {}
  local new = {}
  for i, place in ipairs(found) do old[i], new[i] = place[2][place[3]], replacement(place) end
  for i, place in ipairs(found) do place[2][place[3]] = new[i] end
  local inputs = type(p.args) == 'table' and p.args or {p.args}
  local results = {pcall(first, unpack(inputs))}
  for i, place in ipairs(found) do
    -- Restores the module's own tensor if forward replaced a buffer.
    place[2][place[3]] = old[i]
  end
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2)
end

return require 'base.namespace'('torch.nn.utils.stateless', nil, stateless)
