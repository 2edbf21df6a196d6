-- rtrain/state/init.lua: train.state{…}: everything that a killed run needs to continue exactly.
--
-- A checkpoint has two kinds of files: train_state.pt, the common state of all ranks, written by rank 0, and
-- train_state-rank-R.pt, the own state of a rank: random generators, buffers, plain values, positions in data. Sharded
-- models and their optimizers are in the files of torch.distributed.checkpoint instead.

local args = require 'base.args'
local Checkpoint = require 'rtrain.results.checkpoint'
local class = require 'base.class'
local errors = require 'base.errors'
local ordered = require 'base.ordered'
local parts = require 'rtrain.state.parts'
local session = require 'rtrain.session'
local sharded = require 'rtrain.state.sharded'
local warnings = require 'base.warnings'

local VERSION = 1
local SHARED = 'train_state.pt'
local METHODS = {save = true, load = true, init = true, commit = true}

---The result of train.state: parts and plain values as fields, with save and load.
---@class TrainState
---@field [string] any a part or a plain value; plain values may be assigned at any time
local TrainState = class('TrainState')

local function check_name(name)
  if type(name) ~= 'string' or METHODS[name] or name:find('^_') then
    errors.raise('argument', ("train.state: '%s' cannot be a part's name: a name is a string other than save, load, init and "
      .. "commit that does not begin with '_'"):format(tostring(name)))
  end
end

-- A value that is changed in place is another one than the copy.
local function copied(values)
  local copy = ordered.new()
  for name, value in ordered.items(values) do
    local kind = type(value)
    copy[name] = (kind == 'table' or kind == 'userdata') and require('torch').deepcopy(value) or value
  end
  return copy
end

local function get_values(self) return copied(parts.values(self)) end
local function set_values(self, values) parts.set_values(self, copied(values)) end

---@param given table name → part or plain value
function TrainState:init(given)
  if type(given) ~= 'table' or class.of(given) ~= nil then
    errors.raise('argument', 'train.state: expected a table of parts, such as train.state {model = model, epoch = 0}')
  end
  self._parts = {}
  for name, value in next, given do
    check_name(name)
    local kind = parts.kind_of(value)
    if kind then self._parts[name] = kind else parts.check_plain(name, value) end
    self[name] = value
  end
  local state = session.peek()
  if state and state.virtual then state.virtual:follow(self, get_values, set_values) end
end

local function virtual_of_session()
  local state = session.peek()
  return state and state.virtual
end

local function own_file(rank) return ('train_state-rank-%d.pt'):format(rank) end

-- Returns world size and rank; 1 and 0 outside of a train function.
local function place()
  local state = session.peek()
  if not state then return 1, 0 end
  return state.context.world_size, state.context.world_rank
end

-- Returns the names that are not among the others.
local function without(names, others)
  local rest, is_other = {}, {}
  for _, name in ipairs(others) do is_other[name] = true end
  for _, name in ipairs(names) do
    if not is_other[name] then rest[#rest + 1] = name end
  end
  return rest
end

-- `is_alone`: without the other ranks.
local function write(self, dir, is_async, is_alone)
  local torch = require 'torch'
  local world_size, rank = place()
  -- Small, so written synchronously: a second asynchronous save would wait for the first.
  torch.save({version = VERSION, parts = parts.states(self, parts.names_of(self, true)),
              values = parts.values(self), buffers = parts.buffers(self),
              random = require('rtrain.session.random_state').get()}, dir .. '/' .. own_file(rank))
  local together = sharded.names(self)
  local save
  if #together > 0 and is_alone then
    sharded.save_alone(self, dir, rank)
  elseif #together > 0 then
    save = sharded.save(self, together, dir, is_async)
  end
  if rank > 0 then return save end
  local shared = {version = VERSION, world_size = world_size, sharded = together,
                  parts = parts.states(self, without(parts.names_of(self, false), together))}
  if is_async and not save then return require 'rtrain.functions.async_save'(shared, dir .. '/' .. SHARED) end
  torch.save(shared, dir .. '/' .. SHARED)
  return save
end

---Writes this rank's files into a folder. Every rank calls it, with the folder that it reports: `report()` merges them.
---In the middle of an epoch, inside the loop over a DataLoader or a shard, the current batch counts as used: save after
---its step.
---
---Of a model that fully_shard has sharded each rank writes its rows, and of its optimizer's state. Any number of ranks
---can load them, sharded or whole.
---
---With `async = true` the call returns once the values are copied, like train.async_save, and a thread writes the file
---of the model and optimizer. A report of the folder waits for the file; with checkpoint_upload_mode = 'ASYNC' the loop
---does not.
---@param dir string an existing folder, such as that of train.tempdir
---@param options? {async: boolean}
---@return AsyncSave? save with `async`, on the rank that writes the common state (0); on all ranks for a sharded model
function TrainState:save(dir, options)
  if type(dir) ~= 'string' then
    errors.raise('argument', ('state:save: expected the path of a folder, got a %s'):format(type(dir)))
  end
  local is_async = args.options(options, {'async'}, 'state:save').async
  local virtual = virtual_of_session()
  if virtual and virtual:is_held() then return nil end
  if virtual then virtual:settle() end
  if is_async ~= nil and type(is_async) ~= 'boolean' then
    errors.raise('argument', ('state:save: async is true or false, not a %s'):format(type(is_async)))
  end
  return write(self, dir, is_async, false)
end

---Writes this rank's files for a group of another size, without asking another rank.
---@param dir string
function TrainState:_save_alone(dir) write(self, dir, nil, true) end

local function exists(path)
  local file = io.open(path, 'rb')
  if file then file:close() end
  return file ~= nil
end

-- Of a mapped file only those tensors are read that are used.
local function read(path)
  local saved = require('torch').load(path, {mmap = require('torch.tensor.shards').has_replaced()})
  if type(saved) == 'table' and saved.version == VERSION then return saved end
  errors.raise('checkpoint', ('%s was written by another version of rtrain (version %s, this one reads %d)'):format(path,
    tostring(type(saved) == 'table' and saved.version), VERSION))
end

local function read_shared(dir)
  local path = dir .. '/' .. SHARED
  if not exists(path) then
    errors.raise('checkpoint', ('state:load: %s has no %s: it was not made by state:save on rank 0'):format(dir, SHARED))
  end
  return read(path)
end

-- Returns this rank's own state. A rank without a file, or in a group of another size, uses the state of rank 0, whose
-- position describes all ranks. The second result is true if the generators belong to another rank.
local function read_own(dir, shared)
  local world_size, rank = place()
  if virtual_of_session() then return read(dir .. '/' .. own_file(0)), false end  -- the same on all ranks
  local mine = dir .. '/' .. own_file(rank)
  local first = dir .. '/' .. own_file(0)
  if world_size == shared.world_size then
    if exists(mine) then return read(mine), false end
    warnings.warn(("the checkpoint has nothing of rank %d, which goes on from rank 0's values with random numbers of its own: "
      .. "call state:save and report the checkpoint on every rank"):format(rank))
  end
  local own = read(first)
  if exists(mine) then own.random = read(mine).random end
  return own, not exists(mine)
end

local function check_same_parts(self, saved, own)
  for _, name in ipairs(parts.names_of(self, own)) do
    if saved[name] == nil then
      errors.raise('checkpoint', ("state:load: the checkpoint has no '%s': it was saved with %s"):format(name,
        table.concat(parts.names(saved), ', ')))
    end
  end
  for _, name in ipairs(parts.names(saved)) do
    if self._parts[name] == nil then
      warnings.warn(("the checkpoint's '%s' is left out: this train.state has no part of that name"):format(name))
    end
  end
end

local function set_parts(self, saved, own)
  for _, name in ipairs(parts.names_of(self, own)) do
    if saved[name] ~= nil then
      (sharded.is_one(self, name) and sharded.set_whole or parts.set)(self, name, saved[name])
    end
  end
end

-- Returns the parts that all ranks have saved together and this state has.
local function check_parts(self, shared, own)
  local saved, together = {}, {}
  for name, value in next, shared.parts do saved[name] = value end
  for _, name in ipairs(shared.sharded or {}) do
    saved[name] = true
    if self._parts[name] then together[#together + 1] = name end
  end
  check_same_parts(self, saved, false)
  check_same_parts(self, own.parts, true)
  return together
end

local function load_files(self, dir)
  local shared = read_shared(dir)
  local own, is_foreign = read_own(dir, shared)
  local together = check_parts(self, shared, own)
  if #together > 0 then
    local world_size, rank = place()
    sharded.load(self, together, dir, {size = world_size, rank = rank, num_saved = shared.world_size})
  end
  set_parts(self, shared.parts, false)
  set_parts(self, own.parts, true)
  parts.set_values(self, own.values)
  parts.set_buffers(self, own.buffers)
  -- Last: making and loading the parts may have drawn random numbers.
  local random_state = require 'rtrain.session.random_state'
  if is_foreign then
    local _, rank = place()
    random_state.derive(own.random, rank)
  else
    random_state.set(own.random)
  end
end

---Restores everything as it was when the checkpoint's files were saved. Call it when all parts are made (a model before
---or after prepare_model, a loader after prepare_data_loader), directly before the loop. Raises code 'checkpoint' for a
---checkpoint that lacks a part.
---@param checkpoint? Checkpoint|string a result of train.get_checkpoint(), or a folder; nil: nothing is loaded
---@return boolean loaded
function TrainState:load(checkpoint)
  if checkpoint == nil then return false end
  if session.is_joining() then return true end  -- the other ranks have newer state and send it
  if type(checkpoint) == 'string' then
    load_files(self, checkpoint)
  elseif class.is(checkpoint, Checkpoint) then
    checkpoint:with_directory(function(dir) load_files(self, dir) end)
  else
    errors.raise('argument', ('state:load: expected a Checkpoint or the path of one, got a %s'):format(type(checkpoint)))
  end
  return true
end

---Marks a step that all ranks agree on, in train.elastic: after the loss of a rank all continue from the last such
---step, and repeat the work after it. Call it at the end of each step, after the step's report, the same number of
---times on every rank. It waits until every rank has reached it, unless an optimizer of the state has waited in its
---step. It takes some microseconds, over several nodes a round through the controller; nothing is written to disk. Does
---nothing if a loss cannot be healed. Raises code 'user' outside of train.elastic.
function TrainState:commit()
  local virtual = virtual_of_session()
  if virtual and virtual:is_held() then return end
  if self._commits and virtual then
    virtual:share_buffers()
    return virtual:quietly(self._commits.commit, self._commits)
  end
  if self._commits then return self._commits:commit() end
  errors.raise('user', 'state:commit: only inside of train.elastic(state, function(state) … end)')
end

---Returns the state that a train function needs to continue from a checkpoint. It consists of parts with state_dict and
---load_state_dict (model, optimizer, scheduler, scaler), parts with a position (a DataLoader, a dataset shard, a
---torch.Generator), and plain values, which are its fields: `state.epoch`. With it, a run on CPUs that is killed and
---continued has bitwise the same result as an uninterrupted run.
---
---The common state of the ranks, the state dicts, is saved by rank 0. Sharded models and their optimizers are saved by all
---ranks together, as by torch.distributed.checkpoint. Each rank saves its own random generators
---(torch's and math.random's), buffers, plain values and position in the data. With another number of workers, buffers
---and values are those of rank 0, the rest of the epoch is divided again, so that each sample is still used once, and
---new ranks get new generators.
---@param given table name → part or plain value
---@return TrainState state
---
---```lua
---local torch, train = require 'torch', require 'rtrain'
---local data = torch.utils.data
---
---local function train_func(config)
---  torch.manual_seed(1)
---  local model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
---  local optimizer = torch.optim.Adam(model:parameters(), {lr = 0.01})
---  local scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
---  local loader = data.DataLoader(data.TensorDataset(torch.randn(24, 4)), {batch_size = 4, shuffle = true})
---  local state = train.state {
---    model = model, optimizer = optimizer, scheduler = scheduler, loader = loader, epoch = 0, step = 0,
---  }
---  state:load(train.get_checkpoint())  -- nil at the first start: nothing to load
---  while state.epoch < 2 do
---    for x in loader do
---      state.step = state.step + 1
---      if state.step == config.fail_at then config.fail_at = nil; error('killed') end
---      optimizer:zero_grad()
---      model(x):pow(2):mean():backward()
---      optimizer:step()
---      if state.step % 2 == 0 then
---        train.tempdir(function(dir)
---          state:save(dir)
---          train.report({step = state.step}, {checkpoint = train.Checkpoint.from_directory(dir)})
---        end)
---      end
---    end
---    scheduler:step()
---    state.epoch = state.epoch + 1
---  end
---  return model:state_dict()['0.weight']:double():sum():item()
---end
---
---local straight = train.TorchTrainer(train_func, {train_loop_config = {}}):fit()
---local killed = train.TorchTrainer(function(config)
---  if train.get_checkpoint() then config = {} end
---  return train_func(config)
---end, {
---  train_loop_config = {fail_at = 5},
---  run_config = train.RunConfig {failure_config = train.FailureConfig {max_failures = 1}},
---}):fit()
---assert(killed.return_value == straight.return_value)
---```
local function state(given) return TrainState(given) end

return {state = state, TrainState = TrainState}
