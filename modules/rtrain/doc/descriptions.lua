-- rtrain/doc/descriptions.lua: the descriptions in modules/torch/operators of operators, engine functions and tensor
-- methods.

local ordered = require 'base.ordered'
local source = require 'rtrain.doc.source'

local descriptions = {}

local PREFIX = 'torch.operators.'

-- Returns a map owner → name → entry.
local function read()
  local owners = {}
  for _, module in ipairs(source.modules()) do
    local entries = module:sub(1, #PREFIX) == PREFIX and source.entries(module) or {}
    for _, entry in ipairs(entries) do
      local owner = entry.owner
      if owner then
        owners[owner] = owners[owner] or {}
        owners[owner][entry.name] = entry
      end
    end
  end
  return owners
end

local known

---@param owner string 'torch', 'Tensor', 'linalg', 'fft' or 'special'
---@param name string
---@return DocEntry|nil
function descriptions.find(owner, name)
  known = known or read()
  return known[owner] and known[owner][name]
end

---Returns the described names, sorted.
---@param owner string 'torch', 'Tensor', 'linalg', 'fft' or 'special'
---@return string[]
function descriptions.names(owner)
  known = known or read()
  return ordered.names_of(known[owner] or {})
end

return descriptions
