-- rtrain/tune/space.lua: functions for a param_space: nested tables in which some values are domains.

local class = require 'base.class'
local Domain = require 'rtrain.tune.domain'
local ordered = require 'base.ordered'

local space = {}

local function is_branch(value) return type(value) == 'table' and class.of(value) == nil end

local function add_leaves(value, path, out)
  if class.is(value, Domain) then
    out[#out + 1] = {path = path, name = table.concat(path, '.'), domain = value}
  elseif is_branch(value) then
    for _, key in ipairs(ordered.keys_of(value)) do
      local below = {unpack(path)}
      below[#below + 1] = key
      add_leaves(value[key], below, out)
    end
  end
end

---Returns the domains of a param_space, sorted by their names: 'optimizer.lr'.
---@param tree table
---@return {path: any[], name: string, domain: rtrain.tune.Domain}[]
function space.leaves(tree)
  local out = {}
  add_leaves(tree, {}, out)
  table.sort(out, function(a, b) return a.name < b.name end)
  return out
end

local function copy(value)
  if not is_branch(value) then return value end
  local out = setmetatable({}, getmetatable(value))
  if ordered.is(value) then out = ordered.new() end
  for _, key in ipairs(ordered.keys_of(value)) do
    if not class.is(value[key], Domain) then out[key] = copy(value[key]) end
  end
  return out
end

---Returns a copy without the domains.
---@param tree table
---@return table
function space.without_domains(tree) return copy(tree) end

---@param tree table
---@param path any[]
---@return any value nil if the path does not exist
function space.get(tree, path)
  for _, key in ipairs(path) do
    if type(tree) ~= 'table' then return nil end
    tree = tree[key]
  end
  return tree
end

---@param tree table
---@param path any[] path to a place; the tables on the path must exist
---@param value any
function space.set(tree, path, value)
  for i = 1, #path - 1 do tree = tree[path[i]] end
  tree[path[#path]] = value
end

---Returns the table with `changes` applied: tables with names are merged, all other values are replaced. Neither
---argument is changed.
---@param tree? table
---@param changes any
---@return any
function space.joined(tree, changes)
  if not is_branch(changes) or not is_branch(tree) or #changes > 0 or #tree > 0 then return copy(changes) end
  local out = copy(tree)
  for _, key in ipairs(ordered.keys_of(changes)) do out[key] = space.joined(tree[key], changes[key]) end
  return out
end

local function short(leaf) return (leaf.name:gsub('^train_loop_config%.', '')) end

---Returns only the drawn values, flat: 'optimizer.lr' → 0.1; without the prefix of train_loop_config. For display.
---@param tree table the param_space
---@param config table resolved
---@return table map in the order of the names
function space.drawn(tree, config)
  local out = ordered.new()
  for _, leaf in ipairs(space.leaves(tree)) do out[short(leaf)] = space.get(config, leaf.path) end
  return out
end

return space
