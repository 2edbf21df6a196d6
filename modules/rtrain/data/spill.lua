-- rtrain/data/spill.lua: blocks that are put aside in temporary files, as Arrow IPC, in runs that are read once.
--
-- The folder is removed as soon as all runs are open for reading, so that nothing stays behind when the process dies later;
-- until then close() or the collector removes it, and a worker's folder goes with the attempt.

local Block = require 'rtrain.data.block'
local class = require 'rtrain.class'
local column = require 'rtrain.data.column'
local session = require 'rtrain.session'
local Strings = require 'rtrain.data.strings'

---A set of runs. Each run is a list of blocks, written at once and read once, in order.
---@class data.Spill
---@overload fun(): data.Spill
local Spill = class('Spill', nil, {userdata = true})

function Spill:init() self._runs = 0 end

local function make_folder()
  if session.peek() then return require('rtrain._worker').make_tempdir() end
  return require('rtrain._system').make_temp('rtrain-data-')
end

local function path_of(self, run) return ('%s/run-%d.arrow'):format(self._folder, run) end

-- Lua values travel as bytes, one string for each row: whatever they are, they come back the same.
local function encoded(of)
  if column.is_tensor(of) or column.is_strings(of) then return of end
  local closure, values, out = require 'rtrain._closure', of:values(), {}
  for i = 1, of:len() do
    if values[i] ~= nil then out[i] = closure.dump(values[i]) end
  end
  return Strings.from_list(out, of:len(), true)
end

local function decoded(of)
  local closure, values, out = require 'rtrain._closure', of:values(), {}
  for i = 1, of:len() do
    if values[i] ~= nil then out[i] = closure.load(values[i]) end
  end
  return require 'rtrain.data.objects'(out, of:len())
end

local function encoded_block(block)
  local objects = {}
  for _, name in ipairs(block:names()) do
    local of = block:column(name)
    local plain = encoded(of)
    if plain ~= of then
      block = block:with(name, plain)
      objects[#objects + 1] = name
    end
  end
  return block, objects
end

---Writes a run.
---@param blocks data.Block[] with the same columns
function Spill:write(blocks)
  self._folder = self._folder or make_folder()
  self._objects = self._objects or {}
  self._runs = self._runs + 1
  local writer = require('rtrain._arrow').ipc_writer(path_of(self, self._runs))
  for i, block in ipairs(blocks) do
    local plain, objects = encoded_block(block)
    self._objects[self._runs] = self._objects[self._runs] or {}
    self._objects[self._runs][i] = objects
    writer:write(plain:to_arrow())
  end
  writer:close()
end

---@return integer number of runs
function Spill:num_runs() return self._runs end

local function reader(self, run)
  local cursor, i = require('rtrain._arrow').open_ipc(path_of(self, run)), 0
  return function()
    local batch = cursor:next()
    if batch == nil then return nil end
    i = i + 1
    local block = Block.from_arrow(batch)
    for _, name in ipairs(self._objects[run][i]) do block = block:with(name, decoded(block:column(name))) end
    return block
  end
end

---Opens all runs for reading and removes their names.
---@return (fun(): data.Block|nil)[] one stream for each run
function Spill:open()
  local out = {}
  for run = 1, self._runs do out[run] = reader(self, run) end
  self:close()
  return out
end

---Removes the folder. Streams that are open go on.
function Spill:close()
  if self._folder then require('rtrain._system').remove_tree(self._folder) end
  self._folder = nil
end

function Spill:__gc() self:close() end

return Spill
