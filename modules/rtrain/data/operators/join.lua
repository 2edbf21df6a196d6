-- rtrain/data/operators/join.lua: join: the rows of two plans that have the same keys.
--
-- Both sides are sorted by their keys (rtrain.data.exchange) and traversed together. Only the rows of one key are in
-- memory, in addition to a block of each side.

local exchange = require 'rtrain.data.exchange'
local join_columns = require 'rtrain.data.exchange.join_columns'
local MergeJoin = require 'rtrain.data.exchange.merge_join'
local Operator = require 'rtrain.data.operators.operator'

---Joins the rows of the stream and of another plan with equal keys. Arguments: plan; {join_type, on, right_on,
---left_suffix, right_suffix, schemas}: `schemas` has the schemas of the two sides, as far as they are known.
---@class data.Join: data.Operator
---@overload fun(plan: data.Plan, options: table): data.Join
local Join = Operator:extend('Join')
Join.is_global = true

function Join:init(plan, options)
  self._plan, self._options, self.name = plan, options, ('Join(%s)'):format(options.join_type)
end

function Join:stream(upstream, execution)
  -- Each side gets half of the memory.
  local memory, options = {memory_bytes = execution.memory_bytes / 2}, self._options
  local merge
  return function()
    merge = merge or MergeJoin(exchange.sort(upstream, options.on, false, memory),
      exchange.sort(execution:run(self._plan), options.right_on, false, memory), options)
    return merge:next()
  end
end

function Join:is_random() return self._plan:is_random() end

function Join:schema_of(schema, schema_of_plan)
  local other = schema_of_plan(self._plan)
  return other and join_columns.schema(self._options, schema, other)
end

return Join
