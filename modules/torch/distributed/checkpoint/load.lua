-- torch/distributed/checkpoint/load.lua: torch.distributed.checkpoint.load.

local args = require 'base.args'
local errors = require 'base.errors'
local leaves = require 'torch.distributed.checkpoint.leaves'
local ordered = require 'base.ordered'
local Ranks = require 'torch.distributed.checkpoint.ranks'
local Reader = require 'torch.distributed.checkpoint.reader'
local shards = require 'torch.tensor.shards'
local shown = require 'base.shown'

local load = {}

local function raise(text, ...) errors.raise('checkpoint', 'checkpoint.load: ' .. text:format(...)) end

-- A new optimizer has no state: then nothing of the saved state would be loaded.
local function check_empty(reader, leaf)
  if type(leaf.value) ~= 'table' or next(leaf.value) ~= nil then return end
  local prefix = leaf.name .. '.'
  for _, name in ipairs(ordered.keys_of(reader.content.tensors)) do
    if name:sub(1, #prefix) == prefix then
      raise("'%s' is empty, the checkpoint has '%s': for an optimizer give a result of checkpoint.state_dict."
        .. 'get_optimizer_state_dict, which makes its state', leaf.name, name)
    end
  end
end

local function add(reader, leaf)
  if leaves.is_tensor(leaf.value) then return reader:add(leaf.name, leaf.value, shards.of(leaf.value)) end
  check_empty(reader, leaf)
  if not reader.content.values[leaf.name] and next(type(leaf.value) == 'table' and leaf.value or {1}) ~= nil then
    raise("the checkpoint '%s' has no value '%s'", reader.folder, leaf.name)
  end
end

---Loads a checkpoint of save into a state dict: the tensors are filled in place, plain values are replaced. The number of
---ranks may be another one than when it was saved, and a tensor may be divided or whole: each rank reads only the bytes
---of its rows. What the checkpoint has and the state dict has not is left out.
---
---Every rank calls it. Files, dtypes and shapes are checked first, on all ranks: after an error nothing is changed.
---@param state_dict table as of save; for an optimizer use checkpoint.state_dict.get_optimizer_state_dict, which makes
---  the state of a new one
---@param options {checkpoint_id: string, process_group: ProcessGroup|nil, no_dist: boolean|nil}
---Errors: 'checkpoint' with the tensor and the file for what is missing, damaged, or of another dtype or shape.
---PyTorch equivalent: torch.distributed.checkpoint.load.
---
---```lua
---local torch = require 'torch'
---local dcp = torch.distributed.checkpoint
---local folder = os.tmpname()
---os.remove(folder)
---dcp.save({weight = torch.arange(6)}, {checkpoint_id = folder})
---local state = {weight = torch.zeros(6, {dtype = 'int64'})}
---dcp.load(state, {checkpoint_id = folder})
---assert(state.weight:sum():item() == 15)
---require('base._system').remove_tree(folder)
---```
function load.load(state_dict, options)
  options = args.options(options, {'checkpoint_id', 'process_group', 'no_dist'}, 'checkpoint.load')
  local folder = options.checkpoint_id
  if type(folder) ~= 'string' then
    errors.raise('argument', ('checkpoint.load: checkpoint_id: expected the path of a folder, got %s'):format(shown(folder)))
  end
  local reader, found
  local ranks = Ranks(options)
  ranks:together(("load '%s'"):format(folder), function()
    found = leaves.of('checkpoint.load', state_dict)
    reader = Reader(folder)
    for _, leaf in ipairs(found) do add(reader, leaf) end
    reader:check()
  end)
  ranks:together(("read '%s'"):format(folder), function() reader:read() end)
  for _, leaf in ipairs(found) do
    local saved = reader.content.values[leaf.name]
    if saved and not leaves.is_tensor(leaf.value) then leaf.parent[leaf.key] = leaves.restored(saved.value) end
  end
end

return load
