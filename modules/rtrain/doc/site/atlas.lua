-- rtrain/doc/site/atlas.lua: where each document and each name of the library stands in the site.

local class = require 'base.class'

local Atlas = class('Atlas')

---@class SiteDocument
---@field source string its path in the source tree: 'modules/rtrain/guide/data.md'
---@field address string of its page, below the site's folder: 'guide-data.html'
---@field title string
---@field blocks MarkdownBlock[]

---@class Atlas
---@field pages table<string, string> path in the source tree → address
---@field guides table<string, string> 'guide/data' → address
---@field commands table<string, string> 'rtrain ls' → address
---@field names table<string, string> 'nn.Linear', 'torch.nn.Linear', 'x:view' → address

function Atlas:init() self.pages, self.guides, self.commands, self.names = {}, {}, {}, {} end

---Adds a page for a file of the source tree.
---@param source string
---@param address string
function Atlas:add_page(source, address) self.pages[source] = address end

---Adds a name of the library. Its first place stays.
---@param name string
---@param address string
function Atlas:add_name(name, address) self.names[name] = self.names[name] or address end

-- Joins the folder of a file with a relative path.
local function joined(from, target)
  local parts = {}
  for part in (from:match '^(.*/)' or ''):gmatch '[^/]+' do parts[#parts + 1] = part end
  for part in target:gmatch '[^/]+' do
    if part == '..' then parts[#parts] = nil else parts[#parts + 1] = part end
  end
  return table.concat(parts, '/')
end

-- Returns the address of what a piece of code names: a guide, a command, an example, a name of the library.
local function address_of_code(self, text)
  if self.guides[text] then return self.guides[text] end
  local asked = text:match '^rtrain doc (%S+)$'
  local answer = asked and (self.guides[asked] or self.guides['guide/' .. asked] or self.names[asked])
  if answer then return answer end
  local command, more = text:match '^rtrain (%l+) ?(%l*)'
  if command then return self.commands[command .. ' ' .. more] or self.commands[command] end
  local script = text:match '^[%w_/]+%.lua$'
  if script then return self.pages[script] or self.pages['examples/' .. script] end
  local name, rest = text:match '^([%a_][%w_.:]*)(.*)$'
  if not name or not (rest == '' or rest:match '^ ?[({]') then return nil end
  return self.names[name]
end

---Returns the links of a page.
---@param address string the page's, below the site's folder
---@param source? string path in the source tree of the document that it shows
---@return HtmlLinks
---
---```lua
---local atlas = require('rtrain.doc.site.atlas')()
---atlas:add_page('guide/data.md', 'guide-data.html')
---atlas:add_name('nn.Linear', 'api/torch.nn.html#Linear')
---local links = atlas:links('api/torch.html', 'guide/lua.md')
---assert(links.link 'data.md#rows' == '../guide-data.html#rows' and links.code 'nn.Linear(1, 2)' == 'torch.nn.html#Linear')
---```
function Atlas:links(address, source)
  local function relative(target)
    if not target then return nil end
    local page, place = target:match '^([^#]*)(.*)$'
    if page == address then return place ~= '' and place or nil end
    local folder = address:match '^(.*/)' or ''
    if folder ~= '' and page:sub(1, #folder) == folder then return page:sub(#folder + 1) .. place end
    return ('../'):rep(select(2, folder:gsub('/', ''))) .. target
  end
  return {
    link = function(target)
      if target:match '^https?://' or target:match '^#' then return target end
      local path, place = target:match '^([^#]*)(.*)$'
      local page = self.pages[joined(source or '', path)]
      return relative(page and page .. place)
    end,
    code = function(text) return relative(address_of_code(self, text)) end,
    word = function(name) return relative(self.guides[name]) end,
    to = relative,
  }
end

return Atlas
