-- torch/functions/memory.lua: formats the memory usage of tensors as text.

local memory = {}

local UNITS = {'B', 'KiB', 'MiB', 'GiB', 'TiB'}

---@param bytes number
---@return string text '12.5 MiB'
function memory.size_text(bytes)
  local unit = 1
  while bytes >= 1024 and unit < #UNITS do
    bytes, unit = bytes / 1024, unit + 1
  end
  return (unit == 1 and '%d %s' or '%.1f %s'):format(bytes, UNITS[unit])
end

local text = memory.size_text

---Returns a size that the kernel reports for this process.
---@param name string of /proc/self/status: 'VmRSS', 'VmHWM'
---@return integer? bytes nil if the kernel does not report it
function memory.process_bytes(name)
  local file = io.open('/proc/self/status')
  if not file then return nil end
  local found
  for line in file:lines() do
    local kib = line:match('^' .. name .. ':%s+(%d+) kB')
    if kib then found = tonumber(kib) * 1024 end
  end
  file:close()
  return found
end

local function rows()
  local stats = require('torch._C').memory_stats()
  local out = {{'', 'now', 'peak'}, {'cpu tensors', text(stats.live_bytes), text(stats.peak_bytes)}}
  for _, device in ipairs(stats.devices) do
    out[#out + 1] = {device.device .. ' tensors', text(device.allocated_bytes), text(device.peak_bytes)}
    out[#out + 1] = {device.device .. ' reserved', text(device.reserved_bytes), 'of ' .. text(device.total_bytes)}
  end
  out[#out + 1] = {'Lua heap', text(collectgarbage 'count' * 1024), ''}
  local resident = memory.process_bytes 'VmRSS'
  if resident then out[#out + 1] = {'process', text(resident), text(memory.process_bytes 'VmHWM' or resident)} end
  out[#out + 1] = {'full collections', ('%d'):format(stats.full_collections), ''}
  out[#out + 1] = {'next one above', text(stats.ceiling_bytes), ''}
  return out
end

---Returns a table, as text, of the present and greatest memory of tensors, Lua and the process, and of the causes of
---garbage collections. PyTorch equivalent: torch.cuda.memory_summary, here for the CPU and every device in use.
---@return string
---
---```lua
---local torch = require 'torch'
---local x = torch.zeros(1024, 1024)
---assert(torch.memory_summary():find 'cpu tensors' and x:numel() == 2 ^ 20)
---```
function memory.memory_summary()
  local lines, rule = {}, '|' .. ('-'):rep(20) .. '|' .. ('-'):rep(14) .. '|' .. ('-'):rep(14) .. '|'
  for i, row in ipairs(rows()) do
    lines[#lines + 1] = ('| %-18s | %12s | %12s |'):format(unpack(row))
    if i == 1 then lines[#lines + 1] = rule end
  end
  return table.concat(lines, '\n')
end

return memory
