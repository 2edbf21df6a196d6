-- rtrain/data/dataset/init.lua: the class Dataset with all its methods.

local args = require 'base.args'
local Dataset = require 'rtrain.data.dataset.base'
require 'rtrain.data.dataset.transforms'
require 'rtrain.data.dataset.consume'
require 'rtrain.data.dataset.splits'
require 'rtrain.data.dataset.aggregates'
require 'rtrain.data.dataset.groups'
require 'rtrain.data.dataset.join'
require 'rtrain.data.dataset.mix'
require 'rtrain.data.dataset.writes'

local ABSENT = {map_groups = 'use groupby(key):map_groups(fn)', to_pandas = 'use iter_batches'}

local function public_methods()
  local names = {}
  for key, value in next, Dataset do
    if type(value) == 'function' and key:sub(1, 1) ~= '_' then names[#names + 1] = key end
  end
  table.sort(names)
  return names
end

function Dataset.__index(_, name)
  local value = Dataset[name]
  if value == nil and type(name) == 'string' and name:sub(1, 1) ~= '_' then
    args.no_such('Dataset', name, public_methods(), ABSENT)
  end
  return value
end

return Dataset
