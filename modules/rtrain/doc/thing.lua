-- rtrain/doc/thing.lua: DocThing: a subject of rtrain doc: a module, a class, a function, a field …

---@class DocThing
---@field path string 'torch.nn.Linear'
---@field kind string 'module', 'class', 'function', 'method', 'field', 'operator', 'value'
---@field value? any the value in a script; absent for operators, methods of tensors and fields
---@field entry? DocEntry its comment
---@field name string the last part of the path
---@field operator? string the operator behind it, if that has another name
---@field owner? DocThing the module or class that it belongs to

---@param owner DocThing|nil
---@param name string
---@param kind string
---@param value? any
---@param entry? DocEntry
---@return DocThing
return function(owner, name, kind, value, entry)
  return {path = owner and owner.path .. '.' .. name or name, name = name, kind = kind, value = value, entry = entry,
          owner = owner}
end
