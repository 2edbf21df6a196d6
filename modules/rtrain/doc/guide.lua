-- rtrain/doc/guide.lua: the guides: pages of Markdown inside the executable (modules/rtrain/guide/).

local errors = require 'base.errors'
local host = require 'rtrain._host'

local guide = {}

---@class Guide
---@field name string 'guide/failures'
---@field kind string 'guide'
---@field title string its first heading
---@field markdown string the whole page

local FOLDER = 'guide/'

-- Names of the previous version, without 'guide/'.
local OLD_NAMES = {hosts = 'nodes'}

---Returns whether the name means a guide: 'guide/failures', also if it does not exist.
---@param text string
---@return boolean
function guide.is_name(text) return text == 'guide' or text:sub(1, #FOLDER) == FOLDER end

---Returns the names of all guides, sorted.
---@return string[]
---
---```lua
---assert(require('rtrain.doc.guide').names()[1] == 'guide/commands')
---```
function guide.names()
  local names = {}
  for i, name in ipairs(host.guide_names()) do names[i] = FOLDER .. name end
  return names
end

---@param name string without 'guide/'
---@return boolean
function guide.exists(name) return host.guide_text(name) ~= nil end

---Returns the guide of that name. Raises code 'not_found' with the nearest name, or the list of all.
---@param name string
---@return Guide
---
---```lua
---local found = require('rtrain.doc.guide').find 'guide/failures'
---assert(found.markdown:match '^# ([^\n]*)' == found.title)
---```
function guide.find(name)
  local new_name = OLD_NAMES[name:sub(#FOLDER + 1)]
  if new_name then
    io.stderr:write(('rtrain: %s is %s%s now; the old name goes with the next version\n'):format(name, FOLDER,
      new_name))
    name = FOLDER .. new_name
  end
  local markdown = host.guide_text(name:sub(#FOLDER + 1))
  if not markdown then
    errors.raise('not_found', ("there is no guide '%s'%s"):format(name, errors.suggestion(name, guide.names())))
  end
  return {name = name, kind = 'guide', title = markdown:match '^# ([^\n]*)' or name, markdown = markdown}
end

return guide
