-- rtrain/data/sources/webdataset_source.lua: WebDatasetSource: the samples of tar archives: neighbouring files whose
-- names are the same up to the first dot.

local Block = require 'rtrain.data.blocks.block'
local column = require 'rtrain.data.columns.column'
local errors = require 'base.errors'
local FileSource = require 'rtrain.data.sources.file_source'
local fnmatch = require 'base.fnmatch'
local index_of = require 'base.index_of'
local members = require 'rtrain.data.columns.members'
local Strings = require 'torch.utils.data.strings'
local Tar = require 'rtrain.data.files.tar'

-- The columns are those of the first samples of the first file.
local SAMPLES = 1000

---Samples of tar archives: the column `__key__`, a column for each ending of the names, `__url__`. Arguments: paths,
---{include_paths, shuffle, decode, fileselect, filerename, suffixes}.
---@class data.WebDatasetSource: data.Source
---@overload fun(paths: string[], options: table): data.WebDatasetSource
local WebDatasetSource = FileSource:extend('WebDatasetSource')
WebDatasetSource.name = 'ReadWebDataset'

-- Returns key and suffix: "a/b.c/0001.seg.png" has the key "a/b.c/0001" and the suffix "seg.png"; nil without a dot.
local function split(name)
  local folder, base = name:match '^(.*/)(.*)$'
  local stem, suffix = (base or name):match '^([^.]+)%.(.*)$'
  if stem then return (folder or '') .. stem, suffix end
  return name:match '^([^.]+)%.([^/]*)$'
end

local function has_wildcard(pattern) return pattern:find '[*?]' ~= nil end

-- Whether a name or suffix is chosen: by a function, or by a list of names and patterns.
local function is_chosen(text, chosen)
  if chosen == nil then return true end
  if type(chosen) == 'function' then return chosen(text) and true or false end
  for _, pattern in ipairs(chosen) do
    if has_wildcard(pattern) and fnmatch('.' .. text, pattern) then return true end
    if text == pattern or '.' .. text == pattern then return true end
  end
  return false
end

local function renamed(name, filerename)
  for _, rename in ipairs(type(filerename) == 'function' and {filerename} or filerename or {}) do name = rename(name) end
  if type(name) == 'string' then return name end
  errors.raise('argument', ('read_webdataset: filerename returned a %s: expected a string'):format(type(name)))
end

local function raise_at(path, member, what)
  errors.raise('argument', ("cannot read '%s', the file '%s' at byte %d: %s"):format(path, member.name, member.offset, what))
end

-- Iterates over samples: {key, values}: `values` is suffix → bytes, or true before the sample `first`, whose bytes are
-- not read.
local function samples_of(self, path, first)
  local tar, number, current, waiting = Tar(path), -1, nil, nil
  local function add(member, suffix)
    if current.values[suffix] then
      raise_at(path, member, ("the sample '%s' has two files '%s'"):format(current.key, suffix))
    end
    if not is_chosen(suffix, self._suffixes) then return end
    current.values[suffix] = number < first or tar:read()
    current.suffixes[#current.suffixes + 1], current.member = suffix, member
  end
  local function begin(key)
    local before = current
    number = number + 1
    current = {key = key, values = {}, suffixes = {}}
    return before
  end
  return function()
    if tar == nil then return nil end
    if waiting then
      local member, suffix = waiting.member, waiting.suffix
      waiting = nil
      add(member, suffix)
    end
    for member in function() return tar:next() end do
      local name = renamed(member.name, self._filerename)
      local key, suffix = split(name)
      if key and is_chosen(name, self._fileselect) then
        if current == nil then begin(key) end
        if current.key ~= key then
          waiting = {member = member, suffix = suffix}
          return begin(key)
        end
        add(member, suffix)
      end
    end
    tar = tar:close()
    return current
  end
end

-- Returns the suffixes of the first samples, in the order of their appearance.
local function first_suffixes(self)
  local out = {}
  local next_sample = samples_of(self, self._paths[1], math.huge)
  for _ = 1, SAMPLES do
    local sample = next_sample()
    if sample == nil then break end
    for _, suffix in ipairs(sample.suffixes) do
      if not index_of(out, suffix) then out[#out + 1] = suffix end
    end
  end
  return out
end

-- Returns the suffixes if the user has named each.
local function named_suffixes(suffixes)
  if type(suffixes) ~= 'table' then return nil end
  local out = {}
  for i, suffix in ipairs(suffixes) do
    if has_wildcard(suffix) then return nil end
    out[i] = suffix:gsub('^%.', '')
  end
  return out
end

function WebDatasetSource:init(paths, options)
  FileSource.init(self, 'read_webdataset', paths, options)
  self._decode, self._fileselect, self._filerename = options.decode, options.fileselect, options.filerename
  self._suffixes = options.suffixes
  self.calls_user = type(options.fileselect) == 'function' or options.filerename ~= nil or type(options.suffixes) == 'function'
  self._columns = named_suffixes(options.suffixes) or first_suffixes(self)
end

function WebDatasetSource:schema()
  local out = {{name = '__key__', type = 'string'}}
  for _, suffix in ipairs(self._columns) do
    local type = members.type_of(suffix, self._decode)
    if type == nil then return nil end  -- the first sample tells it
    out[#out + 1] = {name = suffix, type = type}
  end
  out[#out + 1] = {name = '__url__', type = 'string'}
  return self:schema_with_path(out)
end

function WebDatasetSource:count_rows(fragment)
  local next_sample, count = samples_of(self, fragment.path, math.huge), 0
  while next_sample() do count = count + 1 end
  return count
end

-- A part of a file is read from its first sample on: the files of those before are passed over.
function WebDatasetSource:cut(fragment, skip, count)
  local start = (fragment.start or 0) + skip
  return self and {path = fragment.path, start = start, skip = 0, count = count, rows = count}
end

local function check_suffixes(self, path, sample)
  for _, suffix in ipairs(sample.suffixes) do
    if not index_of(self._columns, suffix) then
      raise_at(path, sample.member, ("the first %d samples have no file '%s': name all columns with suffixes = {'%s', …}")
        :format(SAMPLES, suffix, suffix))
    end
  end
end

-- Returns the next samples, about `max_bytes` in total; nil at the end.
local function next_samples(self, path, next_sample, options)
  local list, bytes = {}, 0
  while #list < (options.max_rows or math.huge) and bytes < options.max_bytes do
    local sample = next_sample()
    if sample == nil then break end
    check_suffixes(self, path, sample)
    for suffix, value in next, sample.values do
      bytes = bytes + #value * (self._decode and members.growth_of(suffix) or 1)
    end
    bytes = bytes + #sample.key
    list[#list + 1] = sample
  end
  return #list > 0 and list or nil
end

local function text_column(count, text_of)
  local list = {}
  for i = 1, count do list[i] = text_of(i) end
  return Strings.from_list(list, count)
end

-- Returns the values of a suffix as a column. An error names the sample.
local function member_column(self, suffix, list, path)
  local texts = {}
  for i, sample in ipairs(list) do texts[i] = sample.values[suffix] end
  if next(texts) == nil then
    return column.nulls(members.type_of(suffix, self._decode) or 'object', #list)
  end
  return members.to_column(suffix, texts, #list, self._decode, function(i, err)
    err.message = ("cannot read '%s', the file '%s.%s': %s"):format(path, list[i].key, suffix, err.message)
    error(err, 0)
  end)
end

local function block_of(self, list, path)
  local names, columns = {'__key__'}, {text_column(#list, function(i) return list[i].key end)}
  for _, suffix in ipairs(self._columns) do
    names[#names + 1], columns[#columns + 1] = suffix, member_column(self, suffix, list, path)
  end
  names[#names + 1], columns[#columns + 1] = '__url__', text_column(#list, function() return path end)
  return self:with_path(Block(names, columns), path)
end

function WebDatasetSource:read(fragment, options)
  local start, path = fragment.start or 0, fragment.path
  local next_sample = samples_of(self, path, start)
  for _ = 1, start do next_sample() end
  return function()
    local list = next_samples(self, path, next_sample, options)
    return list and block_of(self, list, path)
  end
end

return WebDatasetSource
