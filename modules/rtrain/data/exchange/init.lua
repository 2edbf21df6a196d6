-- rtrain/data/exchange/init.lua: operations that need all rows before they return the first: random_shuffle and sort.
--
-- Both sort rows by a key; for a shuffle the key is the row's place in a Permutation. Up to a quarter of memory_bytes
-- is held in memory, the rest goes to temporary files (rtrain.data.exchange.external_order), so the number of rows is
-- not limited.

local errors = require 'base.errors'
local ExternalOrder = require 'rtrain.data.exchange.external_order'
local Permutation = require 'rtrain.data.rows.permutation'
local Selection = require 'rtrain.data.rows.selection'
local seeds = require 'base.seed'
local Spill = require 'rtrain.data.exchange.spill'
local torch = require 'torch'

local exchange = {}

---Bytes that a sort or shuffle may use before it writes files.
exchange.MEMORY_BYTES = 256 * 2 ^ 20

-- A name that no user column has.
local KEY = '\1rtrain.order'

-- Returns a stream that begins when its first block is requested. Removes the temporary files if anything fails.
local function lazily(order, begin)
  local next_block
  local function step()
    next_block = next_block or begin()
    local block = next_block()
    return block and block:drop {KEY}
  end
  return function()
    local ok, block = xpcall(step, errors.wrap)
    if ok then return block end
    order:close()
    error(block, 0)
  end
end

-- Adds the blocks of a stream to the order, with each row's place in the permutation as its key.
local function add_shuffled(order, next_block, permutation, keep)
  local at, selection = 0, keep and Selection(keep)
  for block in next_block do
    local rows = block:num_rows()
    local places = permutation:place_of(torch.arange(at, at + rows))
    at = at + rows
    if selection then
      local kept = selection:mask(places):nonzero():flatten()
      block, places = block:take(kept), places:index_select(0, kept)
    end
    order:add(block:with(KEY, places))
  end
  return at
end

-- Stores all blocks of a stream until their rows are counted, then returns them and the count.
local function counted(next_block, memory_bytes)
  local spill, held, bytes, num_rows = Spill(), {}, 0, 0
  for block in next_block do
    held[#held + 1] = block
    bytes, num_rows = bytes + block:size_bytes(), num_rows + block:num_rows()
    if bytes > memory_bytes / 4 then
      spill:write(held)
      held, bytes = {}, 0
    end
  end
  local runs, run, i = spill:open(), 1, 0
  return num_rows, function()
    while runs[run] do
      local block = runs[run]()
      if block then return block end
      run = run + 1
    end
    i = i + 1
    return held[i]
  end
end

---@class data.ShuffleOptions
---@field seed integer
---@field epoch? integer default 0
---@field num_rows? integer rows of the stream; counted first if it is not known
---@field keep? data.Interval[] return only the rows at these places of the order; requires num_rows
---@field memory_bytes? integer default exchange.MEMORY_BYTES

---Returns the order of random_shuffle, which depends on the number of rows, the seed and the epoch.
---@param num_rows integer
---@param seed integer
---@param epoch? integer
---@return data.Permutation
function exchange.permutation(num_rows, seed, epoch) return Permutation(num_rows, seeds.of(seed, epoch or 0)) end

---Returns all rows of a stream, or those at some places, in the random order.
---@param next_block fun(): data.Block|nil
---@param options data.ShuffleOptions
---@return fun(): data.Block|nil
---
---```lua
---local Block, exchange = require 'rtrain.data.blocks.block', require 'rtrain.data.exchange'
---local torch = require 'torch'
---local blocks = {Block({'id'}, {torch.arange(10)})}
---local shuffled = exchange.shuffle(function() return table.remove(blocks) end, {seed = 1})
---assert(shuffled():column('id'):sum():item() == 45)
---```
function exchange.shuffle(next_block, options)
  local memory_bytes = options.memory_bytes or exchange.MEMORY_BYTES
  local order = ExternalOrder({{name = KEY, descending = false}}, memory_bytes)
  return lazily(order, function()
    local num_rows = options.num_rows
    if num_rows == nil then num_rows, next_block = counted(next_block, memory_bytes) end
    local permutation = exchange.permutation(num_rows, options.seed, options.epoch)
    local added = add_shuffled(order, next_block, permutation, options.keep)
    if added ~= num_rows then
      errors.raise('user', ('random_shuffle: the data has %d rows now and had %d when they were counted')
        :format(added, num_rows))
    end
    return order:blocks()
  end)
end

local function sort_keys(keys, descending)
  local names, out = type(keys) == 'table' and keys or {keys}, {}
  if #names == 0 then errors.raise('argument', 'sort: expected the name of a column or a list of names') end
  if type(descending) == 'table' and #descending ~= #names then
    errors.raise('argument', ('sort: %d columns and %d values of descending'):format(#names, #descending))
  end
  for i, name in ipairs(names) do
    local down = descending
    if type(descending) == 'table' then down = descending[i] end
    out[i] = {name = name, descending = down or false}
  end
  out[#out + 1] = {name = KEY, descending = false}
  return out
end

---Returns all rows of a stream in the order of some columns: numbers by size, strings byte by byte; rows with equal
---keys keep their order, nulls and NaN come last.
---@param next_block fun(): data.Block|nil
---@param keys string|string[] columns, the most important first
---@param descending? boolean|boolean[] for all columns or one for each
---@param options? {memory_bytes: integer}
---@return fun(): data.Block|nil
function exchange.sort(next_block, keys, descending, options)
  local order = ExternalOrder(sort_keys(keys, descending), options and options.memory_bytes or exchange.MEMORY_BYTES)
  return lazily(order, function()
    local at = 0
    for block in next_block do
      order:add(block:with(KEY, torch.arange(at, at + block:num_rows())))
      at = at + block:num_rows()
    end
    return order:blocks()
  end)
end

---Returns the rows of a stream at some places of its own order.
---@param next_block fun(): data.Block|nil
---@param keep data.Interval[]|{every: integer, from: integer} ascending intervals, or every `every`-th row from row
---  `from` on, which needs no number of rows
---@return fun(): data.Block|nil
function exchange.select(next_block, keep)
  if keep.every then return Selection.strided(next_block, keep.every, keep.from) end
  return Selection(keep):blocks(next_block)
end

return exchange
