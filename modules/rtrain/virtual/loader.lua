-- rtrain/virtual/loader.lua: VirtualLoader: a loader that gives for each step the batches of this process's virtual ranks.

local class = require 'base.class'
local errors = require 'base.errors'
local loop = require 'rtrain.virtual.loop'
local loop_limit = require 'torch.utils.data.loop_limit'
local loop_variables = require 'torch.utils.data.loop_variables'

---@class rtrain.VirtualLoader: data.DataLoader
local VirtualLoader = class('VirtualLoader', nil, {userdata = true})

---@param loader data.DataLoader|rtrain.DeviceLoader whose batches are VirtualBatches
---@param ranks rtrain.VirtualRanks
function VirtualLoader:init(loader, ranks)
  self.loader, self._ranks = loader, ranks
  for _, name in ipairs{'dataset', 'sampler', 'batch_sampler', 'batch_size', 'num_workers', 'drop_last', 'collate_fn',
                        'generator'} do
    self[name] = loader[name]
  end
  self._inner = loader.loader or loader
end

---@return integer number of steps of an epoch
function VirtualLoader:len() return loop_limit.count(self._inner.batch_sampler:num_steps()) end

function VirtualLoader:__len() return self:len() end

-- Begins an epoch, in the loop of those lines.
local function begin(self, lines)
  local ranks, inner = self._ranks, self._inner
  ranks:check_loop()
  local first, last = ranks:range()
  inner.batches_of_step = last - first + 1
  local next_batch, batches = self.loader:iter(), inner.batch_sampler
  self._next, self._step = loop.begin(ranks, {
    seed = inner._begun.seed, lines = lines, next_batch = next_batch, total = batches:num_begun(),
    step = math.floor(batches.sampler:seen() / (batches.sampler.num_replicas * batches.batch_size))})
end

---Begins an epoch.
---@return fun(): ... iterator over batches
function VirtualLoader:iter()
  begin(self, loop.lines(2))
  return self._next
end

-- __call ends with a tail call of this function.
local function first_batch(...)
  loop_variables.check(2, select('#', ...))
  return ...
end

-- `for x, y in loader do`: Lua calls the object with the first value of the previous batch, nil at the beginning.
function VirtualLoader:__call(_, previous)
  if previous ~= nil then return self._next() end
  begin(self, loop.lines(2))
  return first_batch(self._next())
end

---Iterates over i, batch with i from `start` on: the number of the step, which is that of several batches.
---@param start? integer default 0
---@return fun(): integer, ...
function VirtualLoader:enumerate(start)
  if start ~= nil and (type(start) ~= 'number' or start % 1 ~= 0) then
    errors.raise('argument', ('enumerate: start is an integer, got %s'):format(tostring(start)))
  end
  begin(self, loop.lines(2))
  local next_batch, step = self._next, self._step
  local function numbered(...)
    if (...) == nil then return nil end
    return (start or 0) + step(), ...
  end
  return function() return numbered(next_batch()) end
end

---Returns the position of the loop, at a whole step: the same for any number of processes.
---@return table state
function VirtualLoader:state() return self.loader:state() end

---@param state table a result of state()
function VirtualLoader:load_state(state) self.loader:load_state(state) end

---Ends the worker threads.
function VirtualLoader:close() self.loader:close() end

return VirtualLoader
