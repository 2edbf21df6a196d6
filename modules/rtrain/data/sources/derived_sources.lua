-- rtrain/data/sources/derived_sources.lua: sources derived from other sources: a part of the rows, another order,
-- several sources concatenated.

local Chain = require 'rtrain.data.executor.chain'
local exchange = require 'rtrain.data.exchange'
local fragments = require 'rtrain.data.rows.fragments'
local intervals = require 'rtrain.data.rows.intervals'
local seeds = require 'base.seed'
local Source = require 'rtrain.data.sources.source'
local torch = require 'torch'

-- Base of a source that forwards to one other source.
local Derived = Source:extend('Derived')

function Derived:describe(fragment) return self._source:describe(fragment) end

function Derived:input_files() return self._source:input_files() end

function Derived:schema() return self._source:schema() end

function Derived:num_rows() return self._source:num_rows() end

function Derived:read(fragment, options) return self._source:read(fragment, options) end

function Derived:count_rows(fragment) return self._source:count_rows(fragment) end

function Derived:cut(fragment, skip, count) return self._source:cut(fragment, skip, count) end

function Derived:cut_parts(fragment, parts) return self._source:cut_parts(fragment, parts) end

function Derived:gather(fragment, places, run) return self._source:gather(fragment, places, run) end

function Derived:gives_any_rows() return self._source:gives_any_rows() end

local function inherit(self, source)
  self._source, self.name = source, source.name
  self.in_memory, self.random_access, self.is_random = source.in_memory, source.random_access, source.is_random
  self.calls_user = source.calls_user
end

---Rows first … last - 1 of a source.
---@class data.SlicedSource: data.Source
---@overload fun(source: data.Source, first: integer, last: integer): data.SlicedSource
local SlicedSource = Derived:extend('SlicedSource')

function SlicedSource:init(source, first, last)
  inherit(self, source)
  self._first, self._last, self.gives_views = first, last, source.gives_views
end

function SlicedSource:num_rows() return self._last - self._first end

function SlicedSource:fragments(context)
  return fragments.cut(self._source, self._source:fragments(context), {{self._first, self._last}})
end

---Returns the rows at the given places of the part.
---@param indices torch.Tensor int64
---@param options? table as of read
---@return data.Block
function SlicedSource:take(indices, options) return self._source:take(indices + self._first, options) end

function SlicedSource:select(names)
  local selected = self._source:select(names)
  return selected and SlicedSource(selected, self._first, self._last)
end

---The rows of a random-access source in a random order. Arguments: source, {seed, index, is_fixed}: without a seed the
---seed of the execution is used; `index` distinguishes the shuffles of one plan; `is_fixed` gives each epoch the same
---order.
---@class data.PermutedSource: data.Source
---@overload fun(source: data.Source, options: table): data.PermutedSource
local PermutedSource = Derived:extend('PermutedSource')
PermutedSource.ROWS = 4096

function PermutedSource:init(source, options)
  inherit(self, source)
  self._seed, self._index, self._is_fixed = options.seed, options.index or 0, options.is_fixed
  self.random_access, self.is_random = options.is_fixed or false, not options.is_fixed
end

local function permutation_of(self, context)
  local seed = self._seed or seeds.of(context.seed, self._index)
  return exchange.permutation(self._source:num_rows(), seed, not self._is_fixed and context.epoch or 0)
end

local function rows_of_fragment(self, context)
  local first = self._source:fragments(context)[1]
  return math.max(1, math.min(PermutedSource.ROWS, first and first.rows or 1))
end

function PermutedSource:fragments(context)
  local order, step = permutation_of(self, context), rows_of_fragment(self, context)
  local out, total = {}, self:num_rows()
  for start = 0, total - 1, step do
    local rows = math.min(step, total - start)
    out[#out + 1] = {indices = order:row_at(torch.arange(start, start + rows)), start = start, rows = rows}
  end
  return out
end

function PermutedSource:cut(fragment, skip, count)
  return {indices = fragment.indices:narrow(0, skip, count), start = fragment.start + skip, rows = count}
end

function PermutedSource:gather(fragment, places)
  return self and {indices = fragment.indices:index_select(0, places), start = fragment.start, rows = places:size(0),
                   numbers = places}
end

function PermutedSource:read(fragment, options)
  local at, step = 0, math.min(options.max_rows or 256, self._source.in_memory and fragment.rows or 32)
  return function()
    if at >= fragment.rows then return nil end
    local first = at
    at = math.min(at + step, fragment.rows)
    return self._source:take(fragment.indices:narrow(0, first, at - first), options)
  end
end

---Returns the rows at the given places of the order, which must be fixed.
---@param indices torch.Tensor int64
---@param options? table as of read
---@return data.Block
function PermutedSource:take(indices, options)
  return self._source:take(permutation_of(self, {seed = 0, epoch = 0}):row_at(indices), options)
end

---A source whose fragments come in a random order, for randomize_block_order. Arguments: source, {seed, index}.
---@class data.ReorderedSource: data.Source
---@overload fun(source: data.Source, options: table): data.ReorderedSource
local ReorderedSource = Derived:extend('ReorderedSource')

function ReorderedSource:init(source, options)
  inherit(self, source)
  self._seed, self._index, self.random_access, self.is_random = options.seed, options.index or 0, false, true
end

function ReorderedSource:fragments(context)
  local list, out = self._source:fragments(context), {}
  local seed = self._seed or seeds.of(context.seed, self._index)
  local order = exchange.permutation(#list, seed, context.epoch):row_at(torch.arange(#list)):tolist()
  for i, place in ipairs(order) do out[i] = list[place + 1] end
  return out
end

---The rows of a plan of fused operators, so that it can be concatenated with other sources.
---@class data.PlanSource: data.Source
---@overload fun(plan: data.Plan): data.PlanSource
local PlanSource = Derived:extend('PlanSource')

function PlanSource:init(plan)
  inherit(self, plan.source)
  self._plan, self._keeps, self.name = plan, plan:preserves_rows(), 'Union'
  self.in_memory, self.random_access = false, false
  for _, operator in ipairs(plan.operators) do self.calls_user = self.calls_user or operator.calls_user end
end

function PlanSource:num_rows() return self._plan:num_rows() end

function PlanSource:schema() return self._plan:schema() end

function PlanSource:fragments(context)
  local out = {}
  for i, fragment in ipairs(self._source:fragments(context)) do
    out[i] = {inner = fragment, number = i - 1, rows = self._keeps and fragment.rows or nil,
              in_order = not self._keeps or fragment.path ~= nil or fragment.in_order,
              seed = seeds.of(context.seed, context.epoch)}
  end
  return out
end

function PlanSource:describe(fragment) return self._source:describe(fragment.inner) end

function PlanSource:cut(fragment, skip, count)
  if not self._keeps then return Source.cut(self, fragment, skip, count) end
  local inner = self._source:cut(fragment.inner, skip, count)
  return {inner = inner, number = fragment.number, rows = count, seed = fragment.seed, start = (fragment.start or 0) + skip}
end

-- Returns a part of a fragment; the inner Chain selects the rows.
local function with_inner(fragment, inner, numbers)
  return inner and {inner = inner, number = fragment.number, rows = inner.rows, seed = fragment.seed, start = 0,
                    numbers = numbers} or nil
end

function PlanSource:cut_parts(fragment, parts)
  if not self._keeps then return Source.cut_parts(self, fragment, parts) end
  return with_inner(fragment, self._source:cut_parts(fragment.inner, parts), intervals.places(parts))
end

function PlanSource:gather(fragment, places, run)
  return self._keeps and with_inner(fragment, self._source:gather(fragment.inner, places, run), places) or nil
end

function PlanSource:gives_any_rows() return self._keeps and self._source:gives_any_rows() end

function PlanSource:count_rows(fragment) return Source.count_rows(self, fragment) end

function PlanSource:read(fragment, options)
  local chain = Chain(self._source, self._plan.operators, {seed = fragment.seed, max_bytes = options.max_bytes,
    max_rows = options.max_rows})
  return (chain:run{fragment = fragment.inner, number = fragment.number, name = ''})
end

---The rows of several sources, concatenated.
---@class data.UnionSource: data.Source
---@overload fun(sources: data.Source[]): data.UnionSource
local UnionSource = Source:extend('UnionSource')
UnionSource.name = 'Union'

function UnionSource:init(sources)
  self._sources, self.in_memory, self.is_random = sources, true, false
  for _, source in ipairs(sources) do
    self.in_memory, self.is_random = self.in_memory and source.in_memory, self.is_random or source.is_random
    self.calls_user = self.calls_user or source.calls_user
  end
end

-- `start` numbers the rows for random numbers: rows in memory over all sources, others in their fragment.
function UnionSource:fragments(context)
  local out, first = {}, 0
  for i, source in ipairs(self._sources) do
    for _, fragment in ipairs(source:fragments(context)) do
      out[#out + 1] = {source = i, inner = fragment, rows = fragment.rows, start = first,
                       in_order = fragment.path ~= nil or fragment.in_order}
      first = self.in_memory and first + fragment.rows or 0
    end
  end
  return out
end

function UnionSource:cut(fragment, skip, count)
  local inner = self._sources[fragment.source]:cut(fragment.inner, skip, count)
  return {source = fragment.source, inner = inner, rows = count, skip = inner.skip, count = inner.count,
          start = fragment.start + (inner.skip and 0 or skip)}
end

function UnionSource:cut_parts(fragment, parts)
  local inner = self._sources[fragment.source]:cut_parts(fragment.inner, parts)
  return {source = fragment.source, inner = inner, rows = inner.rows, skip = inner.skip, count = inner.count,
          keep = inner.keep, numbers = inner.numbers, start = fragment.start}
end

function UnionSource:gather(fragment, places, run)
  local inner = self._sources[fragment.source]:gather(fragment.inner, places, run)
  return inner and {source = fragment.source, inner = inner, rows = inner.rows, places = inner.places, numbers = places,
                    start = fragment.start} or nil
end

function UnionSource:gives_any_rows()
  for _, source in ipairs(self._sources) do
    if not source:gives_any_rows() then return false end
  end
  return true
end

function UnionSource:read(fragment, options) return self._sources[fragment.source]:read(fragment.inner, options) end

function UnionSource:count_rows(fragment)
  local source = self._sources[fragment.source]
  return fragments.counted(source, {fragment.inner})[1].rows
end

function UnionSource:describe(fragment) return self._sources[fragment.source]:describe(fragment.inner) end

function UnionSource:num_rows()
  local rows = 0
  for _, source in ipairs(self._sources) do
    local own = source:num_rows()
    if own == nil then return nil end
    rows = rows + own
  end
  return rows
end

function UnionSource:schema() return self._sources[1]:schema() end

function UnionSource:input_files()
  local out = {}
  for _, source in ipairs(self._sources) do
    for _, path in ipairs(source:input_files()) do out[#out + 1] = path end
  end
  return out
end

return {SlicedSource = SlicedSource, PermutedSource = PermutedSource, ReorderedSource = ReorderedSource,
        PlanSource = PlanSource, UnionSource = UnionSource}
