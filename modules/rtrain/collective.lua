-- rtrain/collective.lua: train.collective: collectives of a run's workers that need no process group.

---@class rtrain.collective
return require 'base.namespace'('train.collective', {
  files = {{'rtrain.functions.collective', 'barrier', 'broadcast_from_rank_zero'}},
})
