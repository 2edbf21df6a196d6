-- rtrain/doc/declaration.lua: formats a function, class or field as LuaCATS lines for a language server.

local layout = require 'rtrain.doc.layout'

local declaration = {}

local WIDTH = 116

local function add_text(lines, entry)
  for i, paragraph in ipairs(entry and entry.doc.paragraphs or {}) do
    if i > 1 then lines[#lines + 1] = '---' end
    for _, line in ipairs(layout.wrap(paragraph, WIDTH)) do lines[#lines + 1] = '---' .. line end
  end
  for _, example in ipairs(entry and entry.doc.examples or {}) do
    lines[#lines + 1] = '---'
    lines[#lines + 1] = '---```lua'
    for line in (example .. '\n'):gmatch '(.-)\n' do lines[#lines + 1] = '---' .. line end
    lines[#lines + 1] = '---```'
  end
end

-- Returns the parameters of a call as a Lua function has them: `given` first, then one table with all optional ones.
local function form(params, is_given)
  local out, fields = {}, {}
  for _, param in ipairs(params) do
    if is_given(param) then
      out[#out + 1] = {name = param.name, type = param.type, optional = param.optional, text = param.text,
                       default = param.default}
    end
    if param.optional then fields[#fields + 1] = ('%s?: %s'):format(param.name, param.type) end
  end
  local last = out[#out]
  if #fields > 0 and not (last and last.name == '...') then
    out[#out + 1] = {name = 'options', type = '{' .. table.concat(fields, ', ') .. '}', optional = true}
  end
  return out
end

local function by_position(param) return not param.keyword end
local function required(param) return not param.keyword and not param.optional end

-- Returns the ways to write a call in Lua: optional arguments by position, or all in the trailing table; sizes one by
-- one.
local function forms_of(call)
  local forms = {form(call.params, by_position)}
  local some_optional = false
  for _, param in ipairs(call.params) do some_optional = some_optional or (param.optional and not param.keyword) end
  if some_optional then forms[2] = form(call.params, required) end
  if call.takes_many then
    local several = {}
    for _, param in ipairs(call.params) do
      if required(param) then
        local many = param.type == 'integer[]'
        several[#several + 1] = {name = many and '...' or param.name, type = many and 'integer' or param.type}
      end
    end
    forms[#forms + 1] = several
  end
  return forms
end

local function results_text(results)
  local types = {}
  for i, result in ipairs(results) do types[i] = result.type end
  return #types > 0 and ': ' .. table.concat(types, ', ') or ''
end

---Returns a call as a function type: 'fun(input: torch.Tensor, dim?: integer): torch.Tensor'.
---@param params DocParameter[]
---@param results DocItem[]
---@return string
function declaration.type_of(params, results)
  local parts = {}
  for i, param in ipairs(params) do
    parts[i] = ('%s%s: %s'):format(param.name, param.optional and param.name ~= '...' and '?' or '', param.type)
  end
  return ('fun(%s)%s'):format(table.concat(parts, ', '), results_text(results))
end

local function add_overloads(lines, calls, options)
  local seen = {}
  for i, call in ipairs(calls) do
    for k, params in ipairs(forms_of(call)) do
      if options.self then table.insert(params, 1, {name = 'self', type = options.self}) end
      local type = declaration.type_of(params, options.results or call.results)
      local is_main = i == 1 and k == 1 and not options.all
      if not is_main and not seen[type] then lines[#lines + 1] = '---@overload ' .. type end
      seen[type] = true
    end
  end
end

local function add_params(lines, params)
  for _, param in ipairs(params) do
    local optional = param.optional and param.name ~= '...' and '?' or ''
    local text = param.text and param.text ~= '' and ' ' .. param.text or ''
    local default = param.default and param.default ~= 'nil' and (' (default %s)'):format(param.default) or ''
    lines[#lines + 1] = ('---@param %s%s %s%s%s'):format(param.name, optional, param.type, default, text)
  end
end

local function add_results(lines, results)
  for _, result in ipairs(results) do
    local text = result.text and result.text ~= '' and result.text or nil
    local rest = result.name and result.name .. (text and ' ' .. text or '') or text and '# ' .. text
    lines[#lines + 1] = ('---@return %s%s'):format(result.type, rest and ' ' .. rest or '')
  end
end

---Adds a function: its text, one form as parameters and the others as overloads.
---@param lines string[] the lines are appended to this list
---@param name string 'torch.sum' or 'Tensor:sum'
---@param calls DocCall[] at least one
---@param entry? DocEntry
---@param class? string the class of a method
function declaration.add_function(lines, name, calls, entry, class)
  lines[#lines + 1] = ''
  add_text(lines, entry)
  if entry and entry.doc.generic then lines[#lines + 1] = '---@generic ' .. entry.doc.generic end
  local main = forms_of(calls[1])[1]
  add_params(lines, main)
  add_results(lines, calls[1].results)
  add_overloads(lines, calls, {self = class})
  local names = {}
  for i, param in ipairs(main) do names[i] = param.name end
  lines[#lines + 1] = ('function %s(%s) end'):format(name, table.concat(names, ', '))
end

local function add_fields(lines, entry)
  for _, field in ipairs(entry.doc.fields) do
    local text = field.text ~= '' and ' ' .. field.text or ''
    lines[#lines + 1] = ('---@field %s%s %s%s'):format(field.name, field.optional and '?' or '', field.type, text)
  end
end

---Adds a class: its text, its fields and how it is called.
---@param lines string[] the lines are appended to this list
---@param name string 'nn.Linear'
---@param calls DocCall[]
---@param entry DocEntry describes a class
---@param more? string[] further lines of the class
function declaration.add_class(lines, name, calls, entry, more)
  lines[#lines + 1] = ''
  add_text(lines, entry)
  local base = entry.doc.base and ': ' .. entry.doc.base or ''
  lines[#lines + 1] = ('---@class %s%s'):format(entry.doc.class, base)
  add_fields(lines, entry)
  for _, line in ipairs(more or {}) do lines[#lines + 1] = line end
  add_overloads(lines, calls, {all = true, results = {{type = entry.doc.class}}})
  lines[#lines + 1] = name .. ' = {}'
end

return declaration
