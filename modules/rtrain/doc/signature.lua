-- rtrain/doc/signature.lua: finds out how functions and classes of Lua are called, from the code (base.args,
-- rtrain.config.schema) and the comments.

local args = require 'base.args'
local arguments = require 'rtrain.doc.arguments'
local class = require 'base.class'
local comment = require 'rtrain.doc.comment'
local source = require 'rtrain.doc.source'

local signature = {}

-- Types of names with the same meaning everywhere, for comments without types.
local TYPES = {
  input = 'torch.Tensor', target = 'torch.Tensor', tensor = 'torch.Tensor', weight = 'torch.Tensor|nil',
  bias = 'torch.Tensor|nil', query = 'torch.Tensor', key = 'torch.Tensor', value = 'torch.Tensor',
  x1 = 'torch.Tensor', x2 = 'torch.Tensor', running_mean = 'torch.Tensor|nil', running_var = 'torch.Tensor|nil',
  pos_weight = 'torch.Tensor|nil', dim = 'integer', device = 'torch.device', dtype = 'torch.dtype',
  generator = 'torch.Generator', kernel_size = 'integer|integer[]', stride = 'integer|integer[]',
  padding = 'integer|integer[]', dilation = 'integer|integer[]', output_padding = 'integer|integer[]',
  output_size = 'integer|integer[]', groups = 'integer', ignore_index = 'integer', padding_idx = 'integer',
  num_classes = 'integer', num_layers = 'integer', reduction = "'none'|'mean'|'sum'",
  normalized_shape = 'integer|integer[]', layers = 'integer[]', seed = 'integer', num_heads = 'integer',
  kdim = 'integer', vdim = 'integer', key_padding_mask = 'torch.Tensor|nil', attn_mask = 'torch.Tensor|nil',
  align_corners = 'boolean', recompute_scale_factor = 'boolean', scale_factor = 'number|number[]',
  size = 'integer|integer[]', device_type = 'string', max_eval = 'integer', max_iter = 'integer', upscale_factor = 'integer',
  sample_shape = 'integer[]', batch_shape = 'integer[]', event_shape = 'integer[]',
  hidden_dim = 'integer', mlp_dim = 'integer', num_groups = 'integer', optimizer = 'optim.Optimizer',
}

local function lua_text(value)
  local kind = type(value)
  if kind == 'string' then return ("'%s'"):format(value) end
  if kind == 'number' then return (('%.14g'):format(value):gsub('e([-+])0+', 'e%1')) end
  if kind == 'boolean' then return tostring(value) end
  if kind ~= 'table' or class.of(value) then return nil end
  local items = {}
  for i, item in ipairs(value) do items[i] = lua_text(item) or '…' end
  return '{' .. table.concat(items, ', ') .. '}'
end

local function type_of_value(value)
  local kind = type(value)
  if kind == 'number' then return 'number' end
  if kind == 'string' or kind == 'boolean' then return kind end
  return kind == 'table' and type(value[1]) == 'number' and 'number[]' or nil
end

-- Facts from comments about parameters: name → {type, text, value}. The first comment wins.
local Facts = {}
Facts.__index = Facts

function Facts:_add(item, is_field)
  local known = self[item.name]
  if not known then
    known = {text = ''}
    self[item.name] = known
  end
  if known.type == nil and item.type ~= 'any' and item.type ~= 'table' then known.type = item.type end
  if known.text == '' and not is_field then known.text = item.text or '' end
  if known.field_text == nil and is_field then known.field_text = item.text end
  known.value = known.value or item.value
  -- A tensor field of the same name is made by the constructor from a flag, and is not the type of the parameter.
  if is_field and known.type and known.type:match '^torch%.Tensor' then known.type = nil end
end

function Facts:_add_members(type)
  for _, item in ipairs(comment.members(type) or {}) do
    self:_add(item)
    if type:match '^fun' then self:_add_members(item.type) end
  end
end

function Facts:_add_comment(doc, known)
  for _, item in ipairs(doc.params) do
    self:_add(item)
    self:_add_members(item.type)
  end
  for _, item in ipairs((arguments.take(doc.paragraphs, known))) do self:_add(item) end
  for _, overload in ipairs(doc.overloads) do self:_add_members(overload) end
  for _, item in ipairs(doc.fields) do self:_add(item, true) end
end

-- Returns the comments that a comment refers to: 'arguments as Conv1d', 'Options as Adam's', 'The same of (N, C, H,
-- W)', and the comment of the class that it extends.
local function referred(entry)
  local found = {}
  for _, paragraph in ipairs(entry.doc.paragraphs) do
    local name = paragraph:match '[Aa]rguments as ([%a_][%w_]*)' or paragraph:match '[Oo]ptions as ([%a_][%w_]*)'
    found[#found + 1] = name and source.find(entry.module, name) or nil
    if paragraph:match '^The same%f[%W]' then found[#found + 1] = source.class_before(entry) end
  end
  found[#found + 1] = entry.doc.base and source.class(entry.doc.base) or nil
  return found
end

-- Returns the comments and those that they refer to, recursively.
local function with_referred(entries)
  local all, seen = {}, {}
  local function add(entry)
    if seen[entry] then return end
    seen[entry] = true
    all[#all + 1] = entry
    for _, other in ipairs(referred(entry)) do add(other) end
  end
  for _, entry in ipairs(entries) do add(entry) end
  return all
end

local function facts_of(entries, known)
  local facts = setmetatable({}, Facts)
  for _, entry in ipairs(with_referred(entries)) do facts:_add_comment(entry.doc, known) end
  return facts
end

local function parameter(name, value, optional, fact)
  fact = fact or {text = ''}
  if type(value) == 'boolean' then fact.type = fact.type or 'boolean' end
  return {
    name = name, optional = optional or nil, keyword = optional or nil, default = lua_text(value),
    type = fact.type or TYPES[name] or type_of_value(value) or 'any',
    -- The description of a tensor field does not describe the flag that requests it.
    text = fact.text ~= '' and fact.text or type(value) ~= 'boolean' and fact.field_text or '',
  }
end

local function bound_params(bound, entries)
  local facts, params = facts_of(entries, bound.known), {}
  for i, name in ipairs(bound.names) do
    if not name:match '^_' then
      params[#params + 1] = parameter(name, bound.defaults[name], not bound.required[i], facts[name])
    end
  end
  return params
end

local function type_of_text(text)
  if text == 'true' or text == 'false' then return 'boolean' end
  if text:match "^'" then return 'string' end
  return text:match '^{' and 'number[]' or tonumber(text) and 'number' or 'any'
end

-- Returns the options that the sentence 'Options: …' lists, with their defaults.
local function noted_options(entries)
  local params, seen = {}, {}
  for _, entry in ipairs(with_referred(entries)) do
    for _, note in ipairs((arguments.take(entry.doc.paragraphs))) do
      if note.value and not seen[note.name] then
        seen[note.name] = true
        params[#params + 1] = {name = note.name, type = TYPES[note.name] or type_of_text(note.value), optional = true,
                               keyword = true, default = note.value, text = note.text}
      end
    end
  end
  return params
end

local function keyword_fields(fields)
  local params = {}
  for i, field in ipairs(fields) do
    params[i] = {name = field.name, type = field.type, optional = true, keyword = true, text = field.text}
  end
  return params
end

-- Returns the fields of a trailing `options`; its text is assigned to the field that it names first.
local function fields_of(item, entries)
  if item.name ~= 'options' then return nil end
  local fields = comment.members(item.type)
  local named = not fields and (source.find(entries[1].module, item.type) or source.class(item.type))
  if named then return keyword_fields(named.doc.fields) end
  if not fields then
    local noted = item.type == 'table' and noted_options(entries) or {}
    return #noted > 0 and noted or nil
  end
  local params, first, at = keyword_fields(fields), 1, math.huge
  for i, field in ipairs(fields) do
    local found = item.text:find('%f[%w_]' .. field.name .. '%f[^%w_]')
    if found and found < at then first, at = i, found end
  end
  params[first].text = item.text
  return params
end

local function documented_params(items, entries)
  local params = {}
  for _, item in ipairs(items) do
    local fields = fields_of(item, entries)
    for _, field in ipairs(fields or {}) do params[#params + 1] = field end
    if not fields then
      params[#params + 1] = {name = item.name, type = item.type, optional = item.optional, text = item.text}
    end
  end
  return params
end

local function results_of(entry, guess)
  local returns = entry and entry.doc.returns or {}
  if #returns > 0 then return returns end
  return guess and {{type = guess, text = ''}} or {}
end

---Returns how a function is called that is known only from its comment.
---@param entry DocEntry
---@return DocCall
function signature.of_comment(entry)
  return {params = documented_params(entry.doc.params, {entry}), results = results_of(entry)}
end

---Returns how a function is called.
---@param fn function
---@param entry? DocEntry its comment
---@param guess? string type of its result if the comment gives none
---@return DocCall|nil call nil if neither the function nor a comment says so
function signature.of_function(fn, entry, guess)
  local bound = args.signature_of(fn)
  if bound then return {params = bound_params(bound, {entry}), results = results_of(entry, guess)} end
  return entry and signature.of_comment(entry)
end

local function config_params(of, entry)
  local facts, params = facts_of({entry}), {}
  for _, field in ipairs(of._fields) do
    if not field.removed then
      local param = parameter(field[1], field.default, true, facts[field[1]])
      if field.absent and param.text == '' then param.text = field.absent end
      params[#params + 1] = param
    end
  end
  return params
end

---Returns how a class is called to make an instance.
---@param of table
---@param entry DocEntry its comment
---@return DocCall
function signature.of_class(of, entry)
  local results = {{type = entry.doc.class, text = ''}}
  if of._fields and type(of._fields[1]) == 'table' then return {params = config_params(of, entry), results = results} end
  local init = of.init
  local own = init and source.of_function(init)
  -- Optimizers declare their options next to init.
  local bound = of._options and of._options.signature or init and args.signature_of(init)
  if bound then return {params = bound_params(bound, {entry, own}), results = results} end
  local items = own and own.doc.params or {}
  if #items == 0 then items = entry.doc.overloads[1] and comment.members(entry.doc.overloads[1]) or {} end
  return {params = documented_params(items, {entry, own}), results = results}
end

---Returns the comments that say how a class is called: its own, its init's, and those that these refer to.
---@param of table
---@param entry DocEntry comment of the class
---@return DocEntry[]
function signature.comments_of(of, entry)
  return with_referred{entry, of.init and source.of_function(of.init)}
end

---Returns the comment's paragraphs without the sentence that lists the arguments.
---@param entry DocEntry
---@return string[]
function signature.paragraphs(entry)
  local _, rest = arguments.take(entry.doc.paragraphs)
  return rest
end

---Formats the call.
---@param name string
---@param call DocCall
---@return string
---
---```lua
---local signature = require 'rtrain.doc.signature'
---local call = {params = {{name = 'x'}, {name = 'dim', default = '0'}, {name = 'out', keyword = true}}, results = {}}
---assert(signature.text('f', call) == 'f(x, dim = 0, {out})')
---```
function signature.text(name, call)
  local positional, keywords = {}, {}
  for _, param in ipairs(call.params) do
    local list = param.keyword and keywords or positional
    local default = param.default and param.default ~= 'nil' and ' = ' .. param.default
    list[#list + 1] = param.name .. (default or param.optional and not param.keyword and '?' or '')
  end
  if #keywords > 0 then positional[#positional + 1] = '{' .. table.concat(keywords, ', ') .. '}' end
  local results = {}
  for i, result in ipairs(call.results) do results[i] = result.name or result.type end
  local arrow = #results > 0 and ' → ' .. table.concat(results, ', ') or ''
  return ('%s(%s)%s'):format(name, table.concat(positional, ', '), arrow)
end

return signature
