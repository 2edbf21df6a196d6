-- Compares the modules of an entry of ModuleInfo with the answers that modules.py has written.

local torch = require 'torch'
local values = require 'values'

local SEED = 42

local modules = {}

local function class_of(name)
  local ok, found = pcall(function() return torch.nn[name:match '[%w_]+$'] end)
  return ok and found or nil
end

local function state_problem(module, case)
  local text = tostring(module)
  if text ~= case.text then return ('print: %s, expected %s'):format(text, case.text) end
  local state = module:state_dict()
  local names = table.concat(torch.keys(state), ' ')
  if names ~= table.concat(case.names, ' ') then
    return ('names of the state: %s, expected %s'):format(names, table.concat(case.names, ' '))
  end
  local list = {}
  for _, tensor in torch.items(state) do list[#list + 1] = tensor end
  return values.list_problem(list, case.state, 'tensor of the state')
end

local function by_name_problem(module, case)
  local args = values.arguments(case.inputs, case.named)
  local given = #case.inputs < table.maxn(args) and args[#case.inputs + 1] or {}
  for i, name in ipairs(case.input_names) do given[name] = args[i] end
  torch.manual_seed(SEED)
  return values.list_problem(values.flat(module(given)), case.want, 'by name: result')
end

local function problem_of(class, case)
  local args, count = values.arguments(case.args, case.kwargs)
  torch.manual_seed(SEED)
  local module = class(unpack(args, 1, count)):train(case.training)
  local problem = state_problem(module, case)
  if problem then return problem end
  local inputs, given = values.arguments(case.inputs, case.named)
  torch.manual_seed(SEED)
  local results = {pcall(module, unpack(inputs, 1, given))}
  if not results[1] then
    if type(results[2]) ~= 'table' or results[2].code == 'internal' then return 'a bare error: ' .. tostring(results[2]) end
    return not case.fails and 'refused: ' .. tostring(results[2]) or nil
  end
  if case.fails then return 'Python refuses it: ' .. case.fails end
  local flat = values.flat(unpack(results, 2, table.maxn(results)))
  problem = values.list_problem(flat, case.want, 'result')
  if problem then return problem end
  if case.grads then
    local wanted = values.wanted(inputs, given, case.named)
    for _, param in ipairs(module:parameters()) do wanted[#wanted + 1] = param end
    problem = values.list_problem(values.gradients(flat, wanted), case.grads, 'gradient')
    if problem then return problem end
  end
  problem = values.list_problem(module:buffers(), case.buffers, 'buffer')
  if problem or not case.input_names or case.training and #case.buffers > 0 then return problem end
  return by_name_problem(module, case)
end

---@return integer count how many cases were tried
function modules.run(entry, report, progress)
  local class = class_of(entry.name)
  if class == nil then
    report('name', '', 'there is no such module')
    return 0
  end
  for _, case in ipairs(entry.calls) do
    progress(entry.entry .. ' ' .. case.id)
    local ok, problem = pcall(problem_of, class, case)
    if not ok or problem then report('module', case.id, tostring(problem)) end
  end
  return #entry.calls
end

return modules
