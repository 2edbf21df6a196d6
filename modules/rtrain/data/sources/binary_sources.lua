-- rtrain/data/sources/binary_sources.lua: sources with a row for each file: images, or the bytes of files.

local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local FileSource = require 'rtrain.data.sources.file_source'
local files = require 'rtrain.data.files'
local images = require 'rtrain.data.columns.images'
local Strings = require 'torch.utils.data.strings'

local FILES = 32

-- Base of sources whose fragments are a few files each.
local ManyFiles = FileSource:extend('ManyFiles')
ManyFiles.reads_any_rows = true

function ManyFiles:num_rows() return #self._paths end

function ManyFiles:fragments(context)
  local out, paths = {}, self:ordered_paths(context)
  for first = 1, #paths, FILES do
    local list = {}
    for i = first, math.min(first + FILES - 1, #paths) do list[#list + 1] = paths[i] end
    out[#out + 1] = {paths = list, start = first - 1, rows = #list}
  end
  return out
end

function ManyFiles:cut(fragment, skip, count)
  local list = {}
  for i = 1, count do list[i] = fragment.paths[skip + i] end
  return {paths = list, start = fragment.start + skip, rows = count}
end

function ManyFiles:gather(fragment, places)
  local list = {}
  for i, place in ipairs(places:tolist()) do list[i] = fragment.paths[place + 1] end
  return self and {paths = list, start = fragment.start, rows = #list, numbers = places}
end

function ManyFiles:describe() return '' end

-- Returns the next files, about `max_bytes` in total: their bytes and paths; nil at the end.
local function next_files(paths, state, options, factor)
  if state.at > #paths then return nil end
  local contents, list, bytes = {}, {}, 0
  while state.at <= #paths and #list < (options.max_rows or math.huge) do
    local content = files.read(paths[state.at])
    if #list > 0 and (bytes + #content) * factor > options.max_bytes then break end
    list[#list + 1], contents[#contents + 1] = paths[state.at], content
    bytes, state.at = bytes + #content, state.at + 1
  end
  return contents, list
end

function ManyFiles:read(fragment, options)
  local state = {at = 1}
  return function()
    local contents, list = next_files(fragment.paths, state, options, self._growth)
    if contents == nil then return nil end
    local block = self:block_of(Strings.from_list(contents, #contents, true), list)
    if self._include_paths then block = block:with('path', Strings.from_list(list, #list)) end
    return block
  end
end

---The bytes of each file in the column `bytes`. Arguments: paths, {include_paths, shuffle}.
---@class data.BinarySource: data.Source
---@overload fun(paths: string[], options: table): data.BinarySource
local BinarySource = ManyFiles:extend('BinarySource')
BinarySource.name = 'ReadBinary'
BinarySource._growth = 1

function BinarySource:init(paths, options) FileSource.init(self, 'read_binary_files', paths, options) end

function BinarySource:schema() return self:schema_with_path{{name = 'bytes', type = 'binary'}} end

---Returns a block of the files' contents.
---@param contents data.Strings
---@return data.Block
function BinarySource:block_of(contents) return self and Block({'bytes'}, {contents}) end

---The images in the column `image`: uint8 (h, w, c). Arguments: paths, {include_paths, shuffle, mode, size}.
---@class data.ImageSource: data.Source
---@overload fun(paths: string[], options: table): data.ImageSource
local ImageSource = ManyFiles:extend('ImageSource')
ImageSource.name = 'ReadImage'
-- Decoded pixels take about ten times the bytes of a JPEG.
ImageSource._growth = 10

function ImageSource:init(paths, options)
  FileSource.init(self, 'read_images', paths, options)
  self._options = {mode = options.mode, size = options.size}
end

---Returns a block of the decoded files. An error names the file.
---@param contents data.Strings
---@param list string[] their paths
---@return data.Block
function ImageSource:block_of(contents, list)
  local ok, of = xpcall(images.decode, errors.wrap, contents, self._options)
  if ok then return Block({'image'}, {of}) end
  of.message = of.message:gsub('^image (%d+): ', function(i) return ("cannot read '%s': "):format(list[i + 1]) end)
  error(of, 0)
end

return {BinarySource = BinarySource, ImageSource = ImageSource}
