-- rtrain/data/files/partitions.lua: reads columns from the names of folders: 'year=2024/month=01/part.parquet'.

local errors = require 'base.errors'
local files = require 'rtrain.data.files'

local partitions = {}

-- The value that Hive and Spark write for null.
local NULL = '__HIVE_DEFAULT_PARTITION__'

local function decoded(text)
  return (text:gsub('%%(%x%x)', function(digits) return string.char(tonumber(digits, 16)) end))
end

---Returns the columns of a path, from the outer folder to the inner: a list of {name, value}; value is nil for null.
---@param path string or a URI
---@return {name: string, value: string?}[]
---
---```lua
---local partitions = require 'rtrain.data.files.partitions'
---local found = partitions.of '/data/year=2024/month=01/part.csv'
---assert(#found == 2 and found[1].name == 'year' and found[2].value == '01')
---```
function partitions.of(path)
  local out = {}
  for folder in files.without_query(path):gmatch '([^/]*)/' do
    local name, value = folder:match '^([^=]+)=([^=]*)$'
    if name then out[#out + 1] = {name = decoded(name), value = value ~= NULL and decoded(value) or nil} end
  end
  return out
end

local function names_of(path)
  local out = {}
  for i, entry in ipairs(partitions.of(path)) do out[i] = entry.name end
  return out
end

---Returns the names of those columns, which all files must have in the same order.
---@param owner string the function, for messages
---@param paths string[]
---@return string[]
---Errors: 'argument' if the names differ between files.
function partitions.names(owner, paths)
  local first = names_of(paths[1])
  local text = table.concat(first, ', ')
  for _, path in ipairs(paths) do
    local other = table.concat(names_of(path), ', ')
    if other ~= text then
      errors.raise('argument', ("%s: the folders of '%s' name the columns (%s), those of '%s' (%s): read them one by one, or "
        .. 'say partitioning = false'):format(owner, paths[1], text, path, other))
    end
  end
  return first
end

return partitions
