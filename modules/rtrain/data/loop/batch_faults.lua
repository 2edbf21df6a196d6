-- rtrain/data/loop/batch_faults.lua: finds the column and row of a batch with a NaN or infinite value, for messages.

local column = require 'rtrain.data.columns.column'

local batch_faults = {}

local function show(number)
  if number ~= number then return 'nan' end
  return number > 0 and 'inf' or '-inf'
end

-- Returns for a tensor with a row for each of the batch: the first bad row, the number of bad rows, and the value.
local function bad_rows(value, num_rows)
  if not column.is_tensor(value) or value.is_sparse or not value:is_floating_point() then return nil end
  if value:dim() == 0 or value:size(0) ~= num_rows or value:numel() == 0 then return nil end
  local flat = value:detach():reshape(num_rows, -1)
  local bad = flat:isfinite():logical_not()
  local rows = bad:any(1):nonzero():flatten()
  if rows:numel() == 0 then return nil end
  local row = rows[0]:item()
  return row, rows:numel(), flat[row][bad[row]:nonzero()[0][0]:item()]:item()
end

---Returns a function that checks a batch made of a block. It keeps only the origins of the block's rows.
---@param block data.Block
---@return fun(batch: any): string? text "column 'y' of the last batch is nan in row 3 (row 12 of /data/a.csv)"; nil
---  if all values are finite, or if the batch has no tensors with the names of the columns
function batch_faults.of(block)
  local names, num_rows, origin = block:names(), block:num_rows(), block:origin_of_rows()
  return function(batch)
    if type(batch) ~= 'table' then return nil end
    for _, name in ipairs(names) do
      local row, count, number = bad_rows(batch[name], num_rows)
      if row then
        local place = origin(row)
        local more = count > 1 and (' and in %d more'):format(count - 1) or ''
        return ("column '%s' of the last batch is %s in row %d%s%s"):format(name, show(number), row,
          place and (' (%s)'):format(place) or '', more)
      end
    end
  end
end

return batch_faults
