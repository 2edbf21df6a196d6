-- rtrain/data/columns/members.lua: files of a WebDataset sample as columns, decoded by the end of their names.

local errors = require 'base.errors'
local images = require 'rtrain.data.columns.images'
local number = require 'base.number'
local Objects = require 'rtrain.data.columns.objects'
local Strings = require 'torch.utils.data.strings'
local torch = require 'torch'
local values = require 'rtrain.data.columns.values'

local members = {}

local KINDS = {txt = 'text', text = 'text', cls = 'class', cls2 = 'class', json = 'json', npy = 'array', jpg = 'image',
               jpeg = 'image', png = 'image'}

local function kind_of(suffix, decode) return decode and KINDS[suffix:match '[^.]*$'] or 'bytes' end

local TYPES = {text = 'string', class = 'int64', json = 'object', bytes = 'binary'}

---Returns the type of the column of a suffix; nil if only the values tell it: images and arrays.
---@param suffix string such as 'seg.png'
---@param decode boolean
---@return string?
function members.type_of(suffix, decode) return TYPES[kind_of(suffix, decode)] end

---Returns about how many bytes of memory a byte of a decoded file takes.
---@param suffix string
---@return integer
function members.growth_of(suffix) return kind_of(suffix, true) == 'image' and 10 or 1 end

local function class_of(text)
  local value = text:match '^%s*[+-]?%d+%s*$' and number.read(text)
  return value or errors.raise('argument', ("'%s' is not an integer"):format(text:sub(1, 40)))
end

local function array_of(bytes) return require('torch._C').data.parse_npy(bytes) end

-- Replaces json.null as Arrow's structs and lists have it: a field is absent, an item of a list torch.none.
local function without_null(value, null)
  if type(value) ~= 'table' then return value end
  local out = {}
  for key, item in next, value do
    if item ~= null then
      out[key] = without_null(item, null)
    elseif type(key) == 'number' then
      out[key] = torch.none
    end
  end
  return out
end

local function object_of(text)
  local json = require 'json'
  local value = json.decode(text)
  if value ~= json.null then return without_null(value, json.null) end
  return nil
end

-- Converts each text; `blame(i, err)` raises the error of the i-th one.
local function converted(texts, n, convert, blame)
  local out = {}
  for i = 1, n do
    local ok, value = true, nil
    if texts[i] then ok, value = xpcall(convert, errors.wrap, texts[i]) end
    if not ok then blame(i, value) end
    out[i] = value
  end
  return out
end

local function decoded_images(texts, n, blame)
  local ok, of = xpcall(images.decode, errors.wrap, Strings.from_list(texts, n, true), {})
  if ok then return of end
  -- Images are counted without the null rows.
  local left = tonumber(of.message:match '^image (%d+)') or 0
  for i = 1, n do
    if texts[i] then
      if left == 0 then
        of.message = of.message:gsub('^image %d+: ', '')
        blame(i, of)
      end
      left = left - 1
    end
  end
  error(of, 0)
end

---Returns the files of one suffix as a column: `.txt` and `.text` strings, `.cls` and `.cls2` integers, `.json` Lua
---values, `.npy` tensors, `.jpg`, `.jpeg` and `.png` images; others, and all without `decode`, bytes.
---@param suffix string
---@param texts table<integer, string> their bytes; nil is null
---@param n integer rows
---@param decode boolean
---@param blame fun(i: integer, err: table) raises the error of the i-th file, from 1
---@return data.Column
---
---```lua
---local members = require 'rtrain.data.columns.members'
---local labels = members.to_column('cls', {'7', '2\n'}, 2, true, function(_, err) error(err, 0) end)
---assert(labels.dtype == 'int64' and labels[1]:item() == 2)
---```
function members.to_column(suffix, texts, n, decode, blame)
  local kind = kind_of(suffix, decode)
  if kind == 'bytes' or kind == 'text' then return Strings.from_list(texts, n, kind == 'bytes') end
  if kind == 'image' then return decoded_images(texts, n, blame) end
  if kind == 'class' then
    return values.to_column(converted(texts, n, class_of, blame), n, {name = suffix, dtype = 'int64'})
  end
  if kind == 'json' then return Objects(converted(texts, n, object_of, blame), n) end
  return values.to_column(converted(texts, n, array_of, blame), n, {name = suffix})
end

return members
