-- rtrain/doc/markdown.lua: formats a page as Markdown, for notebooks.

local markdown = {}

local function add_section(lines, title, items, line_of)
  if #items == 0 then return end
  lines[#lines + 1] = ('**%s**\n'):format(title)
  for _, item in ipairs(items) do lines[#lines + 1] = '- ' .. line_of(item) end
  lines[#lines + 1] = ''
end

local function joined(parts, text) return text and text ~= '' and parts .. ': ' .. text or parts end

local function parameter_line(item)
  local head = ('`%s` (%s)'):format(item.name, item.type)
  if item.default and item.default ~= 'nil' then head = ('`%s` (%s, default %s)'):format(item.name, item.type, item.default) end
  return joined(head, item.text)
end

local function typed_line(item)
  return joined(item.name and ('`%s` (%s)'):format(item.name, item.type) or ('`%s`'):format(item.type), item.text)
end

local function named_line(item) return joined(('`%s`'):format(item.name), item.text or item.kind) end

local function fenced(code) return ('```lua\n%s\n```\n'):format(code) end

---Returns a page as Markdown.
---@param page DocPage
---@return string
---
---```lua
---local page = require 'rtrain.doc'.describe 'nn.Linear'
---assert(require 'rtrain.doc.markdown'.of(page):find('- `bias` (', 1, true))
---```
function markdown.of(page)
  local lines = {}
  if #page.signatures > 0 then
    lines[1] = fenced(table.concat(page.signatures, '\n'))
  else
    lines[1] = ('**%s**\n'):format(page.name)
  end
  for _, text in ipairs(page.text) do lines[#lines + 1] = text .. '\n' end
  add_section(lines, 'Parameters', page.parameters, parameter_line)
  add_section(lines, 'Returns', page.returns, typed_line)
  if page.forward then
    lines[#lines + 1] = '**Call**\n\n' .. fenced(page.forward.signature)
    for _, text in ipairs(page.forward.text) do lines[#lines + 1] = text .. '\n' end
    add_section(lines, 'Parameters of the call', page.forward.parameters, parameter_line)
    add_section(lines, 'Returns of the call', page.forward.returns, typed_line)
  end
  add_section(lines, 'Fields', page.fields, typed_line)
  add_section(lines, 'Methods', page.methods, named_line)
  add_section(lines, 'Names', page.names, named_line)
  for _, example in ipairs(page.examples) do lines[#lines + 1] = fenced(example) end
  for _, note in ipairs(page.notes or {}) do lines[#lines + 1] = note .. '\n' end
  return table.concat(lines, '\n')
end

return markdown
