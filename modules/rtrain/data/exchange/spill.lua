-- rtrain/data/exchange/spill.lua: Spill: stores blocks in temporary files, as Arrow IPC, in runs that are read once.
--
-- The folder is removed as soon as all runs are open for reading, so that nothing remains if the process dies later.
-- Until then close() or the garbage collector removes it, and the end of the attempt removes a worker's folder.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local column = require 'rtrain.data.columns.column'
local Objects = require 'rtrain.data.columns.objects'
local session = require 'rtrain.session'
local Strings = require 'torch.utils.data.strings'

---A set of runs. Each run is a list of blocks, written at once and read once, in order.
---@class data.Spill
---@overload fun(): data.Spill
local Spill = class('Spill', nil, {userdata = true})

function Spill:init() self._runs, self._objects = 0, {} end

local function make_folder()
  if session.peek() then return require('rtrain._worker').make_tempdir() end
  return require('base._system').make_temp('rtrain-data-')
end

local function path_of(self, run) return ('%s/run-%d.arrow'):format(self._folder, run) end

-- Serializes the Lua values of a block into its first row, so that values of any type are restored exactly.
local function encoded(of)
  if not class.is(of, Objects) then return of end
  return Strings.from_list({(require('base._closure').dump(of:values()))}, of:len(), true)
end

local function decoded(of) return Objects(require('base._closure').load(of:value(0)), of:len()) end

-- Returns the block as an Arrow batch, and which of its columns hold Lua values.
local function to_arrow(block)
  local names, columns, is_objects = block:names(), {}, {}
  for i, name in ipairs(names) do
    local of = block:column(name)
    local plain = encoded(of)
    columns[i], is_objects[i] = column.to_arrow(plain), plain ~= of
  end
  return require('torch._C').data.to_arrow(names, columns), is_objects
end

local function from_arrow(batch, is_objects)
  local names, columns = require('torch._C').data.from_arrow(batch)
  for i, of in ipairs(columns) do
    columns[i] = column.unpack(of)
    if is_objects[i] then columns[i] = decoded(columns[i]) end
  end
  return Block(names, columns)
end

---Writes a run.
---@param blocks data.Block[] with the same columns
function Spill:write(blocks)
  self._folder = self._folder or make_folder()
  self._runs = self._runs + 1
  local objects = {}
  self._objects[self._runs] = objects
  local writer = require('base._arrow').ipc_writer(path_of(self, self._runs), {sync = false})
  for i, block in ipairs(blocks) do
    local batch, is_objects = to_arrow(block)
    objects[i] = is_objects
    writer:write(batch)
  end
  writer:close()
end

---@return integer number of runs
function Spill:num_runs() return self._runs end

local function reader(self, run)
  local cursor, i = require('base._arrow').open_ipc(path_of(self, run)), 0
  return function()
    local batch = cursor:next()
    if batch == nil then return nil end
    i = i + 1
    return from_arrow(batch, self._objects[run][i])
  end
end

---Opens all runs for reading and unlinks their files.
---@return (fun(): data.Block|nil)[] one stream for each run
function Spill:open()
  local out = {}
  for run = 1, self._runs do out[run] = reader(self, run) end
  self:close()
  return out
end

---Removes the folder. Open streams stay valid.
function Spill:close()
  if self._folder then require('base._system').remove_tree(self._folder) end
  self._folder = nil
end

function Spill:__gc() self:close() end

return Spill
