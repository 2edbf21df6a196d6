-- torch/func/vmap.lua: torch.func.vmap: calls a function of single samples on a batch at once.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local torch = require 'torch'

local mapping = {}

local function C() return require 'torch._C' end
local function fail(message, ...) errors.raise('argument', 'torch.func.vmap: ' .. message:format(...)) end
local function is_branch(value) return type(value) == 'table' and not class.of(value) end

-- Calls fn(value, dim) for each leaf of a tree with its dimension in `dims`, and returns the tree of results.
local function map_with(value, dims, what, fn)
  if not is_branch(value) then
    if dims ~= torch.none and type(dims) ~= 'number' then fail('%s: a dimension is a number or torch.none', what) end
    return fn(value, dims)
  end
  local new = ordered.is(value) and ordered.new() or setmetatable({}, getmetatable(value))
  for _, key in ipairs(ordered.keys_of(value)) do
    local dim = dims
    if is_branch(dims) then dim = dims[key] end
    if dim == nil then fail("%s has no dimension for '%s': torch.none means that it is not mapped", what, tostring(key)) end
    new[key] = map_with(value[key], dim, what, fn)
  end
  return new
end

local function each_argument(given, count, in_dims, fn)
  local out = {}
  for i = 1, count do
    local dims = in_dims
    if is_branch(in_dims) then dims = in_dims[i] end
    if dims == nil then fail('in_dims has %d entries, and the function was called with %d arguments', #in_dims, count) end
    out[i] = map_with(given[i], dims, 'in_dims', fn)
  end
  return out
end

local function check_input(x, dim)
  if not torch.is_tensor(x) then
    fail('in_dims is %d for an argument that is a %s: torch.none means that it is not mapped', dim, type(x))
  end
  if dim < -x:dim() or dim >= x:dim() then
    local advice = x:dim() == 0 and ': torch.none means that it is not mapped' or ''
    fail('in_dims is %d for a tensor of %d dimensions%s', dim, x:dim(), advice)
  end
end

-- Returns the size of the mapped dimension, which must be the same in all arguments.
local function batch_size_of(given, count, in_dims)
  local size
  each_argument(given, count, in_dims, function(x, dim)
    if dim == torch.none then return x end
    check_input(x, dim)
    local here = x:size(dim)
    if size and size ~= here then fail('the mapped dimensions have sizes %d and %d', size, here) end
    size = here
    return x
  end)
  return size or fail 'no argument is mapped'
end

local function take_out(value, out_dims, level, size)
  return map_with(value, out_dims, 'out_dims', function(y, dim)
    if y == torch.none then return y end
    if not torch.is_tensor(y) then
      if dim == torch.none then return y end
      fail('the function returns tensors, or tables of them; got %s', type(y))
    end
    if dim == torch.none then
      if C()._is_batched(y, level) then fail 'out_dims is torch.none for a result that depends on the batch' end
      return y
    end
    return C()._remove_batch_dim(y, level, size, dim)
  end)
end

local function call_batched(p, given, count, size)
  return C()._with_vmap(size, p.randomness, function(level)
    local batched = each_argument(given, count, p.in_dims, function(x, dim)
      return dim == torch.none and x or C()._add_batch_dim(x, dim % x:dim(), level)
    end)
    local results = {p.fn(unpack(batched, 1, count))}
    if #results == 0 then fail 'the function returned nothing' end
    for i, value in ipairs(results) do
      local dims = p.out_dims
      if is_branch(dims) and #results > 1 then dims = dims[i] end
      results[i] = take_out(value, dims, level, size)
    end
    return unpack(results)
  end)
end

-- Joins results of parts of the batch along their dimensions.
local function joined(parts, out_dims)
  if is_branch(parts[1]) then
    local new = ordered.is(parts[1]) and ordered.new() or {}
    for _, key in ipairs(ordered.keys_of(parts[1])) do
      local of_key = {}
      for i, part in ipairs(parts) do of_key[i] = part[key] end
      local dims = out_dims
      if is_branch(dims) then dims = dims[key] end
      new[key] = joined(of_key, dims)
    end
    return new
  end
  return out_dims == torch.none and parts[1] or torch.cat(parts, out_dims)
end

local function call_in_chunks(p, given, count, size)
  local calls = {}
  for first = 0, size - 1, p.chunk_size do
    local length = math.min(p.chunk_size, size - first)
    local part = each_argument(given, count, p.in_dims, function(x, dim)
      return dim == torch.none and x or x:narrow(dim, first, length)
    end)
    calls[#calls + 1] = {call_batched(p, part, count, length)}
  end
  local results = {}
  for i = 1, #calls[1] do
    local parts, dims = {}, p.out_dims
    for j, call in ipairs(calls) do parts[j] = call[i] end
    if is_branch(dims) and #calls[1] > 1 then dims = dims[i] end
    results[i] = joined(parts, dims)
  end
  return unpack(results)
end

local signature = args.signature('torch.func.vmap', {'fn', {'in_dims', 0}, {'out_dims', 0}, {'randomness', 'error'},
  {'chunk_size'}})

---Returns a function that calls fn, which is written for one sample, on a whole batch: each operator runs once.
---Arguments: fn, in_dims = 0 (the batch dimension of the arguments; a list has one for each argument, torch.none for an
---argument that is not mapped, a table for a table of tensors), out_dims = 0, randomness = 'error' ('different' or
---'same': random numbers for each sample, or the same for all), chunk_size = nil (samples computed at once). PyTorch
---equivalent: torch.func.vmap.
---@param ... any
---@return fun(...): torch.Tensor|table, ...
---
---```lua
---local torch = require 'torch'
---local vmap = torch.func.vmap
---local a, b = torch.arange(6):view(2, 3), torch.ones(3)
---local dot = vmap(function(x, y) return x:dot(y) end, {in_dims = {0, torch.none}})
---assert(torch.equal(dot(a, b:long()), torch.tensor({3, 12}, {dtype = torch.int64})))
----- The gradient of each sample:
---local function loss(w, x) return (w * x):sum() end
---local slopes = vmap(torch.func.grad(loss), {in_dims = {torch.none, 0}})(b, torch.ones(4, 3))
---assert(slopes.shape == torch.Size{4, 3})
---```
function mapping.vmap(...)
  local p = signature:bind(...)
  if type(p.fn) ~= 'function' and not class.of(p.fn) then fail('expected a function, got %s', type(p.fn)) end
  args.one_of('torch.func.vmap: randomness', p.randomness, {'error', 'different', 'same'})
  if p.chunk_size ~= nil and not (type(p.chunk_size) == 'number' and p.chunk_size >= 1) then
    fail('chunk_size is a number of samples, not %s', tostring(p.chunk_size))
  end
  return function(...)
    local given, count = {...}, select('#', ...)
    local size = batch_size_of(given, count, p.in_dims)
    if p.chunk_size and size > p.chunk_size then return call_in_chunks(p, given, count, size) end
    return call_batched(p, given, count, size)
  end
end

return mapping
