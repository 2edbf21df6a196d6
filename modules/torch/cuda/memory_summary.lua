-- torch/cuda/memory_summary.lua: formats the statistics of a GPU's allocator.

local args = require 'base.args'
local engine = require 'torch.cuda.engine'
local memory = require 'torch.cuda.memory'
local size_text = require('torch.functions.memory').size_text

local memory_summary = {}

local function count_text(count) return ('%d'):format(count) end

-- Key of memory_stats, its description, its format.
local ROWS = {
  {'allocated_bytes', 'held by tensors', size_text},
  {'requested_bytes', 'asked for by tensors', size_text},
  {'active_bytes', 'in use on a stream', size_text},
  {'reserved_bytes', 'reserved', size_text},
  {'inactive_split_bytes', 'in gaps', size_text},
  {'allocation', 'allocations', count_text},
  {'active', 'blocks in use', count_text},
  {'segment', 'segments', count_text},
  {'inactive_split', 'gaps', count_text},
}
local POOLS = {{'large_pool', '  large blocks'}, {'small_pool', '  small blocks'}}
local OVERSIZE = {{'oversize_allocations', 'oversize allocations'}, {'oversize_segments', 'oversize segments'}}

local COLUMNS = {'current', 'peak', 'allocated', 'freed'}

local function row(stats, prefix, label, text)
  local cells = {}
  for i, column in ipairs(COLUMNS) do cells[i] = text(stats[prefix .. '.' .. column]) end
  return ('| %-22s | %11s | %11s | %11s | %11s |'):format(label, unpack(cells))
end

local function head(device, stats)
  return {
    ('Memory of cuda:%d, as LibTorch counts it. Out of memory: %d times; cache given up: %d times.'):format(
      device, stats.num_ooms, stats.num_alloc_retries),
    ('| %-22s | %11s | %11s | %11s | %11s |'):format('', 'now', 'peak', 'allocated', 'freed'),
    '|' .. ('-'):rep(24) .. ('|' .. ('-'):rep(13)):rep(4) .. '|',
  }
end

local signature = args.signature('memory_summary', {{'device'}, {'abbreviated', false}})

---Returns a table of memory_stats of a device as text: memory of tensors, reserved memory, memory lost in gaps.
---Arguments: device (default: the current device), {abbreviated = false}: without the two pools. PyTorch equivalent:
---torch.cuda.memory_summary.
---@param ... any
---@return string
---
---```lua
---local torch = require 'torch'
---assert(not torch.cuda.is_available() or torch.cuda.memory_summary():find 'held by tensors')
---```
function memory_summary.memory_summary(...)
  local a = signature:bind(...)
  local device = engine.index_of('memory_summary', a.device)
  local stats = memory.memory_stats(device)
  local lines = head(device, stats)
  for _, entry in ipairs(ROWS) do
    lines[#lines + 1] = row(stats, entry[1] .. '.all', entry[2], entry[3])
    for _, pool in ipairs(a.abbreviated and {} or POOLS) do
      lines[#lines + 1] = row(stats, entry[1] .. '.' .. pool[1], pool[2], entry[3])
    end
  end
  for _, entry in ipairs(OVERSIZE) do lines[#lines + 1] = row(stats, entry[1], entry[2], count_text) end
  return table.concat(lines, '\n')
end

return memory_summary
