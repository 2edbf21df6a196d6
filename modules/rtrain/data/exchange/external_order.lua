-- rtrain/data/exchange/external_order.lua: sorts any number of rows by some columns.
--
-- Rows are gathered up to a quarter of the memory and sorted; larger inputs become sorted runs in files. The runs are
-- then merged bucket by bucket. Limits are chosen from samples of all runs so that a bucket takes an eighth of the
-- memory. Each run contributes its rows before the next limit, which are at its front, and these rows are sorted again.
-- The last key is unique, which keeps the order stable and lets a limit fall among rows with otherwise equal keys.

local Block = require 'rtrain.data.blocks.block'
local class = require 'base.class'
local once = require 'rtrain.data.blocks.once'
local row_order = require 'rtrain.data.exchange.row_order'
local Spill = require 'rtrain.data.exchange.spill'

-- A run is written in at most PIECES blocks, none of them tiny: merging holds one block of each run. Each block
-- contributes SAMPLES samples.
local PIECES, PIECE_BYTES, SAMPLES = 64, 2 ^ 12, 256
local OUTPUT_BYTES, OUTPUT_ROWS = 4 * 2 ^ 20, 4096

---Arguments: keys (the last key must be unique); memory_bytes.
---@class data.ExternalOrder
---@overload fun(keys: data.SortKey[], memory_bytes: integer): data.ExternalOrder
local ExternalOrder = class('ExternalOrder')

function ExternalOrder:init(keys, memory_bytes)
  self._keys, self._memory = keys, memory_bytes
  self._blocks, self._bytes, self._total = {}, 0, 0
  self._samples, self._spill = {}, Spill()
end

local function sorted(self, blocks)
  local block = Block.concat(blocks)
  return block:take(row_order.of(block, self._keys))
end

local function pieces(block, rows)
  local out = {}
  for start = 0, block:num_rows() - 1, rows do
    out[#out + 1] = block:narrow(start, math.min(rows, block:num_rows() - start))
  end
  return out
end

local function flush(self)
  if #self._blocks == 0 then return end
  local run = sorted(self, self._blocks)
  self._blocks, self._bytes = {}, 0
  local rows = run:num_rows()
  local piece_rows = math.max(rows / PIECES, rows * PIECE_BYTES / run:size_bytes())
  for i = 1, SAMPLES do
    self._samples[#self._samples + 1] = row_order.key_of(run, self._keys, math.floor((i - 0.5) * rows / SAMPLES))
  end
  self._spill:write(pieces(run, math.ceil(piece_rows)))
end

---Adds rows.
---@param block data.Block with the key columns
function ExternalOrder:add(block)
  if block:num_rows() == 0 then return end
  local bytes = block:size_bytes()
  self._blocks[#self._blocks + 1] = block
  self._bytes, self._total = self._bytes + bytes, self._total + bytes
  if self._bytes > self._memory / 4 then flush(self) end
end

-- Returns the ascending keys at which the buckets end; the last bucket has no limit.
local function limits(self)
  local keys, samples = self._keys, self._samples
  table.sort(samples, function(a, b) return row_order.is_before(keys, a, b) end)
  local buckets, out = math.ceil(self._total / (self._memory / 8)), {}
  for i = 1, buckets - 1 do out[i] = samples[math.ceil(i * #samples / buckets)] end
  return out
end

-- Returns how many of the block's first rows are before the limit.
local function rows_before(self, block, limit)
  local low, high = 0, block:num_rows()
  while low < high do
    local middle = math.floor((low + high) / 2)
    if row_order.is_before(self._keys, row_order.key_of(block, self._keys, middle), limit) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Moves the rows of a run that are before the limit to `out`; without a limit, all rows.
local function take_before(self, run, limit, out)
  while true do
    run.block = run.block or run.next_block()
    local block = run.block
    if block == nil then return end
    local rows = limit and rows_before(self, block, limit) or block:num_rows()
    out[#out + 1] = rows > 0 and block:narrow(0, rows) or nil
    if rows < block:num_rows() then
      run.block = block:narrow(rows, block:num_rows() - rows)
      return
    end
    run.block = nil
  end
end

local function merged(self)
  local runs, ends, bucket = {}, limits(self), 0
  for i, next_block in ipairs(self._spill:open()) do runs[i] = {next_block = next_block} end
  return function()
    while bucket <= #ends do
      bucket = bucket + 1
      local rows = {}
      for _, run in ipairs(runs) do take_before(self, run, ends[bucket], rows) end
      if #rows > 0 then return sorted(self, rows) end
    end
  end
end

-- Splits large blocks into parts that the next operators can take one by one.
local function in_parts(next_block)
  local block, start, rows = nil, 0, 0
  return function()
    while block == nil or start >= block:num_rows() do
      block, start = next_block(), 0
      if block == nil then return nil end
      local bytes = math.max(1, block:size_bytes() / math.max(1, block:num_rows()))
      rows = math.max(1, math.min(OUTPUT_ROWS, math.floor(OUTPUT_BYTES / bytes)))
    end
    local part = block:narrow(start, math.min(rows, block:num_rows() - start))
    start = start + rows
    return part
  end
end

---Returns all added rows, in order.
---@return fun(): data.Block|nil
function ExternalOrder:blocks()
  if self._spill:num_runs() > 0 then
    flush(self)
    return in_parts(merged(self))
  end
  local whole = #self._blocks > 0 and sorted(self, self._blocks) or nil
  self._blocks = {}
  return in_parts(once(whole))
end

---Removes the files.
function ExternalOrder:close() self._spill:close() end

return ExternalOrder
