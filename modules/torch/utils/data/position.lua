-- torch/utils/data/position.lua: the position of a DataLoader: the number of a loop's epoch, and the state from which
-- another process continues.

local errors = require 'base.errors'
local sampler = require 'torch.utils.data.sampler'

local position = {}

local VERSION = 1

-- Returns the sampler whose order is cut into batches; nil for an IterableDataset.
local function order_of(loader) return loader.batch_sampler and loader.batch_sampler.sampler or loader.sampler end

-- Returns the epoch that the script set by set_epoch, if it is a new one; else the next epoch.
local function next_epoch(loader, given)
  if given ~= nil and given ~= loader._given then return given end
  return (loader._epoch or -1) + 1
end

local function begin_again(loader)
  -- Drawn in every epoch, before the sampler's numbers, as PyTorch does, so that later draws such as dropout get the
  -- same numbers.
  local drawn = sampler.draw_seed(loader.generator)
  loader._seed = loader._seed or drawn:bitwise_and(0xFFFFFFFF):item()
  local order = order_of(loader)
  local given = order and order.epoch
  loader._epoch, loader._given = next_epoch(loader, given), given
  return {samples = 0, batches = 0}
end

-- Returns the used part of the epoch of the loaded state; nil if the script has chosen another epoch since.
local function resumed(loader)
  local state = loader._resumed
  loader._resumed = nil
  if not state then return nil end
  local order = order_of(loader)
  local samples = state.samples
  if order and order.resume then samples = order:resume() end
  if samples == nil then return nil end
  loader._epoch, loader._given = state.epoch, order and order.epoch
  -- A sampler that returns only the rest leaves nothing to skip.
  return {samples = samples, batches = samples > 0 and state.batches or 0}
end

---Begins an epoch.
---@param loader data.DataLoader
---@return table begun seed; loop: its number; samples, batches: to skip; taken: batches, which the loop counts
function position.begin(loader)
  local begun = resumed(loader) or begin_again(loader)
  loader._loop = (loader._loop or 0) + 1
  begun.loop, begun.seed = loader._loop, loader._seed + loader._epoch
  loader._begun, begun.taken = begun, 0
  return begun
end

---Called at the end of the loop.
---@param loader data.DataLoader
function position.finish(loader) loader._begun, loader._finished = nil, loader._begun end

-- Returns how many samples of the sampler's order were used, including those that the loop skipped.
local function samples_used(loader, begun, batches)
  local size = loader.batch_sampler and loader.batch_sampler.batch_size or 1
  local order = order_of(loader)
  local used = begun.samples + batches * size
  if order and order.len then used = math.min(used, math.max(order:len(), begun.samples)) end
  return used
end

local function length_of(loader)
  return not loader.is_iterable and loader.dataset:len() or nil
end

---@param loader data.DataLoader
---@param ahead? integer batches that were taken but not used yet
---@param is_used? boolean whether the last batch is still in use, although the loop has ended
---@return table state plain data
function position.state(loader, ahead, is_used)
  if loader._resumed then return loader._resumed end
  local begun = loader._begun or (is_used and loader._finished) or nil
  if begun and not loader.in_order and loader.num_workers > 0 then
    errors.raise('argument', 'DataLoader:state(): with in_order = false the batches that were taken are not the first ones: '
      .. 'take the state between two epochs, or use in_order = true')
  end
  local taken = begun and math.floor((begun.taken - (ahead or 0)) / (loader.batches_of_step or 1))
  local used = begun and samples_used(loader, begun, taken)
  local order = order_of(loader)
  return {version = VERSION, seed = loader._seed, epoch = loader._epoch, given = loader._given,
          length = length_of(loader), batches = begun and begun.batches + taken, samples = used,
          sampler = order and order.state and order:state(used) or nil,
          generator = loader.generator and loader.generator:get_state()}
end

local function is_count(value) return type(value) == 'number' and value >= 0 and value % 1 == 0 end

-- The state may come from a file with any contents.
local function check_fields(state)
  for _, name in ipairs{'seed', 'epoch', 'batches', 'samples'} do
    if state[name] ~= nil and not is_count(state[name]) then
      errors.raise('argument', ('DataLoader:load_state: %s is a number from 0 on, got %s'):format(name,
        tostring(state[name])))
    end
  end
  local is_under_way = state.samples ~= nil
  if is_under_way and not (state.seed and state.epoch and state.batches) then
    errors.raise('argument', 'DataLoader:load_state: the state of an epoch under way lacks its seed, epoch or batches')
  end
  local order = state.sampler == nil and {} or state.sampler
  local is_table = type(order) == 'table'
  if not is_table or not is_count(order.samples or 0) or not is_count(order.epoch or 0) then
    errors.raise('argument', ("DataLoader:load_state: the sampler's state is damaged: %s"):format(
      is_table and 'samples and epoch are numbers from 0 on' or 'it is a ' .. type(order)))
  end
end

local function check(loader, state)
  if type(state) ~= 'table' or state.version == nil then
    errors.raise('argument', ('DataLoader:load_state: expected what loader:state() gave, got a %s'):format(type(state)))
  end
  if state.version ~= VERSION then
    errors.raise('argument', ('DataLoader:load_state: the state has version %s, this one reads version %d'):format(
      tostring(state.version), VERSION))
  end
  check_fields(state)
  if state.length ~= length_of(loader) then
    errors.raise('argument', ('DataLoader:load_state: the state is that of a dataset with %s samples, this one has %s'):format(
      tostring(state.length), tostring(length_of(loader))))
  end
end

---Makes the next loop continue at the position of the state: in the middle of an epoch with the rest of it.
---@param loader data.DataLoader
---@param state table
function position.load(loader, state)
  check(loader, state)
  local order = order_of(loader)
  if order and order.load_state then
    if not state.sampler then
      errors.raise('argument', 'DataLoader:load_state: the state is that of a loader without a sampler that has a state')
    end
    order:load_state(state.sampler)
  end
  loader._seed, loader._epoch, loader._given = state.seed, state.epoch, state.given
  loader._begun, loader._finished, loader._next = nil, nil, nil
  loader._resumed = state.samples and state or nil
  if loader.generator and state.generator then loader.generator:set_state(state.generator) end
end

return position
