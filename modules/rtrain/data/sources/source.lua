-- rtrain/data/sources/source.lua: Source: the origin of rows, cut into fragments that threads read independently.
--
-- A source is sent to the threads, so it holds plain data: paths, options, tensors. A fragment is a plain table, whose
-- contents depend on the source, except for
--   rows   how many rows it has, nil if not known
--   skip   rows to skip at its beginning, count  rows to use after them: set by fragments.cut, applied by Chain
--   keep   intervals of those rows that are kept, also set by fragments.cut
--   places  which rows of those that `read` returns are kept, and numbers  which of the fragment's they are: int64 tensors, set
--          by `gather`
--   in_order  whether it is read from its beginning, as one with a path

local class = require 'base.class'
local errors = require 'base.errors'
local fragments = require 'rtrain.data.rows.fragments'

---The inputs of `fragments`: a new order for each epoch.
---@class data.ExecutionContext
---@field seed integer
---@field epoch integer
---@field views? boolean rows in memory are not cut: no thread computes with them

---Base of the sources.
---@class data.Source
local Source = class('Source')

---The operator's name in stats and errors.
Source.name = 'Source'

---Whether the rows are in memory: they are then cut in the consuming thread.
Source.in_memory = false

---Whether `take(indices)` returns rows at any places.
Source.random_access = false

---Whether the blocks of rows in memory are views of it, or cost as little.
Source.gives_views = false

---Whether any rows of a fragment are read without those between them. So it is with rows in memory and random access.
Source.reads_any_rows = false

---Whether seed or epoch change the order of the rows.
Source.is_random = false

---Whether reading calls a user function.
Source.calls_user = false

---Returns all fragments, in order.
---@param context data.ExecutionContext
---@return table[]
function Source:fragments(context)
  errors.raise('internal', ('%s has no fragments(%s)'):format(self.name, tostring(context)))
end

---Returns the rows of a fragment. May run in a thread of the pool.
---@param fragment table
---@param options {max_bytes: integer, max_rows: integer?, seed: integer?} limits of a block; seed of the execution
---  and epoch
---@return fun(): data.Block|nil
function Source:read(fragment, options)
  errors.raise('internal', ('%s has no read(%s, %s)'):format(self.name, tostring(fragment), tostring(options)))
end

---Returns the number of rows if it is known without reading the data.
---@return integer|nil
function Source:num_rows() return nil end

---Returns the columns if they are known without reading the data.
---@return {name: string, type: string}[]|nil
function Source:schema() return nil end

---Returns the number of rows of a fragment whose `rows` is nil; may read it.
---@param fragment table
---@return integer
function Source:count_rows(fragment)
  local rows = 0
  for block in self:read(fragment, {max_bytes = 2 ^ 24}) do rows = rows + block:num_rows() end
  return rows
end

---Returns the rows skip … skip + count - 1 of a fragment, as a fragment.
---@param fragment table with rows
---@param skip integer
---@param count integer
---@return table
function Source:cut(fragment, skip, count)
  local out = {}
  for key, value in next, fragment do out[key] = value end
  out.skip, out.count, out.rows = (fragment.skip or 0) + skip, count, count
  return out
end

---Returns several parts of a fragment that is read in its order.
---@param fragment table
---@param parts data.Interval[] at least two, in rows of the fragment
---@return table
function Source:cut_parts(fragment, parts) return fragments.parts_of_file(self, fragment, parts) end

---Returns some rows of a fragment that is not read in its order as one fragment, if that costs less than a fragment for each
---run of neighbouring rows; else nil. That of a source with random access has `indices`.
---@param fragment table with rows
---@param places torch.Tensor int64, in rows of the fragment, ascending
---@param run number mean number of neighbouring rows
---@return table|nil
function Source:gather(fragment, places, run)
  if not (self.random_access and run) then return nil end
  return {indices = places + fragment.start, start = fragment.start, rows = places:size(0), numbers = places}
end

---Returns whether a part of the rows costs as much as any other part with as many rows, wherever its rows are.
---@return boolean
function Source:gives_any_rows() return self.in_memory or self.random_access or self.reads_any_rows end

---Returns the place of a fragment, for messages: 'train.parquet, row group 3'; '' if unknown.
---@param fragment table
---@return string
function Source:describe(fragment) return fragment.path or '' end

---@return string[] the files of the source
function Source:input_files() return {} end

---Returns a source of only these columns if that saves work; else nil.
---@param names string[]
---@return data.Source|nil
function Source:select(names) return names and nil end

return Source
