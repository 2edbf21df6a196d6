-- rtrain/predict/outputs.lua: converts a model's results to columns, and writes them to files.

local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local formats = require 'rtrain.data.files.formats'
local ordered = require 'base.ordered'
local part_writers = require 'rtrain.data.files.part_writers'
local torch = require 'torch'

local outputs = {}

local function raise(...) errors.raise('usage', 'predict: ' .. (...):format(select(2, ...))) end

-- Collects the tensors of a result, by name.
local function collect(value, name, out)
  if torch.is_tensor(value) then
    out[name] = value
  elseif type(value) == 'table' then
    local names = ordered.names_of(value)
    for _, key in ipairs(names) do collect(value[key], name == 'prediction' and key or name .. '.' .. key, out) end
    for i, item in ipairs(#names == 0 and value or {}) do collect(item, ('%s_%d'):format(name, i - 1), out) end
  end
end

---Returns the columns of a batch's predictions.
---@param results any[] the results of the model
---@param count integer rows
---@param classes boolean whether to add the place of the largest value, as 'class'
---@return table<string, torch.Tensor> columns an ordered map
function outputs.columns(results, count, classes)
  local out = ordered.new()
  collect(#results == 1 and results[1] or results, 'prediction', out)
  local names = ordered.keys(out)
  if #names == 0 then raise('the model returned no tensor') end
  for _, name in ipairs(names) do
    local values = out[name]:detach():cpu()
    if values:dim() == 0 or values:size(0) ~= count then
      raise("the model returned %s of shape %s for %d rows, expected one for each row", name, tostring(values.shape), count)
    end
    if values.dtype == 'bfloat16' or values.dtype == 'float16' then values = values:float() end
    out[name] = values:dim() == 2 and values:size(1) == 1 and values:squeeze(1) or values
  end
  if classes then
    local values = out[names[1]]
    if values:dim() < 2 then raise('--classes: the model returns one number for each row, not one for each class') end
    out.class = values:argmax(1)
  end
  return out
end

-- Splits vectors into a column for each place, as CSV needs it.
local function flat(block)
  local names, columns = {}, {}
  for _, name in ipairs(block:names()) do
    local of = block:column(name)
    if torch.is_tensor(of) and of:dim() == 2 then
      for i = 0, of:size(1) - 1 do
        names[#names + 1], columns[#columns + 1] = ('%s_%d'):format(name, i), of:select(1, i):contiguous()
      end
    elseif torch.is_tensor(of) and of:dim() > 2 then
      raise("CSV has no place for column '%s' of shape %s: write Parquet or JSON lines", name, tostring(of.shape))
    else
      names[#names + 1], columns[#columns + 1] = name, of
    end
  end
  return Block(names, columns, block:num_rows())
end

local WRITERS = {
  json = function(path)
    return path and part_writers.json(path) or part_writers.json_to_stdout(), function(block) return block end
  end,
  csv = function(path)
    return require('base._arrow').csv_writer(path, {}), function(block) return flat(block):to_arrow() end
  end,
  parquet = function(path)
    return require('base._arrow').parquet_writer(path, {}), function(block) return block:to_arrow() end
  end,
}

---@class rtrain.predict.Output
local Output = require 'base.class'('Output')

---@param path? string the file; without it JSON lines go to stdout
---@param format? string 'json', 'csv' or 'parquet'; default: by the extension of the path
function Output:init(path, format)
  format = format or path and formats.of(path) or 'json'
  if not WRITERS[format] then raise('-o %s: predictions are written as JSON lines, CSV or Parquet, say --format', path) end
  if not path and format ~= 'json' then raise('--format %s needs a file, -o PATH', format) end
  self._path, self._format = path, format
  self._writer, self._convert = WRITERS[format](path)
end

---Writes the rows of a batch.
---@param columns table
function Output:write(columns)
  self._writer:write(self._convert(Block.from_batch(columns, nil, {default_dtype = 'number'})))
end

---@return boolean can_be_empty whether a file without rows is valid
function Output:can_be_empty() return self._format == 'json' end

---Completes the file.
function Output:close()
  self._writer:close()
  self._writer = nil
end

---Removes the unfinished file.
function Output:abort()
  local writer = self._writer
  self._writer = nil
  if writer and writer.abort then writer:abort() end
end

outputs.Output = Output

return outputs
