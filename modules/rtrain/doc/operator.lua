-- rtrain/doc/operator.lua: converts ATen's schemas to calls in Lua.

local operator = {}

---@class DocParameter
---@field name string
---@field type string in LuaCATS
---@field default? string in Lua
---@field optional? boolean
---@field keyword? boolean only in the trailing table
---@field is_self? boolean whether a method's tensor is passed as this parameter
---@field text? string

---@class DocCall
---@field params DocParameter[]
---@field results DocItem[]
---@field takes_many? boolean whether its only list of integers may be written without braces

-- Reserved words of Lua, as in host/engine/operators/boxed/overloads.cpp.
local RESERVED = {['and'] = true, ['end'] = true, ['for'] = true, ['function'] = true, ['if'] = true, ['in'] = true,
                  ['not'] = true, ['or'] = true, ['repeat'] = true, ['until'] = true, ['while'] = true}

local TYPES = {
  Tensor = 'torch.Tensor', ['Tensor[]'] = 'torch.Tensor[]', ['Tensor?[]'] = '(torch.Tensor|torch.none)[]',
  int = 'integer', ['int[]'] = 'integer[]', float = 'number', ['float[]'] = 'number[]', number = 'number',
  ['number[]'] = 'number[]', bool = 'boolean', ['bool[]'] = 'boolean[]', string = 'string', dtype = 'torch.dtype',
  layout = 'string', memory_format = 'string', device = 'torch.device', Generator = 'torch.Generator',
  ['(internal)'] = 'nil',
}

local WORDS = {True = 'true', False = 'false', ['nil'] = 'nil'}
local DTYPES = {['4'] = 'torch.int64'}
local MEMORY_FORMATS = {['0'] = "'contiguous_format'"}

---Returns the name, with an underscore if Lua reserves it.
---@param name string
---@return string
function operator.lua_name(name) return RESERVED[name] and name .. '_' or name end

local function lua_type(text)
  local plain = text:gsub('%?$', '')
  local element = plain:match '^(%w+)%[%d+%]$'
  if not element then return TYPES[plain] or 'any' end
  local one = TYPES[element]
  return ('%s|%s[]'):format(one, one)
end

local function lua_default(type, text)
  if WORDS[text] then return WORDS[text] end
  if type:match '^string' then return ("'%s'"):format(text) end
  if type:match '^dtype' then return DTYPES[text] or text end
  if type:match '^memory_format' then return MEMORY_FORMATS[text] or text end
  local list = text:match '^%[(.*)%]$'
  if list then return '{' .. list .. '}' end
  local number = not text:match '^%-?%d+$' and tonumber(text)
  return number and (('%.14g'):format(number):gsub('e([-+])0+', 'e%1')) or text
end

local function add_parameter(params, text, keyword)
  local type, name, default = text:match '^(%S+) ([%w_]+)=?(.*)$'
  local optional = default ~= '' or type:match '%?$' ~= nil
  params[#params + 1] = {
    name = operator.lua_name(name), type = lua_type(type), optional = optional or nil, keyword = keyword or nil,
    default = default ~= '' and lua_default(type, default) or nil,
  }
end

-- Operators that create tensors also take requires_grad, which is not part of ATen's schema.
local function add_requires_grad(params)
  for i, param in ipairs(params) do
    if param.name == 'pin_memory' then
      local added = {name = 'requires_grad', type = 'boolean', default = 'false', optional = true, keyword = true}
      return table.insert(params, i + 1, added)
    end
  end
end

-- Removes the spaces in lists of defaults, so that ', ' separates only parameters: 'int[2] stride=[1, 1], int
-- groups=1'.
local function each_parameter(text)
  return (text:gsub('%b[]', function(list) return (list:gsub(', ', ',')) end) .. ', '):gmatch '(.-), '
end

local function restored(text)
  return (text:gsub('=(%b[])', function(list) return '=' .. list:gsub(',', ', ') end))
end

local function results_of(text)
  local results = {}
  for item in text:gmatch '[^,]+' do
    local type, name = item:match '^%s*(%S+)%s*([%w_]*)$'
    results[#results + 1] = {type = lua_type(type), name = name ~= '' and name or nil, text = ''}
  end
  return results
end

-- ATen's `self` is called `input` in a function; in a method it is the tensor. Without `self` the first tensor takes
-- this role.
local function mark_self(params)
  for _, param in ipairs(params) do
    if param.name == 'self' and not param.keyword then
      param.name, param.is_self = 'input', param.type == 'torch.Tensor' or nil
      return
    end
  end
  if params[1] and params[1].type == 'torch.Tensor' then params[1].is_self = true end
end

-- Returns whether the only parameter other than self is a list of integers, which may be written without braces.
local function takes_many(params)
  local lists, others = 0, 0
  for _, param in ipairs(params) do
    if param.type == 'integer[]' and not param.keyword then
      lists = lists + 1
    elseif not param.keyword and not param.is_self then
      others = others + 1
    end
  end
  return lists == 1 and others == 0
end

---Parses one line of torch._C.op_signatures as a call. The parameter is `input` where ATen says `self`.
---@param signature string 'sum(Tensor self, int dim, bool keepdim=False) -> Tensor'
---@return DocCall
---
---```lua
---local operator = require 'rtrain.doc.operator'
---local call = operator.read 'sum(Tensor self, int[1]? dim, *, dtype? dtype=nil) -> Tensor'
---assert(call.params[1].name == 'input' and call.params[2].type == 'integer|integer[]' and call.params[3].keyword)
---```
function operator.read(signature)
  local inside, results = signature:match '^[%w_]+%((.*)%) %-> (.*)$'
  local params, keyword = {}, false
  for text in each_parameter(inside) do
    if text == '*' then
      keyword = true
    elseif text ~= '' then
      add_parameter(params, restored(text), keyword)
    end
  end
  add_requires_grad(params)
  mark_self(params)
  return {params = params, results = results_of(results), takes_many = takes_many(params) or nil}
end

---Returns every way to call an operator.
---@param name string
---@return DocCall[] calls in the order in which they are tried; empty if the name is not an operator
function operator.calls(name)
  local calls = {}
  for i, signature in ipairs(require('torch._C').op_signatures(name)) do calls[i] = operator.read(signature) end
  return calls
end

return operator
