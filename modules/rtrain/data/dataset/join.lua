-- rtrain/data/dataset/join.lua: the method join of Dataset.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local errors = require 'base.errors'
local Join = require 'rtrain.data.operators.join'
local join_columns = require 'rtrain.data.exchange.join_columns'
local SelectColumns = require('rtrain.data.operators.columns').SelectColumns

---@class rtrain.data.Dataset
local Dataset = require 'rtrain.data.dataset.base'

local signature = args.signature('join', {'ds', 'join_type', {'num_partitions'}, {'on', 'id'}, {'right_on'},
  {'left_suffix'}, {'right_suffix'}, {'partition_size_hint'}, {'aggregator_ray_remote_args'}, {'validate_schemas', false}})

local function check_keys(dataset, keys)
  if #keys == 0 then errors.raise('argument', 'join: on: expected the name of a column or a list of names') end
  local schema = dataset._plan:schema()
  if schema then SelectColumns(keys, 'join'):schema_of(schema) end
  return keys
end

---Joins the rows of this dataset and another one that have the same keys. A row with several matches appears once for
---each; null matches nothing. Both sides are sorted by their keys, and so is the result; data beyond DataContext's
---memory_bytes goes to temporary files, and the rows of one key are in memory together.
---
---join_type: 'inner'; 'left_outer', 'right_outer', 'full_outer' keep rows without a match, whose missing values are
---null (whole numbers become float64, booleans Lua values); 'left_semi', 'right_semi' return the rows of one side that
---have a match, 'left_anti', 'right_anti' those without a match. The key columns appear once, with the left names
---(right_outer: with the right names). Arguments: ds, join_type, {on = 'id', a name or a list; right_on = on, their
---names on the right; left_suffix, right_suffix: appended to names that both sides have}; num_partitions,
---partition_size_hint, aggregator_ray_remote_args and validate_schemas change nothing. Ray equivalent: Dataset.join.
---
---```lua
---local data = require 'rtrain.data'
---local names = data.from_items{{id = 1, name = 'a'}, {id = 2, name = 'b'}}
---local sizes = data.from_items{{id = 2, size = 20}, {id = 3, size = 30}}
---assert(names:join(sizes, 'inner'):take_all()[1].size == 20)
---assert(names:join(sizes, 'full_outer'):count() == 3 and names:join(sizes, 'left_anti'):take_all()[1].name == 'a')
---```
---@return rtrain.data.Dataset
function Dataset:join(...)
  local a = signature:bind(...)
  checks.dataset('join', a.ds)
  args.one_of('join: join_type', a.join_type, join_columns.NAMES)
  local on = check_keys(self, checks.names('join', a.on))
  local right_on = check_keys(a.ds, checks.names('join', a.right_on or on))
  if #on ~= #right_on then
    errors.raise('argument', ('join: %d columns in on, %d in right_on'):format(#on, #right_on))
  end
  local schemas = {left = self._plan:schema(), right = a.ds._plan:schema()}
  local options = {join_type = a.join_type, on = on, right_on = right_on, left_suffix = a.left_suffix,
                   right_suffix = a.right_suffix, schemas = schemas}
  -- Raises an error at once for duplicate column names, if the columns are known.
  if schemas.left and schemas.right then join_columns.schema(options, schemas.left, schemas.right) end
  return self:_with(Join(a.ds._plan, options))
end

return Dataset
