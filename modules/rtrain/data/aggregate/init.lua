-- rtrain/data/aggregate/init.lua: the aggregates of Dataset:aggregate and GroupedData:aggregate, as ray.data.aggregate.

---@class rtrain.data.aggregate
return require 'base.namespace'('data.aggregate', {
  files = {
    {'rtrain.data.aggregate.base', 'AggregateFn'},
    {'rtrain.data.aggregate.sums', 'Count', 'Sum', 'Mean', 'Std'},
    {'rtrain.data.aggregate.extremes', 'Min', 'Max', 'AbsMax'},
    {'rtrain.data.aggregate.collected', 'Quantile', 'Unique'},
    {'rtrain.data.aggregate.counted', 'ValueCounter'},
  },
  absent = {AggregateFnV2 = 'use map_groups', ApproximateQuantile = 'use Quantile', ApproximateTopK = 'use map_groups',
           MissingValuePercentage = 'use map_groups', ZeroPercentage = 'use map_groups',
           AsList = 'use map_groups'},
})
