-- rtrain/predict/init.lua: `rtrain predict`: applies a checkpoint's model to a data file, batch by batch.

local class = require 'base.class'
local errors = require 'base.errors'
local files = require 'rtrain.data.files'
local formats = require 'rtrain.data.files.formats'
local index_of = require 'base.index_of'
local inputs = require 'rtrain.predict.inputs'
local model_source = require 'rtrain.predict.model_source'
local ordered = require 'base.ordered'
local outputs = require 'rtrain.predict.outputs'
local script_transform = require 'rtrain.predict.script_transform'
local state_part = require 'rtrain.results.state_part'
local tensor_file = require 'rtrain.results.tensor_file'
local torch = require 'torch'
local to_column = require('rtrain.data.columns.values').to_column

local predict = {}

local function raise(...) errors.raise('usage', 'predict: ' .. (...):format(select(2, ...))) end

local READERS = {parquet = 'read_parquet', csv = 'read_csv', json = 'read_json', idx = 'read_idx', numpy = 'read_numpy',
                 image = 'read_images', text = 'read_text'}

-- Returns the format of the first file below a folder that has a known format.
local function format_of_folder(path)
  for _, name in ipairs(require('base._system').list_folder(path)) do
    local format = formats.of(name)
    if READERS[format] then return format end
  end
  return nil
end

---Returns the dataset for a path.
---@param path string a file or a folder of files
---@param format? string
---@return rtrain.data.Dataset
local function open_data(path, format)
  local kind = files.kind(files.absolute(path))
  if not kind then raise('%s: there is no such file or folder%s', path, files.looked_in(path)) end
  format = format or (kind == 'folder' and format_of_folder(path) or formats.of(path))
  if not READERS[format] and kind == 'folder' then
    raise('%s: no file in the folder has a name that says what it is: say --as, one of parquet, csv, json, idx, numpy, image, '
      .. 'text', path)
  end
  if not READERS[format] then
    raise('cannot tell from its name what %s is: say --as, one of parquet, csv, json, idx, numpy, image, text', path)
  end
  local extensions = kind ~= 'folder' and {path:match '%.(%w+)$'} or nil
  return require('rtrain.data')[READERS[format]](path, {file_extensions = extensions})
end

-- Removes the prefix that DistributedDataParallel adds to names, unless the model has it too.
local function named_as(model, state)
  local first = ordered.keys_of(state)[1]
  if type(first) ~= 'string' or first:sub(1, 7) ~= 'module.' or model:state_dict()[first] ~= nil then return state end
  local out = ordered.new()
  for _, name in ipairs(ordered.keys_of(state)) do out[name:gsub('^module%.', '')] = state[name] end
  return out
end

local function names_of(request)
  return request.files or require('base._system').list_folder(request.folder)
end

-- Returns the file of the checkpoint's tree model, as XGBoost saves it; nil for other models.
local function tree_file(request)
  if request.file then return request.file:find '%.ubj$' and request.file or nil end
  local found
  for _, name in ipairs(names_of(request)) do
    if tensor_file.is_one(name) then return nil end
    if name:find '%.ubj$' or name:find '^[^.].*%.json$' then found = found or name end
  end
  return found
end

local function load_weights(model, request)
  local file = tensor_file.choose(names_of(request), request.file, raise, '--file')
  local value = tensor_file.load(request.folder .. '/' .. file, {map_location = 'cpu', mmap = true})
  local part = state_part.choose(value, request.part, file, raise)
  if type(part) ~= 'table' then raise('%s is not a state dict: name the part of %s that is, --part', tostring(part), file) end
  local ok, err = xpcall(model.load_state_dict, errors.wrap, model, named_as(model, part))
  if ok then return end
  err.message = ('cannot load %s/%s: %s'):format(request.folder, file, err.message)
  error(err, 0)
end

local function dtype_of(model)
  for _, parameter in model:named_parameters() do
    if parameter:is_floating_point() then return parameter.dtype end
  end
  return 'float32'
end

local function device_of(given)
  if given then return given end
  return torch.cuda.is_available() and 'cuda' or 'cpu'
end

local function rows_of(batch)
  local first = batch[ordered.names_of(batch)[1]]
  return torch.is_tensor(first) and first:size(0) or #first
end

local function kept_columns(batch, request, columns)
  local out = ordered.new()
  for _, name in ipairs(request.keep) do
    if batch[name] == nil then
      raise("--keep: the data have no column '%s'%s", name, errors.suggestion(name, ordered.names_of(batch)))
    end
    if columns[name] ~= nil then raise("--keep: the predictions have a column '%s' too", name) end
    out[name] = batch[name]
  end
  for name, values in ordered.items(columns) do out[name] = values end
  return out
end

-- Columns that a message names for a wide table.
local MOST_NAMES = 8

-- Returns a text such as 'rows 0 to 255 of test.parquet, which has the columns x, y and 3 more'.
local function place_of(batch, first_row, request)
  local names = ordered.names_of(batch)
  local more = #names > MOST_NAMES and (' and %d more'):format(#names - MOST_NAMES) or ''
  return ('rows %d to %d of %s, which has the column%s %s%s'):format(first_row, first_row + rows_of(batch) - 1, request.data,
    #names == 1 and '' or 's', table.concat(names, ', ', 1, math.min(MOST_NAMES, #names)), more)
end

-- Returns the predictions for a batch; an error names the rows.
local function predicted(batch, first_row, request, fn)
  local ok, columns = xpcall(fn, errors.wrap, batch)
  if ok then return columns end
  if columns.code == 'interrupted' then error(columns, 0) end
  columns.message = ('%s\n(%s)'):format(columns.message, place_of(batch, first_row, request))
  error(columns, 0)
end

-- Applies fn to every batch and writes the results; returns the number of rows.
local function each_batch(dataset, request, output, fn)
  local rows = 0
  for batch in dataset:iter_batches{batch_size = request.batch_size} do
    output:write(kept_columns(batch, request, predicted(batch, rows, request, fn)))
    rows = rows + rows_of(batch)
  end
  return rows
end

-- Returns numbers with NaN for null, which XGBoost treats as missing.
local function with_nan(name, given)
  if type(given) ~= 'table' then return given end
  local of = to_column(given, #given, {name = name, dtype = 'float64'})
  return torch.is_tensor(of) and of or given
end

-- Uses as features the columns with names of the model, or the given columns.
local function tree_predictor(request, file)
  local booster = require('xgboost').Booster(nil, nil, request.folder .. '/' .. file)
  return function(batch)
    local features = ordered.new()
    for _, name in ipairs(request.columns or booster.feature_names or ordered.names_of(batch)) do
      if batch[name] == nil then
        raise("the data have no column '%s'%s", name, errors.suggestion(name, ordered.names_of(batch)))
      end
      if request.columns or booster.feature_names or not index_of(request.keep, name) then
        features[name] = with_nan(name, batch[name])
      end
    end
    return outputs.columns({booster:inplace_predict(features)}, rows_of(batch), request.classes)
  end, 'Booster', 'cpu'
end

-- Returns the function that makes the model's inputs, and its name. Warns if training transforms its inputs and predict
-- does not.
local function transform_of(request, script)
  local transform, name = script_transform.find(script, request.transform, request.columns ~= nil)
  if transform or request.transform then return transform, name end
  local warning = script_transform.warning(script.texts)
  if warning then io.stderr:write('rtrain: ', warning, '\n') end
end

-- Returns a function from a batch to the columns of its predictions, and the names of the model, its device and its
-- transform.
local function predictor(request)
  -- For a run, the hashes were checked when the checkpoint was found. XGBoost may crash on damaged files.
  if not request.files then require('base._system').verify(request.folder) end
  local trees = tree_file(request)
  if trees then return tree_predictor(request, trees) end
  local model, script = model_source.load(request)
  load_weights(model, request)
  local device = device_of(request.device)
  model:eval():to(device)
  local transform, name = transform_of(request, script)
  local of_model = class.of(model).__name
  if request.compile then model = torch.compile(model) end
  local options = {columns = request.columns, keep = request.keep, dtype = dtype_of(model), device = device,
                   transform = transform}
  return function(batch)
    return torch.no_grad(function()
      return outputs.columns({model(unpack(inputs.of(batch, options)))}, rows_of(batch), request.classes)
    end)
  end, of_model, device, name
end

---Writes the predictions of a checkpoint's model for each row of a file.
---@param request table {folder, files (of the checkpoint), file, part, script or sources, model, config, set, data, as,
---  columns, keep, transform, classes, compile, batch_size, limit, device, output, format}
---@return table done {rows, model, device, output, transform: the name of the input transform, if any}
---Errors: 'usage' for an ambiguous request; the errors of the script, the readers and the model.
function predict.run(request)
  request.keep = request.keep or {}
  local dataset = open_data(request.data, request.as)
  if request.limit then dataset = dataset:limit(request.limit) end
  local fn, model, device, transform = predictor(request)
  local output = outputs.Output(request.output, request.format)
  local ok, rows = xpcall(each_batch, errors.wrap, dataset, request, output, fn)
  if not ok then
    output:abort()
    -- The transform may be meant for other data.
    if transform and not request.transform then
      rows.message = ('%s\n(the inputs were made by %s of the script; --transform none leaves the columns as they are)'):format(
        rows.message, transform)
    end
    error(rows, 0)
  end
  if rows == 0 and not output:can_be_empty() then
    output:abort()
    raise('%s has no rows, and without one the columns of %s are not known: JSON lines can be empty', request.data,
      request.output)
  end
  output:close()
  return {rows = rows, model = model, device = device, output = request.output, transform = transform}
end

return predict
