-- rtrain/tryout/files.lua: what the ranks of a script that is tried out tell the command: files in a folder of
-- its own. The first one of a name stays.

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
---@return table? value nil where there is none
function files.read(folder, name)
  local bytes = read_file(path_of(folder, name))
  return bytes and closure.load(bytes)
end

---What rank 0 has seen. Raises code 'user' where it has ended no train function.
---@param folder string
---@param script string
---@return table found
function files.first(folder, script)
  local first = files.read(folder, 'rank-0')
  if not first then errors.raise('user', script .. ' ended without a call of fit(): there is nothing to try out') end
  return first
end

return files
