-- rtrain/doc/lookup.lua: finds the thing for a name in any spelling: 'nn.Linear', 'x:view', 'report'.

local catalog = require 'rtrain.doc.catalog'
local descriptions = require 'rtrain.doc.descriptions'
local errors = require 'base.errors'
local members = require 'rtrain.doc.members'
local written_name = require 'rtrain.doc.written_name'

local function walk(found, parts, from)
  for i = from, #parts do
    local child = members.find(found, parts[i])
    if not child then return nil, found, parts[i] end
    found = child
  end
  return found
end

-- Modules in which a name without its module is searched first: these need no LibTorch.
local FIRST = {'rtrain', 'torch.nn', 'torch.optim', 'torch.optim.lr_scheduler', 'torch.utils.data', 'vision.models',
               'vision.transforms', 'vision.datasets'}

local function search_in(modules, parts)
  for _, owner in ipairs(modules) do
    if catalog.has(owner.value, parts[1]) then return owner end
  end
end

-- Finds a name without its module: in the first module that has it, then among tensor methods and operators.
local function search(parts)
  local first = {}
  for i, path in ipairs(FIRST) do first[i] = catalog.module(path) end
  local owner = search_in(first, parts) or descriptions.find('torch', parts[1]) and catalog.module 'torch'
    or search_in(catalog.modules(), parts)
  if owner then return walk(owner, parts, 1) end
  local declared = members.declared_class(parts[1])
  if declared then return walk(declared, parts, 2) end
  if #parts > 1 then return nil end
  local torch = catalog.module 'torch'
  return members.find(catalog.member(torch, 'Tensor'), parts[1]) or members.operator(torch, parts[1])
    or members.of_any_class(parts[1])
end

local function all_names()
  local names = {}
  for _, owner in ipairs(catalog.modules()) do
    for _, name in ipairs(catalog.names(owner.value)) do names[#names + 1] = name end
  end
  for _, name in ipairs(require('torch._C').op_names()) do names[#names + 1] = name end
  return names
end

local function refuse(text, owner, name)
  local names = owner and members.names(owner) or all_names()
  if owner and owner.path == 'torch' then
    for _, operator_name in ipairs(require('torch._C').op_names()) do names[#names + 1] = operator_name end
  end
  local what = owner and ("%s has no '%s'"):format(owner.path, name) or ("nothing is called '%s'"):format(text)
  errors.raise('not_found', what .. errors.suggestion(name or text, names))
end

---Returns the thing for a name in any spelling: 'torch.nn.Linear', 'nn.Linear', 'Linear', 'x:view', 'ray.train.report'.
---Raises code 'not_found' with the nearest name.
---@param text string
---@return DocThing
return function(text)
  local parts, is_object = written_name(text)
  if #parts == 0 then errors.raise('usage', 'expected the name of a function, class or module') end
  local found, owner, name
  local path = table.concat(parts, '.', 1, math.min(2, #parts))
  if catalog.is_required(path) then
    found, owner, name = walk(catalog.module(path), parts, 3)
  elseif catalog.is_root(parts[1]) then
    found, owner, name = walk(catalog.module(parts[1]), parts, 2)
  else
    found, owner, name = search(parts)
  end
  -- An object may belong to a class that extends the usual one.
  found = found or is_object and members.of_any_class(parts[#parts]) or members.declared_class(text)
  return found or refuse(text, owner, name)
end
