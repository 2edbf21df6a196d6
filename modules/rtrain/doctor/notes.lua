-- rtrain/doctor/notes.lua: what the workers of a test have found, in files of a folder: so it is there too when a worker
-- hangs or dies.

local json = require 'json'
local read_file = require 'base.read_file'
local write_file = require 'base.write_file'

local notes = {}

local function path_of(folder, name) return ('%s/%s.json'):format(folder, name) end

---Writes the note of that name, in place of an earlier one.
---@param folder string
---@param name string
---@param value table
function notes.write(folder, name, value) write_file(path_of(folder, name), json.encode(value)) end

---@param folder string
---@param name string
---@return table? value nil if nobody has written it
function notes.read(folder, name)
  local text = read_file(path_of(folder, name))
  return text and json.decode(text)
end

---Returns the notes 'NAME-0', 'NAME-1', … of the ranks, by rank from 1; false for a rank without one.
---@param folder string
---@param name string
---@param num integer of ranks
---@return (table|false)[]
function notes.of_ranks(folder, name, num)
  local out = {}
  for rank = 0, num - 1 do out[rank + 1] = notes.read(folder, ('%s-%d'):format(name, rank)) or false end
  return out
end

return notes
