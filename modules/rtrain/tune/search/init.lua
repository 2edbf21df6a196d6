-- rtrain/tune/search/init.lua: train.tune.search: what chooses the configurations that are tried.

---@class rtrain.tune.search
---@field TPESampler rtrain.tune.TPESampler
return require 'base.namespace'('train.tune.search', {
  modules = {TPESampler = 'rtrain.tune.search.tpe'},
})
