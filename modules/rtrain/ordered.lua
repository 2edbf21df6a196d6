-- rtrain/ordered.lua: a map that remembers the order in which its keys were added.

return require 'base.ordered'
