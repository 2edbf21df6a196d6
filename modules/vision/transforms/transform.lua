-- vision/transforms/transform.lua: Transform: the base of the transforms.
--
-- A transform is called with one image (see image.lua) and returns one. Transforms with `takes_batches` = true also
-- accept many images at once, (n, c, h, w). The optional method fuse(plan) adds the transform to a fused_plan.lua and
-- returns whether that was possible.

local args = require 'base.args'
local class = require 'base.class'
local errors = require 'base.errors'
local repr = require 'torch.nn.repr'

local transform = {}

---The base of the transforms.
---@class vision.Transform
---@field takes_batches boolean
local Transform = class('Transform')
Transform.takes_batches = false

function Transform:__call(image) return self:forward(image) end

---Adds the transform to a plan for one pass over a batch of bytes.
---@param plan vision.FusedPlan
---@return boolean possible
function Transform:fuse(plan) return false end

---Returns the text between the brackets of the printed transform.
---@return string
function Transform:extra_repr()
  local fields = {}
  for i, name in ipairs(self._shown) do fields[i] = {name, self[name]} end
  return repr.fields(fields)
end

function Transform.__tostring(self) return ('%s(%s)'):format(class.of(self).__name, self:extra_repr()) end

transform.Transform = Transform

---Makes a class of transforms whose arguments become its fields.
---@param name string
---@param parameters (string|table)[] in the form of args.signature
---@param check? fun(self: table) checks the fields, and normalizes them
---@param shown? string[] the fields that are printed (default: all parameters)
---@return table class
function transform.define(name, parameters, check, shown)
  local Class, signature = Transform:extend(name), args.signature(name, parameters)
  Class._parameters, Class._shown = signature.names, shown or signature.names
  function Class:init(...)
    local bound = signature:bind(...)
    for _, parameter in ipairs(signature.names) do self[parameter] = bound[parameter] end
    if check then check(self) end
  end
  return Class
end

---Returns whether the value can be called like a transform.
---@param value any
---@return boolean
function transform.is_callable(value)
  if type(value) == 'function' then return true end
  local meta = getmetatable(value)
  return type(meta) == 'table' and rawget(meta, '__call') ~= nil and not class.is_class(value)
end

---Checks a list of transforms.
---@param owner string for the message
---@param list any
---@return any[] list
function transform.check_list(owner, list)
  if type(list) ~= 'table' or class.of(list) then
    errors.raise('argument', ('%s: expected a list of transforms: %s{a, b}'):format(owner, owner))
  end
  for i, item in ipairs(list) do
    if not transform.is_callable(item) then
      local hint = class.is_class(item) and (': write %s()'):format(item.__name) or ''
      errors.raise('argument', ('%s: item %d is not a transform but %s%s'):format(owner, i,
        class.is_class(item) and 'a class' or 'a ' .. type(item), hint))
    end
  end
  return list
end

---Returns the lines of a printed list of transforms.
---@param list any[]
---@return string
function transform.lines(list)
  local out = {}
  for i, item in ipairs(list) do out[i] = '\n    ' .. (type(item) == 'function' and '<function>' or tostring(item)) end
  return table.concat(out)
end

return transform
