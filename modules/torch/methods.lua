-- torch/methods.lua: the methods of tensors that are written in Lua. They take precedence over operators of the same
-- name.

local methods = {}

local FILES = {
  {'torch.functional', 'norm', 'nonzero', 'to_sparse_coo'},
  {'torch.tensor.rows', 'iter', 'len'},
  {'torch.functions.unique', 'unique', 'unique_consecutive'},
  {'torch.functions.spectrogram', 'stft'},
  {'torch.functions.factorizations', 'lu'},
  {'torch.functions.creation', 'new_tensor'},
  {'torch.tensor.dtypes', 'type'},
  {'torch.functions.elementwise', 'apply_', 'map_', 'map2_'},
  {'torch.tensor.storages', 'storage', 'untyped_storage'},
  {'torch.cuda.streams', 'record_stream'},
  {'torch.tensor.shards', 'full_tensor', 'to_local'},
}

local module_of, names = {}, {}
for _, entry in ipairs(FILES) do
  for i = 2, #entry do
    module_of[entry[i]] = entry[1]
    names[#names + 1] = entry[i]
  end
end

---Returns the method of that name. A name that PyTorch has and rtrain lacks raises an error with the reason.
---@param name string
---@return function|nil
function methods.find(name)
  local module = module_of[name]
  if module then return require(module)[name] end
  require('torch.absent').check('a Tensor', name)
end

---@return string[] names of all methods, in no particular order
function methods.names() return names end

return methods
