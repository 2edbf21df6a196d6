-- rtrain/data/operators/order.lua: random_shuffle, sort and randomize_block_order of rows that come as a stream.

local exchange = require 'rtrain.data.exchange'
local Operator = require 'rtrain.data.operators.operator'
local seeds = require 'base.seed'
local torch = require 'torch'

-- Base of the operators that return the same rows in another order.
local Reorder = Operator:extend('Reorder')
Reorder.is_global = true

function Reorder:schema_of(schema) return schema end

function Reorder:rows_of(num_rows) return num_rows end

---Returns all rows in a random order, which depends on seed and epoch. Without a seed the seed of the execution is
---used.
---@class data.RandomShuffle: data.Operator
local RandomShuffle = Reorder:extend('RandomShuffle')
RandomShuffle.name = 'RandomShuffle'

---Whether the operator selects the rows to keep itself.
RandomShuffle.selects = true

function RandomShuffle:init(seed, index) self._seed, self._index = seed, index end

function RandomShuffle:stream(upstream, execution, options)
  return exchange.shuffle(upstream, {
    seed = self._seed or seeds.of(execution.seed, self._index), epoch = execution.epoch, num_rows = options.num_rows,
    keep = options.num_rows and options.keep, memory_bytes = execution.memory_bytes})
end

function RandomShuffle:is_random() return true end

---Returns the rows in the order of some columns.
---@class data.Sort: data.Operator
local Sort = Reorder:extend('Sort')
Sort.name = 'Sort'

function Sort:init(key, descending) self._key, self._descending = key, descending end

function Sort:stream(upstream, execution)
  return exchange.sort(upstream, self._key, self._descending, {memory_bytes = execution.memory_bytes})
end

---Returns the blocks in a random order; holds all of them.
---@class data.RandomizeBlocks: data.Operator
local RandomizeBlocks = Reorder:extend('RandomizeBlocks')
RandomizeBlocks.name = 'RandomizeBlockOrder'

function RandomizeBlocks:init(seed, index) self._seed, self._index = seed, index end

function RandomizeBlocks:stream(upstream, execution)
  local blocks, order, i = nil, nil, 0
  return function()
    if not blocks then
      blocks = {}
      for block in upstream do blocks[#blocks + 1] = block end
      local seed = self._seed or seeds.of(execution.seed, self._index)
      order = exchange.permutation(#blocks, seed, execution.epoch):row_at(torch.arange(#blocks)):tolist()
    end
    i = i + 1
    return order[i] and blocks[order[i] + 1]
  end
end

function RandomizeBlocks:is_random() return true end

return {RandomShuffle = RandomShuffle, Sort = Sort, RandomizeBlocks = RandomizeBlocks}
