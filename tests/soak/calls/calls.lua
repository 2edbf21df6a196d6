-- calls.lua: calls operators, functions of torch, methods and metamethods of tensors with random arguments. Each call
-- must end with values or an error: no crash, no internal assertion of LibTorch, no failure inside a Lua module.
--
--   rtrain exec calls.lua SEED CALLS [FILE]
--
-- Call number n depends only on the seed SEED + n, so CALLS = 1 repeats a call. FILE always holds the seed and the
-- operator of the current call, so that a crash can be found; run.py does all that.

local ffi = require 'ffi'
local C = require 'torch._C'
local torch = require 'torch'
local Random = require 'random'

local INTEGERS = {0, 1, 2, 3, 4, 5, 7, 16, -1, -2, -3, -5, 100, 1000, 2 ^ 31, -2 ^ 31, 2 ^ 40, 2 ^ 53, -2 ^ 53,
                  9223372036854775807LL, -9223372036854775807LL - 1}
local SMALL = {0, 1, 2, 3, -1, -2}
local NUMBERS = {0, 1, -1, 0.5, -1.5, 2.75, 1e30, 1e-30, 0 / 0, 1 / 0, -1 / 0, 1e300}
local STRINGS = {'', 'mean', 'sum', 'none', 'reflect', 'circular', 'same', 'valid', 'fro', 'nuc', 'floor', 'trunc', 'linear',
                 'nearest', 'tanh', 'amax', 'prod', 'ij,jk->ik', 'i,i', '...i->...', 'gelsd', 'left', 'ortho', 'L', 'reduced',
                 'ij', 'nonsense', ('x'):rep(300), '\0\255'}
local DTYPES = {'float32', 'float32', 'float32', 'float64', 'float16', 'bfloat16', 'int64', 'int64', 'int32', 'int16', 'int8',
                'uint8', 'bool', 'complex64', 'complex128', 'uint16', 'float8_e4m3fn'}
local OTHER = {layout = {'strided', 'sparse_coo', 'sparse_csr'}, device = {'cpu', 'cpu:0', 'cuda', 'nowhere'},
               memory_format = {'contiguous_format', 'channels_last', 'preserve_format'}}

-- Excluded: from_file writes files; a polynomial takes time in proportion to its degree.
local function is_left_out(name) return name == 'from_file' or name:find 'polynomial' end

local r  -- the random generator of this call

local function sizes()
  local out = {}
  for i = 1, r:below(5) do out[i] = r:below(10) == 0 and 0 or 1 + r:below(4) end
  return out
end

local function filled(shape, dtype)
  if dtype == 'bool' then return C.op 'randint'(0, 2, shape):to 'bool' end
  if dtype:find 'int' then return C.op 'randint'(r:below(3) == 0 and 0 or (dtype:find '^u' and 0 or -4), 5, shape):to(dtype) end
  return C.op 'randn'(shape):to(dtype)
end

local VARIANTS = {
  function(x) return x:requires_grad_() end,
  function(x) return x:t() end,
  function(x) return x:unsqueeze(0):expand(3, -1, -1) end,
  function(x) return x:to_sparse() end,
  function(x) return x:mul(1e30) end,
  function(x) return x:fill_(0 / 0) end,
  function(x) return x:conj() end,
  function(x) x:release() return x end,
}

local function tensor()
  local x = filled(sizes(), r:pick(DTYPES))
  if r:below(6) > 0 then return x end
  local ok, other = pcall(r:pick(VARIANTS), x)
  return ok and other or x
end

local any

local function list(make)
  local out = {}
  for i = 1, r:below(5) do out[i] = make() end
  return out
end

local function integer() return r:pick(r:below(3) == 0 and INTEGERS or SMALL) end

local MAKE = {
  Tensor = tensor,
  int = integer,
  float = function() return r:pick(NUMBERS) end,
  number = function() return r:pick(r:below(2) == 0 and NUMBERS or INTEGERS) end,
  bool = function() return r:below(2) == 0 end,
  string = function() return r:pick(STRINGS) end,
  dtype = function() return r:pick(DTYPES) end,
  Generator = function() return C.generator(r:below(100)) end,
}

local ANYTHING = {
  tensor, integer, tensor, integer,
  function() return r:pick(NUMBERS) end,
  function() return r:pick(STRINGS) end,
  function() return r:below(2) == 0 end,
  function() return nil end,
  function() return C.none end,
  function() return {} end,
  function() return list(any) end,
  function() return list(integer) end,
  function() return list(tensor) end,
  function() return {{1, 2}, {3}} end,
  function() return print end,
  function() return ffi.new('complex', 1, 2) end,
  function() return ffi.new('int[3]') end,
  function() return coroutine.create(print) end,
  function() return C.generator(1) end,
  function() return C.slice(0, 2) end,
}
function any() return r:pick(ANYTHING)() end

-- Returns a value for a parameter of the schema's type "Tensor?", "int[2]", …; sometimes any value.
local function value(type)
  if r:below(12) == 0 then return any() end
  local inner, optional = type:gsub('%?$', '')
  if optional > 0 and r:below(2) == 0 then return nil end
  local element, size = inner:match '^([%w_]+)%??%[(%d*)%]$'
  if element then
    if size ~= '' and r:below(2) == 0 then
      local out = {}
      for i = 1, tonumber(size) do out[i] = (MAKE[element] or any)() end
      return out
    end
    return list(MAKE[element] or any)
  end
  if OTHER[inner] then return r:pick(OTHER[inner]) end
  return (MAKE[inner] or any)()
end

-- Returns {type, name, keyword, default} of each parameter of "add(Tensor self, *, number alpha=1)".
local function parameters(signature)
  local out, keyword = {}, false
  for part in signature:match '%((.*)%)':gsub('%b[]', function(s) return (s:gsub(',', ';')) end):gmatch '[^,]+' do
    part = part:match '^%s*(.-)%s*$'
    if part == '*' then
      keyword = true
    else
      local type, name, default = part:match '^(%S+) ([%w_]+)(.*)$'
      out[#out + 1] = {type = type, name = name, keyword = keyword, default = default ~= ''}
    end
  end
  return out
end

local function arguments(signature)
  local args, keywords, n, skipped = {}, {}, 0, false
  for _, p in ipairs(parameters(signature)) do
    local by_name = p.keyword or next(keywords) ~= nil or r:below(10) == 0
    if not p.default or r:below(3) == 0 then
      if by_name or skipped then
        keywords[p.name] = value(p.type)
      else
        n = n + 1
        args[n] = value(p.type)
      end
    else
      skipped = true  -- later parameters must be passed by keyword
    end
  end
  if r:below(15) == 0 then keywords[r:pick{'dmi', 'out', 'requires_grad', 'dtype', 'self', 'x'}] = any() end
  if r:below(15) == 0 then
    n = n + 1
    args[n] = any()
  end
  if next(keywords) ~= nil then
    n = n + 1
    args[n] = keywords
  end
  return args, n
end

-- Calls without a schema.
local OWN = {
  index = function(x, i) return x[i] end,
  set_index = function(x, i, y) x[i] = y end,
  text = tostring,
  length = function(x) return #x end,
  plus = function(x, y) return x + y end,
  power = function(x, y) return x ^ y end,
  minus = function(x) return -x end,
  equal = function(x, y) return x == y end,
  field = function(x, name) return x[type(name) == 'string' and name or 'shape'] end,
  set_field = function(x, y) x[r:pick{'grad', 'requires_grad', 'data', 'shape'}] = y end,
  tolist = function(x) return x:tolist() end,
  to = function(x, ...) return x:to(...) end,
  backward = function(x, ...) return x:backward(...) end,
  tensor = torch.tensor,
}

local targets = {}  -- entries: {name, fn, signatures}
for _, name in ipairs(C.op_names()) do
  if not is_left_out(name) then targets[#targets + 1] = {name = name, signatures = C.op_signatures(name)} end
end
local own_names = {}
for name in next, OWN do own_names[#own_names + 1] = name end
table.sort(own_names)
for _, name in ipairs(own_names) do
  for _ = 1, 5 do targets[#targets + 1] = {name = 'own ' .. name, fn = OWN[name]} end
end

-- Returns the function to call: the operator, the function of that name in torch, or a method.
local function callee(target, args)
  local kind = r:below(4)
  if target.fn then return target.fn end
  if kind == 0 then return C.op(target.name) end
  local is_method = kind == 1 and C.is_tensor(args[1])
  return function(...)
    local found = (is_method and args[1] or torch)[target.name]
    if type(found) == 'function' then return found(...) end
  end
end

local function some_arguments(target)
  if target.signatures then return arguments(r:pick(target.signatures)) end
  local args, n = {tensor()}, 1 + r:below(3)
  for i = 2, n do args[i] = any() end
  return args, n
end

-- Returns the problem of a failed call, or nil if its error is meant for users.
local function complaint(err)
  local text = tostring(err)
  if type(err) == 'string' then return 'a plain string was raised: ' .. text end
  for _, sign in ipairs{'INTERNAL ASSERT', 'report a bug', 'what():', 'basic_string', 'std::', 'vector::', 'bad optional'} do
    if text:find(sign, 1, true) then return text end
  end
end

-- Describes a value of a call: gather(float32 {2,3}, 1, int64 {2,2}, {sparse_grad = true})
local function shown(item, depth)
  if C.is_tensor(item) then
    local ok, text = pcall(function() return item.dtype .. ' {' .. table.concat(item.shape, ',') .. '}' end)
    return ok and text or 'released'
  end
  if type(item) == 'string' then return ('%q'):format(item) end
  if type(item) ~= 'table' or depth > 3 then return tostring(item) end
  local parts = {}
  for key, entry in pairs(item) do  -- only displayed: the order does not matter
    parts[#parts + 1] = (type(key) == 'string' and key .. ' = ' or '') .. shown(entry, depth + 1)
  end
  return '{' .. table.concat(parts, ', ') .. '}'
end

local function print_call(name, args, count)
  local parts = {}
  for i = 1, count do parts[i] = shown(args[i], 1) end
  print(('%s(%s)'):format(name, table.concat(parts, ', ')))
  io.stdout:flush()
end

local seed, calls, path = tonumber(arg[1]), tonumber(arg[2]), arg[3]
local file = path and assert(io.open(path, 'w'))
local complaints, fine = {}, 0

local function run(number)
  r = Random.new(number)
  local target = r:pick(targets)
  if file then
    file:seek 'set'
    file:write(('%d %-80s\n'):format(number, (target.name:gsub(' ', '_'))))
    file:flush()
  end
  C.manual_seed(number)
  local args, count = some_arguments(target)
  local call = callee(target, args)
  if calls == 1 then print_call(target.name, args, count) end
  local ok, result = pcall(call, unpack(args, 1, count))
  if ok and r:below(10) == 0 then ok, result = pcall(tostring, result) end
  if ok then
    fine = fine + 1
    return
  end
  local problem = complaint(result)
  if problem then complaints[#complaints + 1] = ('seed %d: %s: %s'):format(number, target.name, problem) end
end

for n = 0, calls - 1 do
  run(seed + n)
  if n % 100 == 99 then collectgarbage() end
end
for _, text in ipairs(complaints) do print(text) end
print(('%d calls from seed %d: %d gave values, %d complaints'):format(calls, seed, fine, #complaints))
os.exit(#complaints == 0 and 0 or 1)
