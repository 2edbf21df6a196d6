-- rtrain/data/loop/virtual_iterator.lua: VirtualIterator: the shards of this process's virtual ranks as one DataIterator,
-- whose loops give for each step a batch of each.

local class = require 'base.class'
local DataIterator = require 'rtrain.data.loop.iterator'
local errors = require 'base.errors'
local loop = require 'rtrain.virtual.loop'
local seeds = require 'base.seed'

---@class data.VirtualLoop: data.Loop
local VirtualLoop = class('VirtualLoop', nil, {userdata = true})

function VirtualLoop:init(iterator, make) self._iterator, self._make = iterator, make end

-- Returns the next batch of each shard. Where the first one has none, the others end too: their positions are equal.
local function in_turn(nexts)
  local function took(offset, ...)
    if (...) == nil and offset == 0 then
      for i = 2, #nexts do nexts[i]() end
    end
    return ...
  end
  return function(offset) return took(offset, nexts[offset + 1]()) end
end

local function begin(self, lines)
  local iterator = self._iterator
  iterator._ranks:check_loop()
  local shards, nexts = iterator:_shards(), {}
  for i, shard in ipairs(shards) do
    local each = self._make(shard)
    if each._batching.batch_size == nil then
      errors.raise('unsupported', ('%s: blocks as they come, without a batch_size, with virtual_workers: their number may '
        .. 'differ between virtual ranks'):format(tostring(iterator)))
    end
    nexts[i] = each:iter()
  end
  local state, batch_size = shards[1]:state(), self._make(shards[1])._batching.batch_size
  self._next = loop.begin(iterator._ranks, {
    seed = seeds.of(require('torch').initial_seed(), state.epoch), step = math.floor(state.rows / batch_size), lines = lines,
    next_batch = in_turn(nexts)})
end

---Begins an epoch.
---@return fun(): any next_batch nil at the end
function VirtualLoop:iter()
  begin(self, loop.lines(2))
  return self._next
end

-- Called by `for batch in loop do`: Lua passes two values; the second one is nil at the beginning.
function VirtualLoop:__call(...)
  if not self._next or (select('#', ...) == 2 and select(2, ...) == nil) then begin(self, loop.lines(2)) end
  return self._next()
end

---Returns the position of the iterator, as DataIterator:state().
---@return table state
function VirtualLoop:state() return self._iterator:state() end

---@param state table a result of state()
function VirtualLoop:load_state(state) self._iterator:load_state(state) end

---@class data.VirtualIterator: rtrain.data.DataIterator
local VirtualIterator = class('VirtualIterator', nil, {userdata = true})

---@param ranks rtrain.VirtualRanks
---@param make fun(ranks: integer[]): rtrain.data.DataIterator[] makes the shards of these virtual ranks
function VirtualIterator:init(ranks, make)
  self._ranks, self._make = ranks, make
end

-- Returns the shards of the present virtual ranks of this process. After a change they go on where those before were.
function VirtualIterator:_shards()
  local first, last = self._ranks:range()
  if self._made and self._first == first and self._last == last then return self._made end
  local state = self._made and self:state()
  self:close()
  local list = {}
  for rank = first, last do list[#list + 1] = rank end
  self._made, self._first, self._last = self._make(list), first, last
  if state then self:load_state(state) end
  return self._made
end

function VirtualIterator:__tostring() return tostring(self:_shards()[1]) end

function VirtualIterator:__gc() self:close() end

for _, name in ipairs {'iter_rows', 'iter_batches', 'iter_torch_batches'} do
  VirtualIterator[name] = function(self, options)
    return VirtualLoop(self, function(shard) return DataIterator[name](shard, options) end)
  end
end

for _, name in ipairs {'schema', 'count', 'stats', 'times'} do
  VirtualIterator[name] = function(self) return DataIterator[name](self:_shards()[1]) end
end

---@return rtrain.data.Dataset
---Raises code 'unsupported': the rows of a process depend on the number of processes.
function VirtualIterator:materialize()
  errors.raise('unsupported', ('%s:materialize() with virtual_workers: the rows of a process depend on the number of processes')
    :format(tostring(self)))
end

---Ends the running loop.
function VirtualIterator:close()
  for _, shard in ipairs(self._made or {}) do shard:close() end
end

---The number of processes has changed: the next loop has the virtual ranks that are this process's then.
function VirtualIterator:set_place()
  self:close()
  self._first = nil
end

---Returns the position of a virtual rank, at a whole step: that of all.
---@return table state
function VirtualIterator:state()
  local shards = self._made or self:_shards()
  return shards[#shards]:state()
end

---@param state table a result of state()
function VirtualIterator:load_state(state)
  for _, shard in ipairs(self:_shards()) do shard:load_state(state) end
end

return VirtualIterator
