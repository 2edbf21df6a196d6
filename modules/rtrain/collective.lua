-- rtrain/collective.lua: train.collective: what the workers of a run do together without a process group.

---@class rtrain.collective
return require 'base.namespace'('train.collective', {
  files = {{'rtrain.functions.collective', 'barrier', 'broadcast_from_rank_zero'}},
})
