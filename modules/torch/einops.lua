-- torch/einops.lua: torch.einops: the operations of Python's package einops, with its patterns.
--
-- A pattern is 'b (h w) c -> b h w c': names of axes, `(…)` for several axes in one dimension, `...` for any number of
-- axes, `1` or `()` for an axis of size 1; `repeat` on the right and `reduce` on the left also accept other numbers.
-- Sizes that the shape does not determine must be in the table of sizes.

local args = require 'base.args'
local errors = require 'base.errors'
local torch = require 'torch'

local einops = {}

local function fail(call, message, ...)
  errors.raise('argument', ("einops.%s '%s': "):format(call.name, call.pattern) .. message:format(...))
end

-- Returns the next token, and its end.
local function token_at(call, text, at)
  for _, form in ipairs{'^[%a_][%w_]*', '^%d+', '^%.%.%.', '^[()]'} do
    local found = text:match(form, at)
    if found then return found, at + #found end
  end
  fail(call, "'%s' is not a name, a number, ... or a parenthesis", text:match('^%S+', at))
end

-- Returns the name of an axis in a group. Numbers get unique names with a size.
local function add_axis(call, side, group, token)
  local name = token
  if token:find '^%d' then
    if token == '1' then return end
    name = ('%s#%d'):format(side.label, #side.order + 1)
    call.sizes[name] = tonumber(token)
  end
  if side.has[name] then fail(call, "'%s' stands twice on one side", name) end
  side.has[name] = true
  side.order[#side.order + 1] = name
  group[#group + 1] = name
end

-- Parses 'b (h w) ...' to {{'b'}, {'h', 'w'}, {'...'}}. `order` lists all names, `has` is their set.
local function parse_side(call, text, label)
  local side, open, at = {order = {}, has = {}, label = label}, nil, text:find '%S'
  while at do
    local token, stop = token_at(call, text, at)
    if token == '(' then
      if open then fail(call, 'parentheses within parentheses') end
      open = {}
    elseif token == ')' then
      if not open then fail(call, "')' without '('") end
      open.is_joined = true
      side[#side + 1], open = open, nil
    else
      local group = open or {}
      add_axis(call, side, group, token)
      if not open then side[#side + 1] = group end
    end
    at = text:find('%S', stop)
  end
  if open then fail(call, "'(' without ')'") end
  return side
end

-- Replaces '...' by the axes '...1', '...2', ….
local function expand_ellipsis(side, count)
  if not side.has['...'] then return end
  local names, groups, order = {}, {}, {}
  for i = 1, count do names[i] = '...' .. i end
  for _, group in ipairs(side) do
    local expanded = {}
    for _, name in ipairs(group) do
      for _, each in ipairs(name == '...' and names or {name}) do
        expanded[#expanded + 1], order[#order + 1], side.has[each] = each, each, true
      end
    end
    if #group == 1 and group[1] == '...' and not group.is_joined then
      for _, name in ipairs(expanded) do groups[#groups + 1] = {name} end
    else
      groups[#groups + 1] = expanded
    end
  end
  for i = 1, math.max(#side, #groups) do side[i] = groups[i] end
  side.order = order
end

-- Computes the sizes of a group's axes from the size of the whole.
local function solve_group(call, group, size)
  local known, unknown = 1, nil
  for _, name in ipairs(group) do
    local given = call.sizes[name]
    if given then
      known = known * given
    elseif unknown then
      fail(call, "the sizes of '%s' and '%s' are not known: give one", unknown, name)
    else
      unknown = name
    end
  end
  local fits = unknown and known > 0 and size % known == 0 or known == size
  if not fits then fail(call, 'an axis of size %d is not (%s), which is %s%d', size, table.concat(group, ' '),
    unknown and 'a multiple of ' or '', known) end
  if unknown then call.sizes[unknown] = size / known end
end

local function sizes_of(call, names)
  local out = {}
  for i, name in ipairs(names) do out[i] = call.sizes[name] end
  return out
end

local function check_sizes_given(call, left, right)
  local names = {}
  for name in next, call.given do names[#names + 1] = tostring(name) end
  table.sort(names)
  for _, name in ipairs(names) do
    if not left.has[name] and not right.has[name] then fail(call, "the pattern has no axis '%s'", name) end
    local size = call.given[name]
    if type(size) ~= 'number' or size < 0 or size % 1 ~= 0 then fail(call, "'%s' is a size, not %s", name, tostring(size)) end
    call.sizes[name] = size
  end
end

-- Returns the sides of a pattern, and the tensor with one axis for each name of the left side.
local function decompose(name, x, pattern, given)
  local call = {name = name, pattern = tostring(pattern), sizes = {}, given = given or {}}
  if type(pattern) ~= 'string' then fail(call, 'a pattern is a string') end
  if type(call.given) ~= 'table' then fail(call, 'sizes are a table {name = size}, not a %s', type(given)) end
  local before, after = pattern:match '^(.-)%->(.*)$'
  if not before or after:find '->' then fail(call, "a pattern has one '->'") end
  if type(x) == 'table' and not torch.is_tensor(x) then x = torch.stack(x) end
  if not torch.is_tensor(x) then fail(call, 'expected a Tensor or a list of them, got %s', type(x)) end
  local left, right = parse_side(call, before, 'left'), parse_side(call, after, 'right')
  if right.has['...'] and not left.has['...'] then fail(call, '... is only on the right') end
  check_sizes_given(call, left, right)
  local rest = x:dim() - (#left - (left.has['...'] and 1 or 0))
  if rest < 0 or rest > 0 and not left.has['...'] then
    fail(call, 'the left side has %d axes, the tensor %d', #left, x:dim())
  end
  expand_ellipsis(left, rest)
  expand_ellipsis(right, rest)
  for i, group in ipairs(left) do solve_group(call, group, x:size(i - 1)) end
  return call, left, right, x:reshape(sizes_of(call, left.order))
end

local function missing(from, other)
  local out = {}
  for _, name in ipairs(from.order) do
    if not other.has[name] then out[#out + 1] = name end
  end
  return out
end

-- Arranges the axes `names` into the groups of the right side, and repeats along new axes.
local function compose(call, x, names, right)
  local place, order, shape = {}, {}, {}
  for i, name in ipairs(names) do place[name] = i - 1 end
  for _, name in ipairs(right.order) do
    if place[name] then order[#order + 1] = place[name] end
  end
  x = x:permute(order)
  for i, name in ipairs(right.order) do
    if not place[name] then x = x:unsqueeze(i - 1) end
  end
  x = x:expand(sizes_of(call, right.order))
  for i, group in ipairs(right) do
    shape[i] = 1
    for _, name in ipairs(group) do shape[i] = shape[i] * call.sizes[name] end
  end
  return x:reshape(shape)
end

local function refuse(call, names, advice)
  if #names > 0 then fail(call, "'%s' is on one side alone: %s", names[1], advice) end
end

---Rearranges the elements: permutes, splits and joins axes. Python equivalent: einops.rearrange.
---@param x torch.Tensor|torch.Tensor[] a list is stacked along a new first axis
---@param pattern string
---@param sizes? table<string, integer> of axes that the shape does not determine
---@return torch.Tensor a view if possible
---
---```lua
---local torch = require 'torch'
---local rearrange = torch.einops.rearrange
---local image = torch.arange(24):view(1, 2, 3, 4)
---assert(rearrange(image, 'b c h w -> b (h w) c').shape == torch.Size{1, 12, 2})
---assert(rearrange(image, 'b c h (w p) -> (b p) c h w', {p = 2}).shape == torch.Size{2, 2, 3, 2})
---```
function einops.rearrange(x, pattern, sizes)
  local call, left, right, split = decompose('rearrange', x, pattern, sizes)
  refuse(call, missing(left, right), 'reduce leaves axes out')
  refuse(call, missing(right, left), 'repeat adds axes')
  return compose(call, split, left.order, right)
end

local REDUCTIONS = {
  mean = function(x, dims) return x:mean(dims) end,
  sum = function(x, dims) return x:sum(dims) end,
  max = function(x, dims) return x:amax(dims) end,
  min = function(x, dims) return x:amin(dims) end,
  any = function(x, dims) return x:any(dims) end,
  all = function(x, dims) return x:all(dims) end,
  prod = function(x, dims)
    for i = #dims, 1, -1 do x = x:prod(dims[i]) end
    return x
  end,
}

---Reduces the axes that are missing on the right side. Python equivalent: einops.reduce.
---@param x torch.Tensor|torch.Tensor[]
---@param pattern string
---@param reduction string|fun(x: torch.Tensor, dims: integer[]): torch.Tensor 'mean', 'sum', 'max', 'min', 'prod', 'any', 'all'
---@param sizes? table<string, integer>
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local image = torch.ones(1, 3, 4, 6)
---assert(torch.einops.reduce(image, 'b c (h 2) (w 2) -> b c h w', 'mean').shape == torch.Size{1, 3, 2, 3})
---assert(torch.einops.reduce(image, 'b c h w -> b', 'sum'):item() == 72)
---```
function einops.reduce(x, pattern, reduction, sizes)
  local call, left, right, split = decompose('reduce', x, pattern, sizes)
  refuse(call, missing(right, left), 'repeat adds axes')
  local kept, dims = {}, {}
  for i, name in ipairs(left.order) do
    if right.has[name] then kept[#kept + 1] = name else dims[#dims + 1] = i - 1 end
  end
  local reduce = type(reduction) == 'function' and reduction
    or REDUCTIONS[args.one_of('einops.reduce: reduction', reduction, {'mean', 'sum', 'max', 'min', 'prod', 'any', 'all'})]
  if #dims > 0 then split = reduce(split, dims) end
  return compose(call, split, kept, right)
end

---Repeats the elements along new axes of the right side; `repeat` is a keyword of Lua. Python equivalent:
---einops.repeat.
---@param x torch.Tensor|torch.Tensor[]
---@param pattern string
---@param sizes? table<string, integer>
---@return torch.Tensor
---
---```lua
---local torch = require 'torch'
---local x = torch.arange(4):view(2, 2)
---local wide = torch.einops.repeat_(x, 'h w -> h (w times)', {times = 3})
---assert(wide.shape == torch.Size{2, 6} and wide[{0, 2}]:item() == 0)
---```
function einops.repeat_(x, pattern, sizes)
  local call, left, right, split = decompose('repeat', x, pattern, sizes)
  refuse(call, missing(left, right), 'reduce leaves axes out')
  for _, name in ipairs(missing(right, left)) do
    if not call.sizes[name] then fail(call, "give the size of '%s'", name) end
  end
  return compose(call, split, left.order, right)
end

return require 'base.namespace'('torch.einops', {
  absent = {einsum = 'use torch.einsum', pack = 'use torch.cat', unpack = 'use torch.split', asnumpy = 'use x:tolist()'},
}, einops)
