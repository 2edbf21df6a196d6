-- Scans of Parquet files. Prints "name<TAB>milliseconds" lines. Twin of peers/parquet.py: change both.
--
--   parquet.lua batches|tensors quick|full SET=FILE …
local arrow = require 'base._arrow'
local clock = require 'events'

local BATCH_ROWS = 65536 -- pyarrow's default

local from_arrow = arg[1] == 'tensors' and require('torch._C').data.from_arrow or function() end

local function scan(paths)
  local start, rows = clock.now(), 0
  for _, path in ipairs(paths) do
    local reader = arrow.open_parquet(path)
    for group = 0, reader:num_row_groups() - 1 do
      local cursor = reader:read(group, nil, BATCH_ROWS)
      for batch in function() return cursor:next() end do
        rows = rows + batch:num_rows()
        from_arrow(batch)
        batch:release()
      end
    end
  end
  assert(rows > 0)
  return (clock.now() - start) * 1e3
end

local names, sets = {}, {}
for i = 3, #arg do
  local name, path = arg[i]:match '^(%w+)=(.*)$'
  if not sets[name] then sets[name], names[#names + 1] = {}, name end
  table.insert(sets[name], path)
end
for _, name in ipairs(names) do
  local times = {}
  scan(sets[name])
  for i = 1, arg[2] == 'quick' and 1 or 7 do times[i] = scan(sets[name]) end
  table.sort(times)
  io.write(('%s\t%.6f\n'):format(name, times[math.ceil(#times / 2)]))
end
