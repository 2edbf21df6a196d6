-- torch/profiler/key_averages.lua: the sums of a recording's events, and their table.

local args = require 'base.args'
local class = require 'base.class'

local EVENT_FIELDS = {
  'key', 'count', 'cpu_time', 'cpu_time_total', 'self_cpu_time_total', 'device_time', 'device_time_total',
  'self_device_time_total', 'cpu_memory_usage', 'self_cpu_memory_usage', 'device_memory_usage',
  'self_device_memory_usage', 'flops',
}

---The sums of one name. Times are in microseconds, memory in bytes; `cpu_time` and `device_time` are means over the
---calls.
---@class torch.profiler.FunctionEventAvg
---@field key string
---@field count integer
---@field cpu_time number
---@field cpu_time_total number including nested calls
---@field self_cpu_time_total number without
---@field device_time number
---@field device_time_total number
---@field self_device_time_total number
---@field cpu_memory_usage integer bytes allocated minus bytes freed
---@field self_cpu_memory_usage integer
---@field device_memory_usage integer
---@field self_device_memory_usage integer
---@field flops integer
---@field input_shapes string '' unless grouped by shapes
---@field stack string[] Lua lines
---@field device_type string 'cpu' or 'cuda'
---@field is_async boolean
---@field is_user_annotation boolean

---A list of torch.profiler.FunctionEventAvg.
---@class torch.profiler.EventList
local EventList = class('torch.profiler.EventList')

---Returns the sums of one name; nil if it did not occur.
---@param key string such as 'aten::mm'
---@return torch.profiler.FunctionEventAvg|nil
function EventList:find(key)
  for _, event in ipairs(self) do
    if event.key == key then return event end
  end
  return nil
end

---@return number microseconds total time on the CPU
function EventList:self_cpu_time_total()
  local sum = 0
  for _, event in ipairs(self) do sum = sum + event.self_cpu_time_total end
  return sum
end

-- PyTorch uses the name cuda for any kind of device.
local function field_of(sort_by)
  local field = tostring(sort_by):gsub('cuda', 'device')
  return args.one_of('table: sort_by', field, EVENT_FIELDS)
end

local function sorted(list, sort_by)
  local out = {}
  for i, event in ipairs(list) do out[i] = event end
  if not sort_by then return out end
  local field, place = field_of(sort_by), {}
  for i, event in ipairs(out) do place[event] = i end
  table.sort(out, function(a, b)
    if a[field] ~= b[field] then return a[field] > b[field] end
    return place[a] < place[b]
  end)
  return out
end

---Returns the list as a text table, like PyTorch's.
---@param options? table `sort_by`: a field, largest first (cuda_… is device_…); `row_limit`: default 100, -1 for all;
---  `time_unit`: 's', 'ms' or 'us'; `header`; `max_name_column_width`, `max_shapes_column_width`, `max_src_column_width`
---@return string
function EventList:table(options)
  options = args.options(options, {
    'sort_by', 'row_limit', 'max_name_column_width', 'max_shapes_column_width', 'max_src_column_width', 'header',
    'time_unit',
  }, 'table')
  if options.time_unit then args.one_of('table: time_unit', options.time_unit, {'s', 'ms', 'us'}) end
  return require('torch.profiler.event_table')(sorted(self, options.sort_by), options, self._recording)
end

EventList.__tostring = EventList.table

local function new(list, recording)
  local out = EventList()
  for i, event in ipairs(list) do
    event.cpu_time = event.cpu_time_total / event.count
    event.device_time = event.device_time_total / event.count
    out[i] = event
  end
  out._recording = recording
  return out
end

return {new = new}
