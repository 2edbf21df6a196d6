-- rtrain/doc/site/reference.lua: writes the documentation of a module as HTML.

local html = require 'rtrain.doc.site.html'

local reference = {}

local escape, element = html.escape, html.element

local function code(text) return element('code', nil, escape(text)) end

-- Returns the text of a comment: pieces between ` are code.
local function comment(text, links)
  local _, marks = text:gsub('`', '')
  if marks % 2 == 1 then return escape(text) end
  local out, is_code = {}, false
  for piece in (text .. '`'):gmatch '(.-)`' do
    out[#out + 1] = is_code and html.link(links.code(piece), code(piece)) or escape(piece)
    is_code = not is_code
  end
  return table.concat(out)
end

local function paragraphs(texts, links)
  local out = {}
  for i, text in ipairs(texts or {}) do out[i] = element('p', nil, comment(text, links)) end
  return table.concat(out, '\n')
end

-- Too many types are tensors: a link at each would only be noise.
local TENSOR = 'torch.Tensor'

-- Returns a type with links at the classes in it.
local function type_text(text, links)
  local out, at = {}, 1
  for from, name, to in text:gmatch '()([%a_][%w_.]*)()' do
    local address = name ~= TENSOR and links.code(name) or nil
    out[#out + 1] = escape(text:sub(at, from - 1)) .. html.link(address, escape(name))
    at = to
  end
  return element('code', nil, table.concat(out) .. escape(text:sub(at)))
end

local function type_of(item, links)
  local default = item.default and item.default ~= 'nil' and element('code', nil, ' = ' .. escape(item.default)) or ''
  return (item.type and ' ' .. type_text(item.type, links) or '') .. default
end

-- Returns parameters, results or fields with their types; '' without any. mark: before each of them.
local function items(mark, list, links)
  local out = {}
  for i, item in ipairs(list) do
    local text = item.text and ' ' .. comment(item.text, links) or ''
    local name = item.name and element('b', nil, escape(item.name)) or ''
    out[i] = element('li', nil, mark .. name .. type_of(item, links) .. text)
  end
  return #out > 0 and element('ul', nil, table.concat(out, '\n')) or ''
end

local function examples(list)
  local out = {}
  for i, example in ipairs(list) do out[i] = html.code_block(example, 'lua') end
  return table.concat(out, '\n')
end

local function signatures(doc)
  return #doc.signatures > 0 and element('pre', nil, escape(table.concat(doc.signatures, '\n'))) or ''
end

-- Returns the kind of what is not called, and what a class extends.
local function kind_of(doc, links)
  if doc.kind == 'function' or doc.kind == 'operator' then return '' end
  local kind = escape(doc.kind)
  if doc.extends then kind = kind .. ', extends ' .. html.link(links.code(doc.extends), code(doc.extends)) end
  return element('p', nil, element('em', nil, kind))
end

-- Returns results that have a text or a name: the signature has the types of the others.
local function results_of(list, links)
  local described = {}
  for _, item in ipairs(list) do
    if item.text or item.name then described[#described + 1] = item end
  end
  return items('→ ', described, links)
end

-- Returns the parts that are not empty, each on lines of its own.
local function joined(parts)
  local out = {}
  for _, part in ipairs(parts) do
    if part ~= '' then out[#out + 1] = part end
  end
  return table.concat(out, '\n')
end

-- Returns how instances of a layer are called.
local function forward_of(forward, links)
  if not forward then return '' end
  return joined{element('pre', nil, escape(forward.signature)), paragraphs(forward.text, links),
                items('', forward.parameters, links), results_of(forward.returns, links)}
end

local function fields_of(doc, links)
  return #doc.fields > 0 and element('p', nil, 'Fields:') .. '\n' .. items('', doc.fields, links) or ''
end

local function body(doc, links)
  return joined{
    signatures(doc), paragraphs(doc.text, links), items('', doc.parameters, links), results_of(doc.returns, links),
    forward_of(doc.forward, links), fields_of(doc, links), paragraphs(doc.notes, links), examples(doc.examples),
  }
end

local function method(name, links)
  return html.heading(3, name.id, escape(name.page.name)) .. '\n' .. body(name.page, links)
end

local function section(name, links)
  local out = {html.heading(2, name.id, escape(name.page.name)), kind_of(name.page, links), body(name.page, links)}
  for _, each in ipairs(name.methods) do out[#out + 1] = method(each, links) end
  return joined(out)
end

-- Returns the summary of a module without its own name before it.
local function summary_of(path, text)
  return text:sub(1, #path + 2) == path .. ': ' and text:sub(#path + 3) or text
end

local function modules(list, links)
  if #list == 0 then return '' end
  local rows = {}
  for i, module in ipairs(list) do
    rows[i] = {html.link(links.code(module.path), code(module.path)),
               comment(summary_of(module.path, module.text), links)}
  end
  return html.heading(2, 'page-modules', 'Modules') .. '\n' .. html.table({'Module', 'Is'}, rows)
end

-- Returns the names of what other modules have too.
local function others(list, links)
  if #list == 0 then return '' end
  local out = {}
  for i, other in ipairs(list) do
    out[i] = element('li', nil, element('code', {id = other.name}, escape(other.name)) .. ' is '
      .. html.link(links.code(other.path), code(other.path)))
  end
  return html.heading(2, 'page-others', 'Names of other modules') .. element('ul', nil, table.concat(out, '\n'))
end

local function values(list)
  if #list == 0 then return '' end
  local rows = {}
  for i, value in ipairs(list) do rows[i] = {element('code', {id = value.name}, escape(value.name)), code(value.text)} end
  return html.heading(2, 'page-values', 'Values') .. '\n' .. html.table({'Name', 'Value'}, rows)
end

---Returns the page of a module.
---@param module LibraryModule
---@param links HtmlLinks
---@return string html
function reference.module(module, links)
  local required = module.page.require == module.path and element('p', nil, code(("require '%s'"):format(module.path))) or ''
  local out = {element('h1', nil, code(module.path)), required, body(module.page, links), modules(module.modules, links)}
  for _, name in ipairs(module.names) do out[#out + 1] = section(name, links) end
  out[#out + 1] = others(module.others, links)
  out[#out + 1] = values(module.values)
  return joined(out)
end

---Returns the list of all modules.
---@param list LibraryModule[]
---@param links HtmlLinks
---@return string html
function reference.index(list, links)
  local rows = {}
  for i, module in ipairs(list) do
    rows[i] = {html.link(links.to(module.address), code(module.path)),
               comment(summary_of(module.path, module.page.text[1] or ''), links)}
  end
  return element('h1', nil, 'Library') .. '\n'
    .. element('p', nil, 'Every module, with the signatures of its functions, classes and methods.') .. '\n'
    .. html.table({'Module', 'Is'}, rows)
end

return reference
