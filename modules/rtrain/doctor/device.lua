-- rtrain/doctor/device.lua: the test of one device: a matrix product, copies, memory.

local row = require 'rtrain.doctor.row'

local device = {}

local CHECKED = 256           -- rows and columns of the product that is compared
local LARGEST = 8192          -- of the one that is timed
local TOLERANCE = 1e-4        -- of float32, relative to the largest number
local LONG_S = 0.004          -- a product that takes so long is large enough
local MEASURED_S = 0.1        -- how long each thing is measured
local COPIED = 2 ^ 26         -- bytes
local FILLED = 0.9            -- the share of the free memory that is allocated
local FEW = 0.5               -- a smaller share of memory that is free is worth a warning

-- Returns how often a second the device does it.
local function rate_of(work)
  local torch, system = require 'torch', require 'base._system'
  local function seconds(count)
    local start = system.monotonic()
    for _ = 1, count do work() end
    torch.cuda.synchronize()
    return system.monotonic() - start
  end
  seconds(1)
  local count, taken = 1, seconds(1)
  while taken < MEASURED_S do
    count = count * 2
    taken = seconds(count)
  end
  return count / taken
end

-- Returns the largest difference from the product of the CPU in float64, relative to its largest number.
local function product_error(where)
  local torch = require 'torch'
  torch.manual_seed(1)
  local a, b = torch.randn(CHECKED, CHECKED), torch.randn(CHECKED, CHECKED)
  local found = torch.mm(a:to(where), b:to(where)):cpu():double()
  local expected = torch.mm(a:double(), b:double())
  return ((found - expected):abs():max() / expected:abs():max()):item()
end

local function tflops(where)
  local torch = require 'torch'
  local size = CHECKED
  while true do
    local a, b = torch.ones({size, size}, {device = where}), torch.ones({size, size}, {device = where})
    local out = torch.empty({size, size}, {device = where})
    local rate = rate_of(function() torch.mm(a, b, {out = out}) end)
    if 1 / rate >= LONG_S or size >= LARGEST then return 2 * size ^ 3 * rate / 1e12, size end
    size = size * 2
  end
end

local function copies(where)
  local torch = require 'torch'
  local from = torch.zeros({COPIED}, {dtype = 'uint8', device = where})
  local to = torch.empty({COPIED}, {dtype = 'uint8', device = where})
  local host = torch.zeros({COPIED}, {dtype = 'uint8', pin_memory = true})
  local function gb_s(target, source) return COPIED * rate_of(function() target:copy_(source, true) end) / 1e9 end
  return {within_gb_s = gb_s(to, from), to_device_gb_s = gb_s(to, host), to_host_gb_s = gb_s(host, from)}
end

-- Allocates most of the free memory in one piece, and uses both ends of it.
local function memory(where)
  local torch = require 'torch'
  torch.cuda.empty_cache()
  local free, total = torch.cuda.mem_get_info(where)
  local size = math.floor(free * FILLED)
  local ends = 0
  do
    local block = torch.empty({size}, {dtype = 'uint8', device = where})
    for _, at in ipairs {0, size - 1} do
      local part = block:narrow(0, at, 1)
      part:fill_(7)
      ends = ends + part:cpu():item()
    end
  end
  collectgarbage()
  torch.cuda.empty_cache()
  return {free_bytes = free, total_bytes = total, allocated_bytes = size, is_kept = ends == 14}
end

---Tests a device. Raises what the device raises.
---@param where string 'cuda:0'
---@return table facts
function device.measure(where)
  local torch = require 'torch'
  local properties = torch.cuda.get_device_properties(where)
  local facts = {name = properties.name, uuid = 'GPU-' .. properties.uuid, error = product_error(where)}
  facts.tflops, facts.product_size = tflops(where)
  facts.copies, facts.memory = copies(where), memory(where)
  return facts
end

local SEE = 'the driver records the errors of a device: `nvidia-smi -q`, `dmesg | grep -i xid`'

local function finding_of(facts)
  local copied, held = facts.copies, facts.memory
  return ('%s: %.3g TFLOP/s in float32, copies %.3g GB/s within, %.3g to it, %.3g from it, %.1f of %.1f GB allocated'):format(
    facts.name, facts.tflops, copied.within_gb_s, copied.to_device_gb_s, copied.to_host_gb_s,
    held.allocated_bytes / 1e9, held.total_bytes / 1e9)
end

---Says what the facts mean.
---@param name string 'GPU 0'
---@param facts table|false of measure, or {error_text: string}; false: there are none
---@param said string the error with which the test has ended
---@return rtrain.DoctorRow
function device.judge(name, facts, said)
  if not facts then return row.failure(name, 'its test has no result: ' .. said, {mend = SEE}) end
  if facts.error_text then return row.failure(name, facts.error_text, {mend = SEE, figures = facts}) end
  if not row.is_within(facts.error, TOLERANCE) then
    return row.failure(name, ('%s: a product of matrices differs from that of the CPU by %.3g of its largest number')
      :format(facts.name, facts.error), {mend = 'the device computes wrong numbers: ' .. SEE, figures = facts})
  end
  if not facts.memory.is_kept then
    return row.failure(name, facts.name .. ': its memory does not keep what is written', {mend = SEE, figures = facts})
  end
  if facts.memory.free_bytes < FEW * facts.memory.total_bytes then
    return row.warning(name, finding_of(facts), {mend = 'other programs hold its memory: nvidia-smi', figures = facts})
  end
  return row.ok(name, finding_of(facts), {figures = facts})
end

return device
