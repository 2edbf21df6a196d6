-- rtrain/data/init.lua: Ray Data's API: lazy datasets that stream through threads, bounded by bytes.

---@class rtrain.data
return require 'rtrain.namespace'('data', {
  files = {
    {'rtrain.data.from', 'from_items', 'from_torch', 'from_tensors', 'from_blocks', 'range', 'range_tensor'},
  },
  modules = {
    Dataset = 'rtrain.data.dataset',
    DataContext = 'rtrain.data.context',
  },
})
