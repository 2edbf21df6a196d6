-- rtrain/data/sources/source.lua: where rows come from, cut into fragments that threads read independently of each other.
--
-- A source travels to the threads, so that it holds plain data: paths, options, tensors. A fragment is a plain table; what
-- it holds is the source's business, except for
--   rows   how many rows it has, nil while that is not known
--   skip   rows to leave out at its beginning, count  rows to use behind them: fragments.cut sets them, Chain obeys
--   keep   intervals of those rows to leave the others out, set by fragments.cut too

local class = require 'base.class'
local errors = require 'base.errors'

---What `fragments` may depend on: a new order for each epoch.
---@class data.ExecutionContext
---@field seed integer
---@field epoch integer

---Base of the sources.
---@class data.Source
local Source = class('Source')

---The operator's name in stats and errors.
Source.name = 'Source'

---Whether the rows lie in memory: they are then cut in the consuming thread.
Source.in_memory = false

---Whether `take(indices)` gives rows at any places.
Source.random_access = false

---Whether seed or epoch change the order of the rows.
Source.is_random = false

---Whether reading calls a function of the user.
Source.calls_user = false

---All fragments, in order.
---@param context data.ExecutionContext
---@return table[]
function Source:fragments(context)
  errors.raise('internal', ('%s has no fragments(%s)'):format(self.name, tostring(context)))
end

---The rows of a fragment. May run in a thread of the pool.
---@param fragment table
---@param options {max_bytes: integer, max_rows: integer?, seed: integer?} of a block; seed of the execution and epoch
---@return fun(): data.Block|nil
function Source:read(fragment, options)
  errors.raise('internal', ('%s has no read(%s, %s)'):format(self.name, tostring(fragment), tostring(options)))
end

---The number of rows, where it is known without reading the data.
---@return integer|nil
function Source:num_rows() return nil end

---The columns, where they are known without reading the data.
---@return {name: string, type: string}[]|nil
function Source:schema() return nil end

---The number of rows of a fragment whose `rows` is nil: may read it.
---@param fragment table
---@return integer
function Source:count_rows(fragment)
  local rows = 0
  for block in self:read(fragment, {max_bytes = 2 ^ 24}) do rows = rows + block:num_rows() end
  return rows
end

---Rows skip … skip + count - 1 of a fragment, as a fragment.
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

---Where a fragment lies, for messages: 'train.parquet, row group 3'; '' where there is nothing to say.
---@param fragment table
---@return string
function Source:describe(fragment) return fragment.path or '' end

---@return string[] the files that are read
function Source:input_files() return {} end

---A source that gives only these columns, where that saves work; else nil.
---@param names string[]
---@return data.Source|nil
function Source:select(names) return names and nil end

return Source
