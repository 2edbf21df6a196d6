-- rtrain/data/loop/iterator.lua: DataIterator: loops over a dataset, or over a rank's part of it.
--
-- The path of a row: feed (reads and computes, in threads) → the rank's rows → local shuffle → agreement of the ranks,
-- if no rank knows the number of rows → batches of one size → tensors. An epoch is this chain for one loop.

local Agreement = require 'rtrain.data.loop.agreement'
local args = require 'base.args'
local batches = require 'rtrain.data.blocks.batches'
local class = require 'base.class'
local errors = require 'base.errors'
local intervals = require 'rtrain.data.rows.intervals'
local Loop = require 'rtrain.data.loop.loop'
local loop_limit = require 'torch.utils.data.loop_limit'
local monotonic = require('base._system').monotonic
local Position = require 'rtrain.data.loop.position'
local Rest = require 'rtrain.data.loop.rest'
local Selection = require 'rtrain.data.rows.selection'
local Times = require 'rtrain.data.loop.times'
local torch_batch = require 'rtrain.data.loop.torch_batch'

-- A gap of up to this many rows is read and skipped: that is cheaper than opening the file again.
local GAP_ROWS = 4096

---The source of an iterator's rows: a dataset's plan, ready to run.
---@class data.Feed
---@field num_rows fun(self): integer|nil rows of an epoch; nil if that requires executing it
---@field deals_by_steps fun(self): boolean whether ranks take the rows by steps
---@field gives_views fun(self): boolean whether the blocks of a stream are views of memory, so that more rows cost nothing
---@field stream fun(self, options: data.FeedOptions): data.Stream
---@field schema fun(self): table[]
---@field stats fun(self): table

---@class data.FeedOptions
---@field epoch integer
---@field seed integer seed of operators without a seed
---@field rows? data.Slices intervals of the epoch's order; nil: see `part`
---@field part? {rank: integer, world_size: integer} nil: see `steps`
---@field steps? data.StepShare nil: everything
---@field views? boolean see data.ExecutionContext
---@field ahead boolean whether threads may make rows before they are used

---@class data.Stream
---@field next fun(self): data.Block|nil
---@field close fun(self)

---@class data.IteratorOptions
---@field feed data.Feed the source of the rows
---@field name string the dataset's, for messages
---@field seed integer seed of operators without a seed
---@field world_size? integer default 1: the rows are not divided
---@field rank? integer default 0
---@field agreement? data.AgreementOptions|data.Agreement required if world_size > 1
---@field device? fun(): string returns the device for device = 'auto' (default the CPU)
---@field from_blocks? fun(blocks: data.Block[]): rtrain.data.Dataset makes the dataset of materialize()

---A dataset for loops; in a train function the rank's shard of it. Made by train.get_dataset_shard and
---Dataset:iterator. Each loop is a new epoch: the pipeline runs again, with new random orders. Ray equivalent:
---ray.data.DataIterator.
---@class rtrain.data.DataIterator
---@overload fun(options: data.IteratorOptions): rtrain.data.DataIterator
local DataIterator = class('DataIterator', nil, {userdata = true})

function DataIterator:init(options)
  self._options, self._feed, self._name = options, options.feed, options.name
  self._world_size, self._rank = options.world_size or 1, options.rank or 0
  self._position = Position(options.name, {world_size = self._world_size, rank = self._rank}, options.seed)
  self._times = Times()
  if options.agreement then
    local times, given = self._times, options.agreement
    self._agreement = given.blocks and given or Agreement(given, function(seconds) times:waited_for_ranks(seconds) end)
  end
end

---Continues as another rank, or in a group of another size; ends a running loop. Does nothing if the rows are not
---divided.
---@param share {world_size: integer, rank: integer}
function DataIterator:set_place(share)
  if (self._options.world_size or 1) == 1 then return end
  self:close()
  self._world_size, self._rank = share.world_size, share.rank
  self._position:set_place(share)
  self._agreement:set_place(share)
end

function DataIterator:__tostring() return ("DataIterator('%s')"):format(self._name) end

function DataIterator:__gc() self:close() end

-- Counts the time spent waiting for rows.
local function timed(self, next_block)
  local times = self._times
  return function()
    local before = monotonic()
    local block = next_block()
    times:waited(monotonic() - before)
    return block
  end
end

-- Returns the rank's batches out of a stream that gives the rows of all ranks as views of memory, and the stream.
local function viewed(self, start, batching)
  local stream = self._feed:stream {epoch = start.epoch, seed = self._position.seed, rows = {start.rows:span()},
                                    views = true, ahead = batching.prefetch_batches > 0}
  local next_block = timed(self, function() return stream:next() end)
  return batches.of_steps(next_block, start.rows, batching), stream
end

-- Returns the rank's rows if their number is known, and the stream to close.
local function dealt(self, start, batching)
  local rows, places = start.rows, {}
  if not start.state.by_steps then rows, places = intervals.coarse(rows, GAP_ROWS) end
  local stream = self._feed:stream {
    epoch = start.epoch, seed = self._position.seed, rows = rows, ahead = batching.prefetch_batches > 0}
  local next_block = timed(self, function() return stream:next() end)
  if #places > 1 then next_block = Selection(places):blocks(next_block) end
  if start.shuffle then next_block = start.shuffle:blocks(next_block, start.shuffle_position) end
  return next_block, stream
end

-- Returns the rank's remaining rows if their number is not known: as many as every other rank has. Those dealt by steps are
-- as many by themselves.
local function agreed(self, start, batching)
  local rest = Rest(self._feed, start, batching.prefetch_batches > 0)
  local next_block = timed(self, rest:blocks(start.state, self._rank))
  if self._world_size > 1 and not start.state.by_steps then
    next_block = self._agreement:blocks(next_block, batching.batch_size or 1)
  end
  return next_block, rest
end

-- Begins an epoch for a loop.
function DataIterator:_begin(batching)
  self:close()
  local num_rows = self._feed:num_rows()
  batching.by_steps = self._feed:deals_by_steps()
  local start = self._position:begin(num_rows, batching)
  local next_batch, stream
  if start.rows and start.rows.span and self._feed:gives_views() then
    next_batch, stream = viewed(self, start, batching)
  else
    next_batch, stream = (num_rows and dealt or agreed)(self, start, batching)
    next_batch = batches.of(next_batch, batching.batch_size, batching.drop_last, batching.copies)
  end
  self._times:begin()
  self._epoch = {
    stream = stream,
    next_batch = next_batch,
    advance = function(rows) self._position:advance(rows) end,
  }
  return self._epoch
end

-- Returns the description of the epoch for loop_watch.
function DataIterator:_described(batching)
  local size, rows, state = batching.batch_size, self:count(), self._position:state()
  if not size or not rows or state.remaining then return {first = 0, batch_size = size} end
  local round = batching.drop_last and math.floor or math.ceil
  return {
    first = state.finished and 0 or math.floor(state.rows / size),  -- finished: the first loop's batches again
    batches = loop_limit.count(round(rows / size)),
    batch_size = size,
    samples = rows,
    dataset_size = self._world_size > 1 and self._feed:num_rows() or nil,
  }
end

-- Called when a loop has ended.
function DataIterator:_finish(epoch)
  epoch.ended = true
  self._position:finish()
  self:close()
end

---Ends the running loop and its threads. A new loop begins a new epoch. Called by a new loop, at the end of the train
---function and by the garbage collector.
function DataIterator:close()
  local epoch = self._epoch
  self._epoch = nil
  if epoch then epoch.stream:close() end
end

local BATCH_OPTIONS = {'prefetch_batches', 'batch_size', 'batch_format', 'drop_last', 'local_shuffle_buffer_size',
                       'local_shuffle_seed'}
local TORCH_OPTIONS = {'prefetch_batches', 'batch_size', 'dtypes', 'device', 'collate_fn', 'drop_last',
                       'local_shuffle_buffer_size', 'local_shuffle_seed', 'pin_memory'}

local function check_count(owner, name, value, least)
  if value == nil then return end
  if type(value) ~= 'number' or value % 1 ~= 0 or value < least then
    errors.raise('argument', ('%s: %s is an integer from %d on, got %s'):format(owner, name, least, tostring(value)))
  end
end

local function is_none(value) return value == 'none' or value == false or value == require('torch').none end

-- Returns the properties of the batches from a loop's options.
local function batching_of(owner, options)
  local batch_size = options.batch_size
  if batch_size == nil then batch_size = 256 end
  if is_none(batch_size) then batch_size = nil end
  check_count(owner, 'batch_size', batch_size, 1)
  check_count(owner, 'prefetch_batches', options.prefetch_batches, 0)
  check_count(owner, 'local_shuffle_buffer_size', options.local_shuffle_buffer_size, 1)
  check_count(owner, 'local_shuffle_seed', options.local_shuffle_seed, 0)
  if options.local_shuffle_buffer_size and not batch_size then
    errors.raise('argument', owner .. ': local_shuffle_buffer_size needs a batch_size')
  end
  if options.local_shuffle_seed and not options.local_shuffle_buffer_size then
    errors.raise('argument', owner .. ': local_shuffle_seed without local_shuffle_buffer_size')
  end
  return {
    batch_size = batch_size, drop_last = options.drop_last or false, prefetch_batches = options.prefetch_batches or 1,
    shuffle_size = options.local_shuffle_buffer_size,
    shuffle_seed = options.local_shuffle_seed,
  }
end

---Iterates over rows as tables column → value, without entries for null. Ray equivalent: DataIterator.iter_rows.
---@return data.Loop
function DataIterator:iter_rows()
  return Loop(self, {batch_size = 1, prefetch_batches = 1}, function(block) return block:row(0) end)
end

local function check_format(format)
  if format == nil or format == 'default' or format == 'numpy' then return end
  if format == 'pandas' or format == 'pyarrow' then
    errors.raise('unsupported', ("iter_batches: batch_format = '%s': a batch is a table of tensors and lists"):format(format))
  end
  args.one_of('iter_batches: batch_format', format, {'default', 'numpy'})
end

---Iterates over batches as tables column → tensor, or list for strings, Lua values, and for integers and booleans with
---null (torch.none for a null). All batches are full except the last. Ray equivalent: DataIterator.iter_batches.
---@param options? {prefetch_batches: integer, batch_size: integer|string, batch_format: string, drop_last: boolean,
---  local_shuffle_buffer_size: integer, local_shuffle_seed: integer} batch_size = 256, 'none' for blocks as they come,
---  whose number may differ between ranks; prefetch_batches = 1: threads read rows ahead, with 0 the loop itself reads
---  them; drop_last = false; local_shuffle_buffer_size: each batch is drawn from at least that many rows
---@return data.Loop
---
---```lua
---local data = require 'rtrain.data'
---local sizes = {}
---for batch in data.range(10):iterator():iter_batches {batch_size = 4} do sizes[#sizes + 1] = #batch.id end
---assert(table.concat(sizes, ' ') == '4 4 2')
---```
function DataIterator:iter_batches(options)
  options = args.options(options, BATCH_OPTIONS, 'iter_batches')
  check_format(options.batch_format)
  local batching = batching_of('iter_batches', options)
  batching.copies = true
  return Loop(self, batching, torch_batch.owned)
end

local function check_pinned(pin_memory)
  if pin_memory and not require('torch').cuda.is_available() then
    errors.raise('argument', 'iter_torch_batches: cannot use pin_memory: there is no GPU to copy to')
  end
end

---Iterates over batches as tables column → tensor on this worker's device; strings stay lists. Raises code 'argument',
---naming column and row, if an integer or boolean is null: only floats have NaN, and dtypes can convert to them. Ray
---equivalent: DataIterator.iter_torch_batches.
---@param options? {prefetch_batches: integer, batch_size: integer|string, dtypes: string|table<string, string>,
---  device: string, collate_fn: (fun(batch: table): any), drop_last: boolean, local_shuffle_buffer_size: integer,
---  local_shuffle_seed: integer, pin_memory: boolean} as for iter_batches; dtypes: one for all tensors or one for each
---  column; device = 'auto'; collate_fn takes a batch of iter_batches and returns the value for the loop's body, and
---  excludes dtypes and device
---@return data.Loop
---
---```lua
---local data = require 'rtrain.data'
---local items = data.from_items {{x = 1.5, y = 0}, {x = 2.5, y = 1}, {x = 3.5, y = 0}}
---for batch in items:iterator():iter_torch_batches {batch_size = 2, dtypes = {x = 'float32'}} do
---  assert(batch.x.dtype == 'float32' and batch.y.dtype == 'int64')
---end
---```
function DataIterator:iter_torch_batches(options)
  options = args.options(options, TORCH_OPTIONS, 'iter_torch_batches')
  check_pinned(options.pin_memory)
  if options.collate_fn and (options.dtypes or (options.device or 'auto') ~= 'auto') then
    errors.raise('argument', 'iter_torch_batches: collate_fn excludes dtypes and device: it makes the tensors itself')
  end
  local device = options.device or 'auto'
  if device == 'auto' then device = self._options.device and self._options.device() or 'cpu' end
  local convert = torch_batch.converter {
    dtypes = options.dtypes, device = device, collate_fn = options.collate_fn, pin_memory = options.pin_memory}
  local batching = batching_of('iter_torch_batches', options)
  batching.copies = device == 'cpu' and not (options.dtypes or options.pin_memory)  -- a conversion makes its own tensors
  return Loop(self, batching, convert)
end

---@return {name: string, type: string}[] columns
function DataIterator:schema() return self._feed:schema() end

---Returns how many rows a loop over this iterator yields, nil if that requires executing it.
---@return integer|nil
function DataIterator:count()
  local num_rows = self._feed:num_rows()
  return num_rows and math.floor(num_rows / self._world_size)
end

---Returns how this rank spent its time, over all loops; prints as a line. `stall_percent` is the share of the time in
---which the loop's body waited for data ("data stall %"), `feed` the time of the operators.
---@return data.Times
function DataIterator:stats()
  self._times.feed = self._times.loops > 0 and self._feed:stats() or nil
  return self._times
end

---Returns the same counters without `feed`.
---@return data.Times
function DataIterator:times() return self._times end

-- Returns the blocks of the next epoch, which must not be changed: for materialize, and for XGBoost's matrices.
function DataIterator:_blocks()
  return Loop(self, {prefetch_batches = 1}, function(block) return block end)
end

---Returns the rows of the next epoch as a dataset in memory.
---@return rtrain.data.Dataset
function DataIterator:materialize()
  local list = {}
  for block in self:_blocks() do list[#list + 1] = block end
  return self._options.from_blocks(list)
end

---Returns the position of this rank as plain data, to be saved with a checkpoint. A shard that loads it by `load_state`
---yields exactly the rest of the epoch, then continues with the next epoch. All ranks take equal steps, so the state of
---rank 0 serves all ranks. With another number of workers, batch size or local shuffle, the rows that no rank has used
---are dealt again, each once. Where rows are dealt by steps (`rtrain doc guide/reproducibility`) the next step begins where
---the last one ended.
---@return table state
---
---```lua
---local data = require 'rtrain.data'
---local first = data.range(10):iterator()
---local state
---for batch in first:iter_batches {batch_size = 3} do
---  state = first:state()
---  if batch.id[0]:item() == 3 then break end
---end
---local second = data.range(10):iterator()
---second:load_state(state)
---local ids = {}
---for batch in second:iter_batches {batch_size = 3} do
---  for _, id in ipairs(batch.id:tolist()) do ids[#ids + 1] = id end
---end
---assert(table.concat(ids, ' ') == '6 7 8 9')
---```
function DataIterator:state() return self._position:state() end

---Makes the next loop continue where `state` was called.
---@param state table
function DataIterator:load_state(state)
  self:close()
  self._position:load_state(state)
end

return DataIterator
