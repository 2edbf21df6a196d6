-- torch/profiler/event_table.lua: formats the table of key_averages(), like PyTorch's.

local WIDTH = 12
local GAP = '  '

local function time_text(us, unit)
  if unit == 's' or not unit and us >= 1e6 then return ('%.3fs'):format(us / 1e6) end
  if unit == 'ms' or not unit and us >= 1e3 then return ('%.3fms'):format(us / 1e3) end
  return ('%.3fus'):format(us)
end

local function share_text(part, whole) return whole == 0 and 'NaN' or ('%.2f%%'):format(part * 100 / whole) end

local function memory_text(bytes)
  local size = math.abs(bytes)
  if size >= 2 ^ 30 then return ('%.2f GB'):format(bytes / 2 ^ 30) end
  if size >= 2 ^ 20 then return ('%.2f MB'):format(bytes / 2 ^ 20) end
  if size >= 2 ^ 10 then return ('%.2f KB'):format(bytes / 2 ^ 10) end
  return ('%d B'):format(bytes)
end

local FLOPS = {'FLOPs', 'KFLOPs', 'MFLOPs', 'GFLOPs', 'TFLOPs', 'PFLOPs'}

-- Returns scale and heading for the operations of all rows, chosen by the smallest of them.
local function flops_scale(events)
  local least
  for _, event in ipairs(events) do
    if event.flops > 0 then least = math.min(least or event.flops, event.flops) end
  end
  if not least then return nil end
  local step = math.max(0, math.min(math.floor(math.log10(least) / 3), #FLOPS - 1))
  return 10 ^ (-3 * step), 'Total ' .. FLOPS[step + 1]
end

local function any(events, test)
  for _, event in ipairs(events) do
    if test(event) then return true end
  end
  return false
end

local function widest(events, text_of, most)
  local width = 0
  for _, event in ipairs(events) do width = math.max(width, #text_of(event)) end
  return math.min(width + 4, most)
end

local function shortened(text, most) return #text >= most - 3 and text:sub(1, most - 3) .. '...' or text end

local function totals(events)
  local cpu, device = 0, 0
  for _, event in ipairs(events) do
    cpu = cpu + event.self_cpu_time_total
    if event.device_type ~= 'cpu' and not event.is_user_annotation then device = device + event.self_device_time_total end
  end
  return cpu, device
end

local function add_cpu_columns(add, total, unit)
  add('Self CPU %', WIDTH, function(e) return share_text(e.self_cpu_time_total, total) end)
  add('Self CPU', WIDTH, function(e) return time_text(e.self_cpu_time_total, unit) end)
  add('CPU total %', WIDTH, function(e) return e.is_async and '0' or share_text(e.cpu_time_total, total) end)
  add('CPU total', WIDTH, function(e) return time_text(e.cpu_time_total, unit) end)
  add('CPU time avg', WIDTH, function(e) return time_text(e.cpu_time, unit) end)
end

local function add_device_columns(add, total, unit)
  add('Self CUDA', WIDTH, function(e) return time_text(e.self_device_time_total, unit) end)
  add('Self CUDA %', WIDTH, function(e) return share_text(e.self_device_time_total, total) end)
  add('CUDA total', WIDTH, function(e) return time_text(e.device_time_total, unit) end)
  add('CUDA time avg', WIDTH, function(e) return time_text(e.device_time, unit) end)
end

local function add_memory_columns(add, has_device)
  add('CPU Mem', WIDTH, function(e) return memory_text(e.cpu_memory_usage) end)
  add('Self CPU Mem', WIDTH, function(e) return memory_text(e.self_cpu_memory_usage) end)
  if not has_device then return end
  add('CUDA Mem', WIDTH, function(e) return memory_text(e.device_memory_usage) end)
  add('Self CUDA Mem', WIDTH, function(e) return memory_text(e.self_device_memory_usage) end)
end

local function add_last_columns(add, events, options, recording)
  if any(events, function(e) return #e.input_shapes > 2 end) then
    local width = widest(events, function(e) return e.input_shapes end, options.max_shapes_column_width or 80)
    add('Input Shapes', width, function(e) return e.input_shapes:sub(1, width) end)
  end
  if any(events, function(e) return #e.stack > 0 end) then
    local width = widest(events, function(e) return e.stack[1] or '' end, options.max_src_column_width or 75)
    add('Source Location', width, function(e) return (e.stack[1] or ''):sub(-width) end, true)
  end
  local scale, heading = flops_scale(events)
  if not (recording.with_flops and scale) then return end
  add(heading, WIDTH, function(e) return e.flops > 0 and ('%8.3f'):format(e.flops * scale) or '--' end)
end

local function columns_of(events, options, recording)
  local columns = {}
  local function add(heading, width, text_of, is_left)
    columns[#columns + 1] = {heading = heading, width = width, text_of = text_of, is_left = is_left}
  end
  local cpu, device = totals(events)
  local most = options.max_name_column_width or 55
  add('Name', widest(events, function(e) return e.key end, most), function(e) return shortened(e.key, most) end)
  add_cpu_columns(add, cpu, options.time_unit)
  local has_device_time = any(events, function(e) return e.self_device_time_total > 0 end)
  if has_device_time then add_device_columns(add, device, options.time_unit) end
  if recording.profile_memory then
    add_memory_columns(add, any(events, function(e) return e.self_device_memory_usage > 0 end))
  end
  add('# of Calls', WIDTH, function(e) return ('%d'):format(e.count) end)
  add_last_columns(add, events, options, recording)
  return columns, cpu, has_device_time and device
end

local function line_of(columns, text_of)
  local cells = {}
  for i, column in ipairs(columns) do
    cells[i] = ('%' .. (column.is_left and '-' or '') .. column.width .. 's'):format(text_of(column)) .. GAP
  end
  return table.concat(cells)
end

---@param events torch.profiler.FunctionEventAvg[] in the order of the rows
---@param options table of EventList:table
---@param recording table the recording
---@return string
local function event_table(events, options, recording)
  if #events == 0 then return '' end
  local columns, cpu, device = columns_of(events, options, recording)
  local rule = line_of(columns, function(column) return ('-'):rep(column.width) end)
  local lines = {rule, line_of(columns, function(column) return column.heading end), rule}
  if options.header then
    table.insert(lines, 1, options.header)
    table.insert(lines, 1, ('='):rep(#rule - #GAP))
  end
  for i, event in ipairs(events) do
    if i - 1 == (options.row_limit or 100) then break end
    lines[#lines + 1] = line_of(columns, function(column) return column.text_of(event) end)
  end
  lines[#lines + 1] = rule
  lines[#lines + 1] = 'Self CPU time total: ' .. time_text(cpu, options.time_unit)
  if device then lines[#lines + 1] = 'Self CUDA time total: ' .. time_text(device, options.time_unit) end
  return table.concat(lines, '\n') .. '\n'
end

return event_table
