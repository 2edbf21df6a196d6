-- rtrain/data/dataset.lua: the class Dataset with all its methods.

local Dataset = require 'rtrain.data.dataset.base'
require 'rtrain.data.dataset.transforms'
require 'rtrain.data.dataset.consume'
require 'rtrain.data.dataset.splits'
require 'rtrain.data.dataset.aggregates'
require 'rtrain.data.dataset.writes'

return Dataset
