-- rtrain/doc/site/examples.lua: writes an example as HTML: what its first comment and the examples' README say, and the script.

local html = require 'rtrain.doc.site.html'
local inline = require 'rtrain.doc.site.inline'

local examples = {}

-- Returns the first comment of a script as lines, and the rest.
local function divided(text)
  local lines, at = {}, 1
  while true do
    local line, behind = text:match('^%-%- ?([^\n]*)\n()', at)
    if not line then return lines, text:sub(at):gsub('^\n+', '') end
    lines[#lines + 1], at = line, behind
  end
end

-- Returns the lines as paragraphs, and those that stand further right as what the script prints or what is typed.
local function comment(lines, links)
  local out, words, printed = {}, {}, {}
  local function flush()
    if #words > 0 then
      local ok, spans = pcall(inline.read, table.concat(words, ' '))
      spans = ok and spans or {{kind = 'text', text = table.concat(words, ' ')}}
      out[#out + 1] = html.element('p', nil, html.spans(spans, links))
    end
    if #printed > 0 then out[#out + 1] = html.code_block(table.concat(printed, '\n'), 'text') end
    words, printed = {}, {}
  end
  for _, line in ipairs(lines) do
    local is_printed = line:match '^  '
    if line == '' or is_printed and #words > 0 or not is_printed and #printed > 0 then flush() end
    if is_printed then
      printed[#printed + 1] = line:sub(3)
    elseif line ~= '' then
      words[#words + 1] = line
    end
  end
  flush()
  return table.concat(out, '\n')
end

-- Returns the rows of the README's tables that begin with the script.
local function rows_about(name, blocks, links)
  local out = {}
  for _, block in ipairs(blocks) do
    for i = 2, block.kind == 'table' and #block.rows or 0 do
      local row, head = block.rows[i], block.rows[1]
      if inline.plain(row[1]) == name then
        local rows = {}
        for column = 2, #row do
          rows[#rows + 1] = {html.spans(head[column], links), html.spans(row[column], links)}
        end
        out[#out + 1] = html.table({'About', name}, rows)
      end
    end
  end
  return table.concat(out, '\n')
end

-- Returns the blocks of the README's section about the script.
local function section_about(name, blocks)
  local section, is_inside = {}, false
  for _, block in ipairs(blocks) do
    if block.kind == 'heading' then
      is_inside = inline.plain(block.spans) == name
    elseif is_inside then
      section[#section + 1] = block
    end
  end
  return section
end

---Returns the page of an example.
---@param name string 'hello.lua'
---@param text string the script
---@param readme MarkdownBlock[] of the examples
---@param links HtmlLinks
---@return string html
function examples.page(name, text, readme, links)
  local head, script = divided(text)
  local section = section_about(name, readme)
  return table.concat({
    html.element('h1', nil, html.escape(name)), comment(head, links), rows_about(name, readme, links),
    html.blocks(section, links), html.heading(2, 'script', 'The script'), html.code_block(script, 'lua'),
  }, '\n')
end

return examples
