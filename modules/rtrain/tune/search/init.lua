-- rtrain/tune/search/init.lua: train.tune.search: classes that choose the configurations to try.

---@class rtrain.tune.search
---@field TPESampler rtrain.tune.TPESampler
return require 'base.namespace'('train.tune.search', {
  modules = {TPESampler = 'rtrain.tune.search.tpe'},
})
