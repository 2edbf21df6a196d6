-- torch/tensor/dtypes.lua: dtypes and other names that are their own values; torch.finfo, torch.iinfo, torch.typename.
--
-- A dtype, a layout and a memory format are strings.

local errors = require 'base.errors'

local dtypes = {}

local FLOATS = {
  -- exponent of eps, largest value, exponent of the smallest normal number, decimal digits, bits
  float64 = {-52, 1.7976931348623157e308, -1022, 15, 64},
  float32 = {-23, 3.4028234663852886e38, -126, 6, 32},
  float16 = {-10, 65504, -14, 3, 16},
  bfloat16 = {-7, 3.3895313892515355e38, -126, 2, 16},
  float8_e4m3fn = {-3, 448, -6, 0, 8},
  float8_e5m2 = {-2, 57344, -14, 0, 8},
  float8_e4m3fnuz = {-3, 240, -7, 0, 8},
  float8_e5m2fnuz = {-3, 57344, -15, 0, 8},
  float8_e8m0fnu = {0, 2 ^ 127, -127, 0, 8},
}
local REAL_PARTS = {complex32 = 'float16', complex64 = 'float32', complex128 = 'float64'}
local INTEGER_BITS = {uint8 = 8, uint16 = 16, uint32 = 32, uint64 = 64, int8 = 8, int16 = 16, int32 = 32, int64 = 64}

---Other names of dtypes: torch.float is torch.float32.
dtypes.ALIASES = {float = 'float32', double = 'float64', half = 'float16', long = 'int64', int = 'int32', short = 'int16',
                  cfloat = 'complex64', cdouble = 'complex128', chalf = 'complex32'}

---The main names of dtypes.
dtypes.NAMES = {'float32', 'float64', 'float16', 'bfloat16', 'int64', 'int32', 'int16', 'int8', 'uint8', 'bool',
                'complex64', 'complex128', 'complex32', 'uint16', 'uint32', 'uint64', 'float8_e4m3fn', 'float8_e5m2',
                'float8_e4m3fnuz', 'float8_e5m2fnuz', 'float8_e8m0fnu'}

---Names that are their own value: layouts and memory formats.
dtypes.CONSTANTS = {'strided', 'sparse_coo', 'sparse_csr', 'sparse_csc', 'sparse_bsr', 'sparse_bsc', 'contiguous_format',
                    'channels_last', 'channels_last_3d', 'preserve_format'}

---Returns a dtype's main name: 'int64' for 'torch.int64' and 'long'. Other values are returned unchanged.
---@param dtype any
---@return any
function dtypes.own_name(dtype)
  if type(dtype) ~= 'string' then return dtype end
  local name = dtype:gsub('^torch%.', '')
  return dtypes.ALIASES[name] or name
end

local function plain_name(owner, dtype)
  if type(dtype) ~= 'string' then
    errors.raise('argument', ('%s: expected a dtype, got %s'):format(owner, type(dtype)))
  end
  local name = dtypes.own_name(dtype)
  for _, known in ipairs(dtypes.NAMES) do
    if name == known then return name end
  end
  errors.raise('argument', ("%s: unknown dtype '%s'%s"):format(owner, dtype, errors.suggestion(name, dtypes.NAMES)))
end

local function text_of(kind, fields)
  return function(self)
    local parts = {}
    for i, field in ipairs(fields) do
      local value = self[field]
      parts[i] = ('%s=%s'):format(field, type(value) == 'string' and value or ('%g'):format(tonumber(value)))
    end
    return ('%s(%s)'):format(kind, table.concat(parts, ', '))
  end
end

local FINFO = {__tostring = text_of('finfo', {'resolution', 'min', 'max', 'eps', 'smallest_normal', 'tiny', 'dtype'})}
local IINFO = {__tostring = text_of('iinfo', {'min', 'max', 'dtype'})}

---Returns the numeric limits of a floating-point dtype. PyTorch equivalent: torch.finfo.
---@param dtype? string default: the default dtype; a complex dtype means the dtype of its parts
---@return table info bits, eps, max, min, tiny, smallest_normal, resolution, dtype
---
---```lua
---local torch = require 'torch'
---assert(torch.finfo(torch.float16).max == 65504 and torch.finfo().eps == 2 ^ -23)
---```
function dtypes.finfo(dtype)
  local name = plain_name('finfo', dtype or require('torch._C').get_default_dtype())
  name = REAL_PARTS[name] or name
  local entry = FLOATS[name]
  if not entry then errors.raise('argument', ('finfo: %s is not a floating dtype: use torch.iinfo'):format(name)) end
  local eps, max, tiny, digits, bits = unpack(entry)
  local min = name == 'float8_e8m0fnu' and 2 ^ tiny or -max
  return setmetatable({bits = bits, eps = 2 ^ eps, max = max, min = min, tiny = 2 ^ tiny, smallest_normal = 2 ^ tiny,
                       resolution = tonumber('1e-' .. digits), dtype = name}, FINFO)
end

---Returns the numeric limits of an integer dtype. PyTorch equivalent: torch.iinfo.
---@param dtype string
---@return table info bits, max, min, dtype; beyond 2^53 max and min are int64 (uint64) cdata
---
---```lua
---local torch = require 'torch'
---assert(torch.iinfo(torch.int8).min == -128 and torch.iinfo('int64').max == 9223372036854775807LL)
---```
function dtypes.iinfo(dtype)
  local name = plain_name('iinfo', dtype)
  local bits = INTEGER_BITS[name]
  if not bits then errors.raise('argument', ('iinfo: %s is not an integer dtype: use torch.finfo'):format(name)) end
  local min, max = 0, 2 ^ bits - 1
  if name == 'int64' then
    min, max = -0x7fffffffffffffffLL - 1, 0x7fffffffffffffffLL
  elseif name == 'uint64' then
    max = 0xffffffffffffffffULL
  elseif name:sub(1, 1) == 'i' then
    min, max = -2 ^ (bits - 1), 2 ^ (bits - 1) - 1
  end
  return setmetatable({bits = bits, min = min, max = max, dtype = name}, IINFO)
end

local TYPES = {float32 = 'Float', float64 = 'Double', float16 = 'Half', bfloat16 = 'BFloat16', int64 = 'Long',
               int32 = 'Int', int16 = 'Short', int8 = 'Char', uint8 = 'Byte', bool = 'Bool', complex32 = 'ComplexHalf',
               complex64 = 'ComplexFloat', complex128 = 'ComplexDouble', uint16 = 'UInt16', uint32 = 'UInt32',
               uint64 = 'UInt64'}

local function type_of(tensor)
  local name = TYPES[tensor.dtype] or tensor.dtype:gsub('^%l', string.upper)
  return ('torch.%s%sTensor'):format(tensor.is_cuda and 'cuda.' or '', name)
end

-- Splits 'torch.cuda.IntTensor' into 'int32', 'cuda'.
local function dtype_of_type(name)
  local kind = name:match '^torch%.(.+)Tensor$'
  if not kind then return plain_name('type', name) end
  local plain, count = kind:gsub('^cuda%.', '')
  for _, dtype in ipairs(dtypes.NAMES) do
    if (TYPES[dtype] or dtype:gsub('^%l', string.upper)) == plain then return dtype, count > 0 and 'cuda' or 'cpu' end
  end
  errors.raise('argument', ("type: unknown type '%s'"):format(name))
end

---Returns the name of the tensor's type, or the tensor converted to a dtype or such a name. PyTorch equivalent:
---Tensor.type.
---@param tensor torch.Tensor
---@param dtype? string 'torch.IntTensor' or torch.int32
---@return string|torch.Tensor
---
---```lua
---local torch = require 'torch'
---assert(torch.ones(1):type() == 'torch.FloatTensor' and torch.ones(1):type('torch.LongTensor').dtype == torch.int64)
---```
function dtypes.type(tensor, dtype)
  if dtype == nil then return type_of(tensor) end
  if type(dtype) ~= 'string' then errors.raise('argument', 'type: expected a dtype or the name of a tensor type') end
  local name, device = dtype_of_type(dtype)
  return tensor:to{dtype = name, device = device}
end

---Returns a name for the type of a value: 'torch.FloatTensor', 'torch.nn.Linear', 'number'. PyTorch equivalent:
---torch.typename.
---@param value any
---@return string
function dtypes.typename(value)
  if type(value) == 'userdata' and require('torch._C').is_tensor(value) then return type_of(value) end
  local class = type(value) == 'table' and require('base.class').of(value)
  return class and class.__name or type(value)
end

return dtypes
