-- rtrain/data/sources/text_sources.lua: sources of CSV, JSON and text files. Their numbers of rows are known only after
-- reading.

local Block = require 'rtrain.data.blocks.block'
local errors = require 'base.errors'
local FileSource = require 'rtrain.data.sources.file_source'
local files = require 'rtrain.data.files'
local json_lines = require 'rtrain.data.files.json_lines'
local pieces = require 'rtrain.data.blocks.pieces'
local Strings = require 'torch.utils.data.strings'

-- Base of the sources that read by a cursor of base._arrow.
local CursorSource = FileSource:extend('CursorSource')

local function raise_empty(path, others)
  errors.raise('argument', ("cannot read '%s': it is empty%s"):format(path,
    others > 0 and ', and so are the other files' or ''))
end

function CursorSource:_file_schema()
  self._schema = self._schema or self:schema_of_files(function(path) return self:open(path, {}):schema() end)
  if #self._schema == 0 then raise_empty(self._paths[1], #self._paths - 1) end
  return self._schema
end

function CursorSource:schema()
  local out = {}
  for i, entry in ipairs(self:_file_schema()) do out[i] = entry end
  return self:schema_with_wanted(self:schema_with_path(out))
end

function CursorSource:read(fragment, options)
  local cursor = self:open(fragment.path, {block_bytes = math.max(2 ^ 12, math.min(options.max_bytes, 2 ^ 20))})
  if #self._paths == 1 and #cursor:schema() == 0 then raise_empty(fragment.path, 0) end
  return pieces(function()
    local batch = cursor:next()
    return batch and self:block_of(batch, fragment.path)
  end, options.max_rows)
end

local function merged(first, second)
  local out = {}
  for key, value in next, first do out[key] = value end
  for key, value in next, second do out[key] = value end
  return out
end

---Rows of CSV files. Arguments: paths, {include_paths, shuffle, partitioning, csv}: `csv`, options of
---base._arrow.open_csv.
---@class data.CsvSource: data.Source
---@overload fun(paths: string[], options: table): data.CsvSource
local CsvSource = CursorSource:extend('CsvSource')
CsvSource.name = 'ReadCSV'

function CsvSource:init(paths, options)
  FileSource.init(self, 'read_csv', paths, options)
  self._options = options.csv
  if self._options.columns == nil or #self._partitions == 0 then return end
  local own = self:own_names(self._options.columns)
  self._wanted = self._options.columns
  self._options = merged(self._options, {columns = own})
  if #own == 0 then self._options.columns = nil end
end

---Opens a file.
---@param path string
---@param options table
---@return userdata cursor
function CsvSource:open(path, options) return require('base._arrow').open_csv(path, merged(self._options, options)) end

function CsvSource:select(names)
  if self._include_paths or #self._partitions > 0 then return nil end
  return self:changed{_options = merged(self._options, {columns = names}), _schema = false}
end

---Rows of JSON files. Arguments: paths, {include_paths, shuffle, partitioning, column_types}.
---@class data.JsonSource: data.Source
---@overload fun(paths: string[], options: table): data.JsonSource
local JsonSource = CursorSource:extend('JsonSource')
JsonSource.name = 'ReadJSON'
JsonSource.columns_are_optional = true

function JsonSource:init(paths, options)
  FileSource.init(self, 'read_json', paths, options)
  self._options = {column_types = options.column_types}
end

---Opens a file.
---@param path string
---@param options table
---@return userdata cursor
function JsonSource:open(path, options) return json_lines.open(path, merged(self._options, options)) end

---Lines of text files in the column `text`. Arguments: paths, {include_paths, shuffle, drop_empty_lines}.
---@class data.TextSource: data.Source
---@overload fun(paths: string[], options: table): data.TextSource
local TextSource = FileSource:extend('TextSource')
TextSource.name = 'ReadText'

function TextSource:init(paths, options)
  FileSource.init(self, 'read_text', paths, options)
  self._drop_empty_lines = options.drop_empty_lines
end

function TextSource:schema() return self:schema_with_path{{name = 'text', type = 'string'}} end

-- Returns the next lines of the file, about `bytes` of them; nil at its end.
local function next_lines(file, bytes)
  local chunk = file:read(bytes)
  if chunk == nil then return nil end
  if chunk:sub(-1) == '\n' then return chunk end
  return chunk .. (file:read '*l' or '') .. '\n'
end

function TextSource:read(fragment, options)
  local file = files.open_text(fragment.path)
  return function()
    local lines = {}
    while #lines == 0 do
      local chunk = next_lines(file, options.max_rows and 2 ^ 12 or math.min(options.max_bytes, 2 ^ 20))
      if chunk == nil then
        file:close()
        return nil
      end
      for line in chunk:gmatch '(.-)\r?\n' do
        if not self._drop_empty_lines or line:find '%S' then lines[#lines + 1] = line end
      end
    end
    return self:with_path(Block({'text'}, {Strings.from_list(lines, #lines)}), fragment.path)
  end
end

return {CsvSource = CsvSource, JsonSource = JsonSource, TextSource = TextSource}
