-- A case of a golden file: reads it, runs it and returns its problem. harness/case.py writes the cases.

local ffi = require 'ffi'
local torch = require 'torch'
local compare = require 'harness.compare'
local device = require 'harness.device'
local fill = require 'harness.fill'

local Case = {}
Case.__index = Case

local INPUT = {}  -- metatable of the inputs that T(…) creates

-- The number of tensors read so far: tensors count in the order of the text, also those in the table of keywords.
local place = 0

local READ = {
  T = function(seed, shape, kind, dtype, grad)
    place = place + 1
    return setmetatable({seed = seed, shape = shape, kind = kind or 'real', dtype = dtype or 'float32',
                         grad = grad ~= false, place = place}, INPUT)
  end,
  A = function(dtype, shape, numbers, sums)
    numbers.dtype, numbers.shape, numbers.sums = dtype, shape, sums
    return numbers
  end,
  C = function(re, im) return ffi.new('complex', re, im) end,
  slice = function(...) return torch.slice(...) end,
  none = torch.none, inf = 1 / 0, nan = 0 / 0,
}

local LIBRARY = setmetatable({
  torch = torch, none = torch.none, slice = READ.slice, inf = 1 / 0, nan = 0 / 0,
  nn = require 'torch.nn', F = require 'torch.nn.functional', optim = require 'torch.optim',
}, {__index = _G})

---Returns the case that a line of a golden file describes.
function Case.read(line)
  local chunk = assert(load('return ' .. line, '=golden'))
  setfenv(chunk, READ)
  local self = setmetatable(chunk(), Case)
  self.kw, self.form = self.kw or {}, self.form or 'f'
  self.text = line:gsub(',want=.*$', ''):gsub(',says=.*$', '')
  return self
end

-- Returns a fresh value for an argument. `made` keeps one tensor for an input that occurs twice, `wanted` collects the
-- inputs that need a gradient.
function Case:value(argument, made, wanted)
  if type(argument) ~= 'table' then return argument end
  if getmetatable(argument) == INPUT then
    local input = argument
    local key = input.seed .. input.kind .. input.dtype .. table.concat(input.shape, 'x')
    if made[key] then return made[key] end
    made[key] = device.move(fill.tensor(input.shape, input.kind, input.dtype, input.seed))
    if self.grads and input.grad and (made[key]:is_floating_point() or made[key]:is_complex()) then
      wanted[#wanted + 1] = {place = input.place, tensor = made[key]:requires_grad_()}
    end
    return made[key]
  end
  local out = {}
  for i, item in ipairs(argument) do out[i] = self:value(item, made, wanted) end
  return out
end

-- Returns the arguments with their number `n` (nil counts), followed by one table of keywords; and the tensors that
-- need a gradient.
function Case:inputs()
  local made, wanted, args = {}, {}, {n = self.args.n}
  for i = 1, self.args.n do args[i] = self:value(self.args[i], made, wanted) end
  if next(self.kw) ~= nil then
    local keywords = {}
    for name, item in next, self.kw do keywords[name] = self:value(item, made, wanted) end
    args.n = args.n + 1
    args[args.n] = keywords
  end
  table.sort(wanted, function(a, b) return a.place < b.place end)
  for i, item in ipairs(wanted) do wanted[i] = item.tensor end
  return args, wanted
end

---Compiles Lua text to a function that can use torch, nn, F, optim, none, slice.
function Case.chunk(text) return setfenv(assert(load(text, '=case')), LIBRARY) end

-- Returns a function of the arguments for the form: 'f' function, 'm' method.
function Case:callee(form)
  if self.code then
    local text = ('local %s = ...\n%s'):format(self.names ~= '' and self.names or '_', self.code)
    return Case.chunk(text)
  end
  if form == 'm' then
    return function(...)
      local at, rest = (self.self or 0) + 1, {}
      for i = 1, select('#', ...) do
        if i ~= at then rest[i < at and i or i - 1] = (select(i, ...)) end
      end
      local x = select(at, ...)
      return x[self.call](x, unpack(rest, 1, select('#', ...) - 1))
    end
  end
  return torch[self.call]
end

local function flatten(out, value)
  if type(value) == 'table' and not torch.is_tensor(value) then
    for _, item in ipairs(value) do flatten(out, item) end
  else
    out[#out + 1] = value == nil and torch.none or value
  end
end

---Returns the results as a flat list: lists are unpacked, nil becomes torch.none.
function Case.flat(...)
  local out = {}
  for i = 1, select('#', ...) do flatten(out, (select(i, ...))) end
  return out
end

local function gradients(results, wanted)
  local outputs, cotangents = {}, {}
  for k, result in ipairs(results) do
    if torch.is_tensor(result) and result.requires_grad then
      outputs[#outputs + 1] = result
      cotangents[#cotangents + 1] = fill.cotangent(result, k)
    end
  end
  return torch.autograd.grad(outputs, wanted, cotangents, {allow_unused = true})
end

local function list_problem(got, want, what, case)
  if #got ~= #want then return ('%d %ss, expected %d'):format(#got, what, #want) end
  for i, expected in ipairs(want) do
    local problem = compare.problem(got[i], expected, case)
    if problem then return ('%s %d: %s'):format(what, i, problem) end
  end
end

local function view_problem(result, first, view)
  -- A tensor without elements has no address.
  local offset = result:numel() > 0 and (result:data_ptr() - first:data_ptr()) / result:element_size()
    or result:storage_offset() - first:storage_offset()
  if offset ~= view[1] then return ('not a view of the first argument with offset %d'):format(view[1]) end
  local got, want = table.concat(result:stride(), ', '), table.concat(view, ', ', 2)
  if got ~= want then return ('strides [%s], expected [%s]'):format(got, want) end
end

-- Returns the problem of the answers, or nil.
function Case:answer_problem(form)
  torch.manual_seed(device.seed)
  local args, wanted = self:inputs()
  local results = Case.flat(self:callee(form)(unpack(args, 1, args.n)))
  local problem = list_problem(results, self.want, 'result', self)
  if problem then return problem end
  if self.same and not rawequal(results[1], args[1]) then return 'the result is not the object it was called on' end
  if self.view then problem = view_problem(results[1], args[1], self.view) end
  if problem or not self.grads then return problem end
  return list_problem(gradients(results, wanted), self.grads, 'gradient', self)
end

-- Returns the problem of the error, or nil if it has all expected texts and names the caller's line.
function Case:error_problem(form)
  local args = self:inputs()
  local line = form == 'm' and 'local r = (...)[NAME](...)' or 'local r = NAME(...)'
  local chunk = assert(load('\n' .. line .. '\nreturn r', '=caller'))
  setfenv(chunk, {NAME = form == 'm' and self.call or torch[self.call]})
  local ok, err = pcall(chunk, unpack(args, 1, args.n))
  if ok then return 'no error was raised' end
  local text = tostring(err)
  for _, part in ipairs(self.says) do
    if not text:find(part, 1, true) then return ("the error does not say '%s': %s"):format(part, text) end
  end
  if text:sub(1, 9) ~= 'caller:2:' then return "the error does not point at the caller's line: " .. text end
  if text:find('INTERNAL ASSERT', 1, true) then return 'an internal assertion reached the user: ' .. text end
end

---Returns the problem of the first wrong form of the call, or nil.
function Case:problem()
  for form in self.form:gmatch('.') do
    local ok, problem = pcall(self.says and self.error_problem or self.answer_problem, self, form)
    if problem then
      return ('%s%s\n  %s'):format(form == 'm' and 'as a method: ' or '', ok and problem or tostring(problem), self.text)
    end
  end
end

return Case
