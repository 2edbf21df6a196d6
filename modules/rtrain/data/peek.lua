-- rtrain/data/peek.lua: the contents of a data file as plain data, for `rtrain peek`.

local errors = require 'base.errors'
local formats = require 'rtrain.data.files.formats'
local is_list = require 'base.is_list'
local number = require 'base.number'
local ordered = require 'base.ordered'

local peek = {}

local MAX_ELEMENTS = 16  -- the values of a larger tensor are not shown
local LEAST_PIXELS, MOST_PIXELS = 8, 4096  -- limits of a side of a tensor that may be a picture

local function is_tensor(value) return type(value) == 'userdata' and require('torch').is_tensor(value) end

-- Returns the list in a form that stays a list when it is empty.
local function list_of(values)
  if #values == 0 then return require('torch').list {} end
  return values
end

local function shape_of(tensor)
  local shape = {}
  for i, size in ipairs(tensor.shape) do shape[i] = size end
  return list_of(shape)
end

-- Plain data has integers up to 2^64 - 1: other cdata are shown as text.
local function plain_integer(value) return number.of(value) and value or number.text(value) end

local plain
local null  -- look() gets it: nil within a list

local function plain_table(value)
  if #value == 0 and getmetatable(value) == getmetatable(list_of {}) then return value end
  local out = ordered.new()
  if #value > 0 and is_list(value) then
    out = {}
    for i = 1, #value do out[i] = plain(value[i]) end
    return out
  end
  for _, key in ipairs(ordered.keys_of(value)) do out[tostring(key)] = plain(value[key]) end
  return out
end

-- Returns the value as plain data. A large tensor is only described.
function plain(value)
  if is_tensor(value) then
    if value:numel() > MAX_ELEMENTS or value:is_complex() then
      return ordered.new {{'shape', shape_of(value)}, {'dtype', tostring(value.dtype)}}
    end
    return value:dim() == 0 and value:item() or value:tolist()
  end
  if type(value) == 'table' then return plain_table(value) end
  if type(value) == 'cdata' then return plain_integer(value) end
  if type(value) == 'userdata' then return value == require('torch').none and null or tostring(value) end
  return value
end

-- Whether a tensor may be a picture: (h, w) or (h, w, c) of bytes.
local function is_picture(value)
  if not is_tensor(value) or value.dtype ~= 'uint8' then return false end
  local shape = value.shape
  if #shape ~= 2 and not (#shape == 3 and (shape[3] == 1 or shape[3] == 3 or shape[3] == 4)) then return false end
  return math.min(shape[1], shape[2]) >= LEAST_PIXELS and math.max(shape[1], shape[2]) <= MOST_PIXELS
end

-- Returns {width, height, pixels}: RGB bytes, at most `size` pixels wide and high.
local function picture_of(tensor, size)
  local torch = require 'torch'
  local image = tensor:dim() == 2 and tensor:unsqueeze(2) or tensor
  local channels = image.shape[3]
  if channels == 4 then image = image:narrow(2, 0, 3) end
  if channels == 1 then image = image:expand(image.shape[1], image.shape[2], 3) end
  local height, width = image.shape[1], image.shape[2]
  local scale = math.min(1, size / math.max(height, width))
  local rows, columns = math.max(1, math.floor(height * scale)), math.max(1, math.floor(width * scale))
  if scale < 1 then
    local planes = image:permute(2, 0, 1):unsqueeze(0):float()
    planes = torch.nn.functional.interpolate(planes, {size = {rows, columns}, mode = 'area'})
    image = planes:squeeze(0):permute(1, 2, 0):round():clamp(0, 255):to('uint8')
  end
  return {width = columns, height = rows, pixels = require 'torch.tensor.tensor_bytes'(image)}
end

-- Returns the columns, rows and pictures of a dataset, which may hold only the first rows of `num_rows`.
local function table_of(dataset, format, request, num_rows)
  local schema = dataset:schema()
  local columns, rows, pictures = {}, {}, {}
  for i, name in ipairs(schema and schema.names or {}) do columns[i] = {name = name, type = schema.types[i]} end
  for i, row in ipairs(request.rows > 0 and dataset:take(request.rows) or {}) do
    local out = ordered.new()
    for _, column in ipairs(columns) do
      local value = row[column.name]
      if request.picture_size and is_picture(value) then
        local picture = picture_of(value, request.picture_size)
        picture.label = ('row %d, %s'):format(i - 1, column.name)
        pictures[#pictures + 1] = picture
      end
      out[column.name] = plain(value)
    end
    rows[i] = out
  end
  return {format = format, num_rows = num_rows or dataset:count(), columns = list_of(columns), rows = list_of(rows),
          pictures = list_of(pictures)}
end

local function of_reader(name)
  return function(path, format, request)
    return table_of(require('rtrain.data')[name](path, {file_extensions = request.extensions}), format, request)
  end
end

-- Reads or unpacks only the part of the arrays that is shown: `first(path, rows)` returns these rows and the total
-- number.
local function of_array(first)
  return function(path, format, request)
    local rows, num_rows = first(path, math.max(request.rows, 1))
    local ArraySource, Dataset = require 'rtrain.data.sources.array_source', require 'rtrain.data.dataset'
    local source = ArraySource({{'data', {path}}}, {name = 'Peek', load = function() return rows end})
    return table_of(Dataset(require 'rtrain.data.executor.plan'(source)), format, request, num_rows)
  end
end

local read_idx = of_array(function(path, rows) return require('torch._C').read_idx(path, rows) end)

local read_npy = of_array(function(path, rows)
  local array = require('torch').load_numpy(path, {mmap = true})
  if array:dim() == 0 then return array, 1 end
  return array:narrow(0, 0, math.min(rows, array:size(0))), array:size(0)
end)

local read_npz = of_reader 'read_numpy'

local function read_numpy(path, format, request)
  local is_array = not path:find '%.npz$' and is_tensor(require('torch').load_numpy(path, {mmap = true}))
  return (is_array and read_npy or read_npz)(path, format, request)
end

-- Collects every tensor below `value` by its name, and the other values.
local function collect(value, name, tensors, others)
  if is_tensor(value) then
    tensors[#tensors + 1] = {name = name == '' and 'tensor' or name, shape = shape_of(value), dtype = tostring(value.dtype)}
  elseif type(value) == 'table' then
    local keys = ordered.keys_of(value)
    local counts_from_one = is_list(value) and not ordered.is(value) and getmetatable(value) ~= require('torch')._intmap_meta
    for _, key in ipairs(keys) do
      local shown = counts_from_one and key - 1 or key
      collect(value[key], name == '' and tostring(shown) or name .. '.' .. tostring(shown), tensors, others)
    end
  else
    others[name == '' and 'value' or name] = plain(value)
  end
end

local function tensors_of(value, format, metadata)
  local tensors, others = {}, ordered.new()
  collect(value, '', tensors, others)
  return {format = format, tensors = list_of(tensors), values = others, metadata = metadata}
end

local function read_pt(path, format)
  return tensors_of(require('torch').load(path, {map_location = 'cpu', mmap = true}), format)
end

local function read_safetensors(path, format)
  local tensors, metadata = require('torch').load_safetensors(path, {mmap = true, metadata = true})
  return tensors_of(tensors, format, metadata)
end

local function read_image(path, format, request)
  local image = require('rtrain.data').read_images(path, {file_extensions = request.extensions}):take(1)[1].image
  local pictures = {}
  if request.picture_size then
    pictures[1] = picture_of(image, request.picture_size)
    pictures[1].label = path:match '[^/]*$'
  end
  return {format = format, shape = shape_of(image), dtype = 'uint8', pictures = list_of(pictures)}
end

local READERS = {
  parquet = of_reader 'read_parquet', csv = of_reader 'read_csv', json = of_reader 'read_json', text = of_reader 'read_text',
  arrow = of_reader 'read_arrow', tfrecord = of_reader 'read_tfrecords', webdataset = of_reader 'read_webdataset',
  idx = read_idx, numpy = read_numpy, safetensors = read_safetensors, pt = read_pt, image = read_image,
}

local NAMES = {'arrow', 'csv', 'idx', 'image', 'json', 'numpy', 'parquet', 'pt', 'safetensors', 'text', 'tfrecord',
               'webdataset'}

local function format_of(path)
  local found = formats.of(path)
  if found then return found end
  errors.raise('usage', ('peek: cannot tell from its name what %s is: say --as, one of %s'):format(path,
    table.concat(NAMES, ', ')))
end

---Returns a picture of an encoded image.
---@param bytes string a PNG or JPEG
---@param size integer at most that many pixels wide and high
---@return table picture {width, height, pixels}: bytes of RGB
function peek.picture(bytes, size)
  local torch = require 'torch'
  local data = torch.frombuffer(bytes, {dtype = 'uint8'})
  local image = require('torch._C').data.decode_image(data, {mode = 'RGB', apply_exif_orientation = false})
  return picture_of(image:permute(1, 2, 0), size)
end

---Returns a description of a file.
---@param request table {path, format?, rows, picture_size?}: the number of rows and the largest size of pictures, in
---  pixels; without picture_size the document has no pictures
---@param null_in_lists userdata stands for a null within a list, and for a value of its own that is null
---@return table document {format}; of a table also num_rows, columns, rows; of a file of tensors tensors, values,
---  metadata; of an image shape, dtype; pictures: {label, width, height, pixels}
---Errors: 'usage' for an unknown format; the errors of the reader.
function peek.look(request, null_in_lists)
  null = null_in_lists
  local path = request.path
  local format = request.format or format_of(path)
  request.extensions = {path:match '%.(%w+)$'}
  local document = READERS[format](path, format, request)
  document.path = path
  return document
end

return peek
