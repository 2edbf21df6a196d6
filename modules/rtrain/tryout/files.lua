-- rtrain/tryout/files.lua: files with the findings of the ranks of a tried-out script, in a separate folder. Of several
-- files of a name the first is kept.

local closure = require 'base._closure'
local errors = require 'base.errors'
local read_file = require 'base.read_file'
local write_file = require 'base.write_file'

local files = {}

local function path_of(folder, name) return ('%s/%s'):format(folder, name) end

---@param folder string
---@param name string
---@return boolean
function files.exists(folder, name)
  local file = io.open(path_of(folder, name), 'rb')
  if file then file:close() end
  return file ~= nil
end

---@param folder string
---@param name string
---@param value table plain data
function files.write(folder, name, value)
  if files.exists(folder, name) then return end
  write_file(path_of(folder, name), closure.dump(value))
end

---@param folder string
---@param name string
---@return table? value nil if there is no such file
function files.read(folder, name)
  local bytes = read_file(path_of(folder, name))
  return bytes and closure.load(bytes)
end

---Returns the findings of rank 0. Raises code 'user' if it has not finished a train function.
---@param folder string
---@param script string
---@return table found
function files.first(folder, script)
  local first = files.read(folder, 'rank-0')
  if not first then errors.raise('user', script .. ' ended without a call of fit(): there is nothing to try out') end
  return first
end

return files
