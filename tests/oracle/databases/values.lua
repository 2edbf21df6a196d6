-- Decodes the values that values.py wrote, and compares results.

local ffi = require 'ffi'
local torch = require 'torch'

local values = {}

local MADE = {
  tensor = function(v) return v.value:requires_grad_(v.grad) end,
  none = function() return torch.none end,
  complex = function(v) return ffi.new('complex', v.re, v.im) end,
  ellipsis = function() return '...' end,
  slice = function(v)
    local items = {}
    for i = 1, 3 do items[i] = values.decoded(v.items[i]) end
    for i = 1, 3 do if items[i] == torch.none then items[i] = nil end end
    return torch.slice(items[1], items[2], items[3])
  end,
  map = function(v)
    local out = {}
    for name, item in torch.items(v.items) do out[name] = values.decoded(item) end
    return out
  end,
  ['function'] = function(v) return torch.nn.functional[v.name] end,
}

---@param value any what torch.load gave
---@return any
function values.decoded(value)
  if type(value) ~= 'table' or torch.is_tensor(value) then return value end
  if type(value._) == 'string' then return MADE[value._](value) end
  local out = {}
  for i = 1, #value do out[i] = values.decoded(value[i]) end
  return out
end

---Returns the arguments by position, followed by a table of keywords if there are any, and their number.
---@return any[] args
---@return integer count
function values.arguments(args, keywords)
  local out, count = {}, #args
  for i = 1, count do
    local value = values.decoded(args[i])
    if value ~= torch.none then out[i] = value end
  end
  if next(keywords) == nil then return out, count end
  local named = {}
  for name, value in torch.items(keywords) do named[name] = values.decoded(value) end
  out[count + 1] = named
  return out, count + 1
end

local function flatten(out, value)
  if type(value) == 'table' and not torch.is_tensor(value) then
    for i = 1, #value do flatten(out, value[i]) end
  else
    out[#out + 1] = value == nil and torch.none or value
  end
end

---Returns the results as a flat list: lists are unpacked, nil and an absent result become torch.none.
function values.flat(...)
  local out = {}
  if select('#', ...) == 0 then return {torch.none} end
  for i = 1, select('#', ...) do flatten(out, (select(i, ...))) end
  return out
end

---The same cotangent as in values.py.
function values.cotangent(result, place)
  local numbers = (torch.arange(result:numel()) * 37 + place) % 11 - 5
  local out = (numbers / 8):reshape(result:size())
  if result:is_complex() then out = out * ffi.new('complex', 1, 0.5) end
  return out:to(result.dtype)
end

---Returns the arguments that need a gradient, in order; those in the table of keywords in the order of `keywords`.
function values.wanted(args, count, keywords)
  local out = {}
  local function collect(value)
    if torch.is_tensor(value) then
      if value.requires_grad then out[#out + 1] = value end
    elseif type(value) == 'table' then
      for i = 1, #value do collect(value[i]) end
    end
  end
  local has_named = next(keywords) ~= nil
  for i = 1, has_named and count - 1 or count do collect(args[i]) end
  if has_named then
    for _, name in ipairs(torch.keys(keywords)) do collect(args[count][name]) end
  end
  return out
end

function values.gradients(results, wanted)
  local outputs, cotangents = {}, {}
  for k, result in ipairs(results) do
    if torch.is_tensor(result) and result.requires_grad then
      outputs[#outputs + 1] = result
      cotangents[#cotangents + 1] = values.cotangent(result:detach(), k - 1)
    end
  end
  return torch.autograd.grad(outputs, wanted, cotangents, {allow_unused = true})
end

-- dtype → relative and absolute tolerance; both sides compute with the same LibTorch.
local TOLERANCES = {
  float64 = {1e-9, 1e-9}, complex128 = {1e-9, 1e-9}, float32 = {1e-5, 1e-5}, complex64 = {1e-5, 1e-5},
  float16 = {2e-3, 2e-3}, bfloat16 = {1.6e-2, 1.6e-2},
}

local function dense(tensor)
  if tensor.layout ~= 'strided' then tensor = tensor:to_dense() end
  tensor = tensor:detach():resolve_conj():resolve_neg()
  return tensor.dtype == 'complex32' and tensor:to 'complex64' or tensor
end

local function tensor_problem(got, want, shape_only)
  if not torch.is_tensor(got) then return ('expected a Tensor, got %s'):format(tostring(got)) end
  if got.dtype ~= want.dtype then return ('dtype %s, expected %s'):format(got.dtype, want.dtype) end
  if got.layout ~= want.layout then return ('layout %s, expected %s'):format(got.layout, want.layout) end
  if tostring(got.shape) ~= tostring(want.shape) then
    return ('shape %s, expected %s'):format(tostring(got.shape), tostring(want.shape))
  end
  if shape_only then return nil end
  got, want = dense(got), dense(want)
  if torch.equal(got, want) then return nil end
  local tolerance = TOLERANCES[got.dtype]
  if tolerance then
    local options = {rtol = tolerance[1], atol = tolerance[2], equal_nan = true}
    if torch.allclose(got, want, options) then return nil end
  end
  local wide = got:is_complex() and 'complex128' or 'float64'
  return ('numbers differ, by at most %g'):format((got:to(wide) - want:to(wide)):abs():max():item())
end

local function number_problem(got, want)
  if got == want or got ~= got and want ~= want then return nil end
  if type(got) == 'cdata' then got = tonumber(got) or got end
  if type(want) == 'cdata' then want = tonumber(want) or want end
  if type(got) == 'number' and type(want) == 'number' then
    if got == want or math.abs(got - want) <= 1e-5 * math.abs(want) then return nil end
  elseif type(got) == 'cdata' and type(want) == 'cdata' and got == want then
    return nil
  end
  return ('%s, expected %s'):format(tostring(got), tostring(want))
end

---Returns the problem of one result, or nil.
function values.problem(got, want, shape_only)
  want = values.decoded(want)
  if torch.is_tensor(want) then return tensor_problem(got, want, shape_only) end
  return number_problem(got == nil and torch.none or got, want)
end

---Returns the problem of a list of results, or nil.
function values.list_problem(got, want, what, shape_only)
  if #got ~= #want then return ('%d %ss, expected %d'):format(#got, what, #want) end
  for i = 1, #want do
    local problem = values.problem(got[i], want[i], shape_only)
    if problem then return ('%s %d: %s'):format(what, i, problem) end
  end
end

return values
