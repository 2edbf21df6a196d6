-- Compares calls of an entry of OpInfo with the answers that operators.py has written.

local torch = require 'torch'
local values = require 'values'

local F = torch.nn.functional
local SEED = 42

local operators = {}

-- Python's operators on a number and a tensor, indexing, and names that are reserved in Lua.
local SPECIAL = {
  __radd__ = function(x, y) return y + x end, __rsub__ = function(x, y) return y - x end,
  __rmul__ = function(x, y) return y * x end, __rdiv__ = function(x, y) return y / x end,
  __rmod__ = function(x, y) return y % x end, __rpow__ = function(x, y) return y ^ x end,
  __rmatmul__ = function(x, y) return torch.matmul(y, x) end,
  __rand__ = function(x, y) return torch.bitwise_and(x, y) end, __ror__ = function(x, y) return torch.bitwise_or(x, y) end,
  __rxor__ = function(x, y) return torch.bitwise_xor(x, y) end,
  __getitem__ = function(x, ...)
    local index = {...}
    if #index == 1 and type(index[1]) == 'table' and not torch.is_tensor(index[1]) then index = index[1] end
    return x[index]
  end,
  ['repeat'] = function(x, ...) return x:repeat_(...) end,
  -- The database passes these arguments in another order.
  einsum = function(operands, equation) return torch.einsum(equation, operands) end,
  polygamma = function(x, n, ...) return torch.polygamma(n, x, ...) end,
  ['special.polygamma'] = function(x, n, ...) return torch.special.polygamma(n, x, ...) end,
  where = function(x, condition, ...) return torch.where(condition, x, ...) end,
  ['nn.functional.embedding'] = function(weight, indices, ...) return F.embedding(indices, weight, ...) end,
  ['nn.functional.embedding_bag'] = function(weight, indices, ...) return F.embedding_bag(indices, weight, ...) end,
}

-- Gives the errors of the test's own functions a code, as all other functions do.
for name, fn in next, SPECIAL do
  SPECIAL[name] = function(...)
    local results = {pcall(fn, ...)}
    if results[1] then return unpack(results, 2, table.maxn(results)) end
    local err = results[2]
    local is_ours = type(err) == 'string' and err:find('databases/operators.lua', 1, true)
    error(is_ours and {code = 'argument'} or err, 0)
  end
end

local function found(owner, name)
  local ok, value = pcall(function() return owner[name] end)
  return ok and value or nil
end

-- Returns the function of an entry: torch.linalg.inv, F.relu, else the method of that name.
local function function_of(name)
  if SPECIAL[name] then return SPECIAL[name] end
  local owner, last = torch, name
  for part, rest in name:gmatch '([%w_]+)%.()' do
    owner = type(owner) == 'table' and found(owner, part) or nil
    if owner == nil then return nil end
    last = name:sub(rest)
  end
  local fn = found(owner, last)
  if type(fn) == 'function' then return fn end
  if not found(torch.ones(1, 1), last) then return nil end
  return function(x, ...)
    if not torch.is_tensor(x) then error({code = 'argument'}, 0) end
    local value = x[last]
    if type(value) == 'function' then return value(x, ...) end
    return value
  end
end

local function method_of(name)
  local last = name:match '[%w_]+$'
  if SPECIAL[last] then return SPECIAL[last] end
  return function(x, ...)
    local value = x[last]
    if type(value) ~= 'function' then return value end  -- an attribute: x.T
    return value(x, ...)
  end
end

local function callee(entry, form)
  if form == 'method' then return method_of(entry.name) end
  local fn = function_of(entry.name)
  if form ~= 'inplace' then return fn end
  if entry.name:match '^nn%.functional' then
    return function(...)
      local args, count = {...}, select('#', ...)
      local last = args[count]
      if type(last) ~= 'table' or torch.is_tensor(last) or #last > 0 then
        count = count + 1
        args[count] = {}
      end
      args[count].inplace = true
      return fn(unpack(args, 1, count))
    end
  end
  return method_of(entry.name:match '[%w_]+$':gsub('_*$', '') .. '_')
end

local function bare_error(err)
  if type(err) ~= 'table' or err.code == nil then return 'an error without a code: ' .. tostring(err) end
  if err.code == 'internal' then return "an error of code 'internal': " .. tostring(err) end
end

---Returns the problem of a call, or nil.
---@param fn function
---@param case table of operators.py
---@param shape_only boolean numbers do not count
---@return string|nil
function operators.problem(fn, case, shape_only)
  local args, count = values.arguments(case.args, case.kwargs)
  torch.manual_seed(SEED)
  local results = {pcall(fn, unpack(args, 1, count))}
  if not results[1] then
    local bare = bare_error(results[2])
    if bare then return bare end
    return not case.fails and ('refused: ' .. tostring(results[2])) or nil
  end
  if case.fails then return 'Python refuses it: ' .. case.fails end
  local flat = values.flat(select(2, unpack(results, 1, table.maxn(results))))
  local problem = values.list_problem(flat, case.want, 'result', shape_only)
  if problem then return problem end
  if case.same and flat[1] ~= args[1] then return 'the result is not the tensor it was called on' end
  if case.form == 'out' then
    local out = args[count].out
    local is_out = flat[1] == (torch.is_tensor(out) and out or out[1])
    if not is_out and flat[1] ~= torch.none then return 'the result is not the tensor in out' end
  end
  if not case.grads then return nil end
  return values.list_problem(values.gradients(flat, values.wanted(args, count, case.kwargs)), case.grads, 'gradient')
end

local WRONG = {3, 'x', true, {}, {1, 'a'}, {2, 2}, torch.none, torch.ones(2, {dtype = 'int64'}), -1, 0.5}

---Calls an entry's function with one wrong argument or with an unknown keyword. A value or an error is fine, except an
---error without a code or with code 'internal'.
---@param fn function
---@param case table
---@param report fun(id: string, problem: string)
---@return integer count
function operators.call_wrongly(fn, case, report)
  local calls = 0
  local function try(id, change)
    local args, count = values.arguments(case.args, case.kwargs)
    count = change(args, count) or count
    calls = calls + 1
    local ok, err = pcall(fn, unpack(args, 1, count))
    local bare = not ok and bare_error(err)
    if bare then report(id, bare) end
  end
  for place = 1, #case.args do
    for i, wrong in ipairs(WRONG) do
      try(('argument %d is wrong value %d'):format(place, i), function(args) args[place] = wrong end)
    end
    try(('argument %d is missing'):format(place), function(args) args[place] = nil end)
  end
  try('unknown keyword', function(args, count)
    if next(case.kwargs) == nil then
      args[count + 1] = {nonsense = 1}
      return count + 1
    end
    args[count].nonsense = 1
  end)
  for _, name in ipairs(torch.keys(case.kwargs)) do
    for i, wrong in ipairs(WRONG) do
      try(('keyword %s is wrong value %d'):format(name, i), function(args, count) args[count][name] = wrong end)
    end
  end
  return calls
end

---Runs the calls of an entry.
---@param entry table of operators.py
---@param report fun(form: string, id: string, problem: string)
---@param progress fun(text: string)
---@return integer count how many calls were made
function operators.run(entry, report, progress)
  local count, first = 0, nil
  if function_of(entry.name) == nil then
    report('name', '', 'there is no such function or method')
    return 0
  end
  for _, case in ipairs(entry.calls) do
    progress(('%s %s %s'):format(entry.entry, case.form, case.id))
    count = count + 1
    local ok, problem = pcall(operators.problem, callee(entry, case.form), case, entry.shape_only)
    if not ok or problem then report(case.form, case.id, ok and problem or 'the comparison failed: ' .. tostring(problem)) end
    if case.form == 'function' and not case.fails then first = first or case end
  end
  if first then
    progress(entry.entry .. ' with wrong arguments')
    count = count + operators.call_wrongly(callee(entry, 'function'), first, function(id, problem)
      report('wrong', id, problem)
    end)
  end
  return count
end

return operators
