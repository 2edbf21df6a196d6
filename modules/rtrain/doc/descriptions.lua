-- rtrain/doc/descriptions.lua: what modules/torch/operators says about operators, functions of the engine and methods of
-- tensors.

local ordered = require 'base.ordered'
local source = require 'rtrain.doc.source'

local descriptions = {}

local PREFIX = 'torch.operators.'

-- owner → name → entry.
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

---The names that are described, sorted.
---@param owner string 'torch', 'Tensor', 'linalg', 'fft' or 'special'
---@return string[]
function descriptions.names(owner)
  known = known or read()
  return ordered.names_of(known[owner] or {})
end

return descriptions
