-- rtrain/doc/page.lua: collects the documentation of a thing as plain data, which `rtrain doc --json` prints.

local catalog = require 'rtrain.doc.catalog'
local class = require 'base.class'
local descriptions = require 'rtrain.doc.descriptions'
local members = require 'rtrain.doc.members'
local operator = require 'rtrain.doc.operator'
local signature = require 'rtrain.doc.signature'
local source = require 'rtrain.doc.source'
local torch = require 'torch'

local page = {}

---@class DocPage
---@field name string as users write it: 'nn.Linear'
---@field path string 'torch.nn.Linear'
---@field kind string as in DocThing
---@field require? string the module to require
---@field extends? string
---@field signatures string[]
---@field text string[] paragraphs
---@field parameters table[] {name, type, default, text}
---@field returns table[] {type, name, text}
---@field forward? table call of a layer: {signature, parameters, returns, text}
---@field fields table[] {name, type, text}
---@field methods table[] {name, text}
---@field names table[] {name, kind, text}
---@field examples string[]
---@field notes? string[] remarks on names that the lists leave out

local SHORT = {
  {'torch.nn.functional.', 'F.'}, {'torch.nn.', 'nn.'}, {'torch.Tensor.', 'x:'}, {'base.class.', 'class.'},
  {'rtrain.', 'train.'},
}

-- Returns a path as users write it.
local function short(path)
  if catalog.is_required(path) then return path end
  for _, pair in ipairs(SHORT) do
    if path:sub(1, #pair[1]) == pair[1] then return pair[2] .. path:sub(#pair[1] + 1) end
  end
  return path
end

---Returns the text up to the first full stop before a new sentence.
---@param text string
---@return string
function page.first_sentence(text)
  local from = 1
  while true do
    local stop, after = text:match('()%.%s+()%S', from)
    if not stop then return (text:gsub('%.$', '')) end
    if text:match('^%u', after) and not text:sub(1, stop):match 'et al%.$' then return text:sub(1, stop - 1) end
    from = after
  end
end

---Returns the first sentence of a comment, '' without a comment.
---@param entry? DocEntry
---@return string
function page.summary(entry) return page.first_sentence(entry and signature.paragraphs(entry)[1] or '') end

local function module_of(thing)
  while thing and thing.kind ~= 'module' do thing = thing.owner end
  return thing and thing.path
end

-- Returns the call as a method: without the tensor before the colon and, as in Python, without `out`.
local function without_self(call, place)
  local out = {params = {}, results = call.results, takes_many = call.takes_many}
  for i, param in ipairs(call.params) do
    if i ~= place and not (param.name == 'out' and param.keyword) then out.params[#out.params + 1] = param end
  end
  return out
end

-- Returns the calls of an operator that a tensor has as methods.
local function as_methods(calls)
  local methods = {}
  for _, call in ipairs(calls) do
    for place, param in ipairs(call.params) do
      if param.is_self then methods[#methods + 1] = without_self(call, place) end
    end
  end
  return methods
end

-- Adds the descriptions of parameters and results from the comment, if there is one.
local function described(calls, entry)
  if not entry then return calls end
  local texts, returns = {}, entry.doc.returns
  for _, item in ipairs(entry.doc.params) do texts[item.name] = item.text end
  for _, call in ipairs(calls) do
    for _, param in ipairs(call.params) do param.text = texts[param.name] end
    for i, result in ipairs(call.results) do
      local said = (#call.results == #returns or i == 1) and returns[i] or nil
      result.text = said and said.text or result.text
      result.name = result.name or said and #call.results == #returns and said.name or nil
    end
  end
  return calls
end

-- The engine's own functions and methods take precedence over operators of the same name.
local function is_own(name, is_method)
  local C = require 'torch._C'
  if not is_method then return type(C[name]) == 'function' end
  for _, other in ipairs((C.tensor_members())) do
    if other == name then return true end
  end
  return false
end

---Returns every way to call a thing.
---@param thing DocThing
---@return DocCall[] calls empty if the thing cannot be called
function page.calls(thing)
  local entry = thing.entry
  local is_method = thing.owner ~= nil and thing.owner.path == 'torch.Tensor'
  if is_method and type(thing.value) == 'function' then
    return {without_self(signature.of_function(thing.value, entry, 'torch.Tensor'), 1)}
  end
  if thing.kind == 'operator' or (thing.kind == 'method' and is_method) then
    local has_engine = pcall(require, 'torch._C')
    if not has_engine or is_own(thing.operator or thing.name, is_method) then
      return entry and {signature.of_comment(entry)} or {}
    end
    local calls = described(operator.calls(thing.operator or thing.name), entry)
    if #calls == 0 then return entry and {signature.of_comment(entry)} or {} end
    return is_method and as_methods(calls) or calls
  end
  if thing.kind == 'class' then return thing.value and entry and {signature.of_class(thing.value, entry)} or {} end
  if thing.kind == 'module' then return entry and {signature.of_comment(entry)} or {} end
  if thing.kind == 'method' and thing.value == nil then return entry and {signature.of_comment(entry)} or {} end
  if type(thing.value) ~= 'function' then return {} end
  local is_tensor_function = thing.owner.path == 'torch.nn.functional' or thing.owner.path == 'torch.nn.init'
  return {signature.of_function(thing.value, entry, is_tensor_function and 'torch.Tensor' or nil)}
end

local function add_once(list, text)
  for _, other in ipairs(list) do
    if other == text then return end
  end
  list[#list + 1] = text
end

---Returns a thing's name as users write it: 'nn.Linear', 'x:view'.
---@param thing DocThing
---@return string
function page.written_name(thing)
  if thing.kind ~= 'method' then return short(thing.path) end
  if thing.owner.path == 'torch.Tensor' then return 'x:' .. thing.name end
  local separator = thing.entry and thing.entry.is_method == nil and '.' or ':'
  return short(thing.owner.path) .. separator .. thing.name
end

local function value_text(value)
  if class.of(value) then return tostring(value) end
  if type(value) == 'string' then return ("'%s'"):format(value) end
  return type(value) == 'number' and ('%.17g'):format(value) or type(value)
end

local function signatures_of(thing, calls)
  if thing.kind == 'value' then return {('%s = %s'):format(short(thing.path), value_text(thing.value))} end
  local out = {}
  for _, call in ipairs(calls) do add_once(out, signature.text(page.written_name(thing), call)) end
  if thing.kind ~= 'operator' or thing.owner.path ~= 'torch' then return out end
  for _, call in ipairs(as_methods(calls)) do add_once(out, signature.text('x:' .. thing.name, call)) end
  return out
end

local function merge_type(known, other)
  if known == other or known == 'any' then return other end
  return known .. '|' .. other
end

local function parameter_of(call, param)
  local many = call.takes_many and param.type == 'integer[]'
  return {name = param.name, type = many and 'integer[]|integer...' or param.type, default = param.default,
                    text = param.text ~= '' and param.text or nil}
end

-- Returns the parameters of all overloads, each name once, with all its types.
local function parameters_of(calls)
  local list, known = {}, {}
  for _, call in ipairs(calls) do
    for _, param in ipairs(call.params) do
      local one = parameter_of(call, param)
      local other = known[param.name]
      if not other then
        known[param.name] = one
        list[#list + 1] = one
      elseif not ('|' .. other.type .. '|'):find('|' .. one.type .. '|', 1, true) then
        other.type = merge_type(other.type, one.type)
      end
    end
  end
  return list
end

local function items_of(items)
  local out = {}
  for i, item in ipairs(items) do
    out[i] = {name = item.name, type = item.type, text = item.text ~= '' and item.text or nil}
  end
  return out
end

-- Returns the results of the call that returns the most.
local function returns_of(calls)
  local results = {}
  for _, call in ipairs(calls) do
    if #call.results > #results then results = call.results end
  end
  return items_of(results)
end

local function methods_of(thing)
  local out = {}
  if thing.path == 'torch.Tensor' then
    for _, name in ipairs(descriptions.names 'Tensor') do
      out[#out + 1] = {name = name, text = page.summary(descriptions.find('Tensor', name))}
    end
    return out
  end
  if thing.kind ~= 'class' then return out end
  for _, method in ipairs(members.methods(thing, true)) do
    if method.entry then
      local text = page.summary(method.entry)
      -- A comment without text is represented by its signature.
      text = text ~= '' and text or signature.text(method.name, page.calls(method)[1])
      out[#out + 1] = {name = method.name, text = text}
    end
  end
  return out
end

-- Returns how instances of a layer are called, if its class or a base class below nn.Module says so.
local function forward_of(thing)
  local forward = thing.kind == 'class' and thing.value and thing.value.forward
  local entry = type(forward) == 'function' and source.of_function(forward)
  if not entry or entry.module == 'torch.nn.module' then return nil end
  local call = signature.of_function(forward, entry)
  return {signature = signature.text('forward', call), parameters = torch.list(parameters_of{call}),
          returns = torch.list(items_of(call.results)), text = torch.list(signature.paragraphs(entry))}
end

---Returns a one-sentence description of a module.
---@param path string
---@return string
function page.module_summary(path)
  return source.capitalized(page.first_sentence(source.summary(path)))
end

local function summary_of(thing)
  if thing.kind == 'module' then return page.module_summary(thing.path) end
  if thing.kind == 'value' then return value_text(thing.value) end
  local text = page.summary(thing.entry)
  return text ~= '' and text or nil
end

-- For torch: its own names and the described operators.
local function public_names(thing)
  local names, seen = catalog.names(thing.value), {}
  for _, name in ipairs(names) do seen[name] = true end
  for _, name in ipairs(thing.path == 'torch' and descriptions.names 'torch' or {}) do
    if not seen[name] then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function names_of(thing)
  local out = {}
  if thing.kind ~= 'module' then return out end
  for _, name in ipairs(public_names(thing)) do
    local member = members.find(thing, name)
    out[#out + 1] = {name = name, kind = member.kind, text = summary_of(member)}
  end
  return out
end

-- Remarks on names that a page cannot list.
local NOTES = {
  torch = 'Every ATen operator is a function of torch, also those that are not listed here: rtrain doc torch.NAME.',
  ['torch.Tensor'] = 'Every operator that takes a tensor first is a method too: x:matmul(y) is torch.matmul(x, y). Those '
    .. 'that end in _ change the tensor and return it.',
}

local function notes_of(thing)
  local note = NOTES[thing.path]
  local plain = not thing.entry and thing.name:match '^(.+)_$'
  if plain and (descriptions.find('torch', plain) or descriptions.find('Tensor', plain)) then
    note = ('In place: changes the tensor and returns it. What it does: rtrain doc torch.%s.'):format(plain)
  end
  return note and {note}
end

local function text_of(thing)
  if thing.kind == 'field' then return {thing.value.text} end
  if thing.kind == 'module' and not thing.entry then return {page.module_summary(thing.path)} end
  return thing.entry and signature.paragraphs(thing.entry) or {}
end

---@param thing DocThing
---@return DocPage page empty lists are marked as lists
function page.of(thing)
  local entry, calls = thing.entry, page.calls(thing)
  local doc = entry and entry.doc
  return {
    name = page.written_name(thing), path = thing.path, kind = thing.kind, require = module_of(thing),
    extends = doc and doc.base, signatures = torch.list(signatures_of(thing, calls)),
    text = torch.list(text_of(thing)),
    type = thing.kind == 'field' and thing.value.type or nil,
    parameters = torch.list(parameters_of(calls)),
    returns = torch.list(thing.kind == 'class' and {} or returns_of(calls)),
    forward = forward_of(thing), fields = torch.list(items_of(doc and doc.fields or {})),
    methods = torch.list(methods_of(thing)),
    names = torch.list(names_of(thing)), notes = notes_of(thing),
    examples = torch.list(doc and doc.examples or {}),
  }
end

return page
