-- torch/distributed/checkpoint/save.lua: torch.distributed.checkpoint.save and async_save.

local args = require 'base.args'
local errors = require 'base.errors'
local index = require 'torch.distributed.checkpoint.index'
local make_plan = require 'torch.distributed.checkpoint.plan'
local phases = require 'base.phases'
local Ranks = require 'torch.distributed.checkpoint.ranks'
local shown = require 'base.shown'
local system = require 'base._system'

local save = {}

local OPTIONS = {'checkpoint_id', 'process_group', 'no_dist'}

local function check_options(options, owner)
  options = args.options(options, OPTIONS, owner)
  if type(options.checkpoint_id) ~= 'string' or options.checkpoint_id == '' then
    errors.raise('argument', ('%s: checkpoint_id: expected the path of a folder, got %s'):format(owner,
      shown(options.checkpoint_id)))
  end
  return options, Ranks(options)
end

local function write_index(plan, folder)
  if not plan.content then return end
  index.check(plan.content, folder)
  index.write(folder, plan.content)
end

local function write_part(plan, folder, ranks, write)
  system.make_folders(folder)
  return write(plan.tensors, system.absolute(folder .. '/' .. index.part_name(ranks.rank, ranks.size)),
    {format = 'pt', rtrain_save = ('%d'):format(plan.number), rtrain_part = ('%d of %d'):format(ranks.rank + 1, ranks.size)})
end

---Saves a state dict: every rank writes its part into the folder, at the same time. Every rank calls it with the same
---names. Of a parameter of fully_shard, and of its state in an optimizer, each rank has and writes its rows; other
---tensors are equal on all ranks and written by one of them, chosen so that all write about as much; plain values are
---those of rank 0. Any number of ranks can load it. Several state dicts go into one: `{model = …, optimizer = …, step = 7}`.
---
---When it returns, all ranks have written. Use a new folder for each save: while an older save is overwritten there is
---none. In a run save into a folder of train.tempdir and report it; or use train.state, which does both.
---@param state_dict table nested tables of tensors and plain values
---@param options {checkpoint_id: string, process_group: ProcessGroup|nil, no_dist: boolean|nil} checkpoint_id: the
---  folder, which is made; no_dist: this process alone
---Errors: 'argument' for a value that is not data, and if ranks have other names; 'environment' if a file cannot be
---written; 'checkpoint' on the other ranks then. PyTorch equivalent: torch.distributed.checkpoint.save.
---
---```lua
---local torch = require 'torch'
---local dcp = torch.distributed.checkpoint
---local folder = os.tmpname()
---os.remove(folder)
---local model = torch.nn.Linear(3, 2)
---dcp.save({model = model:state_dict(), step = 7}, {checkpoint_id = folder})
---
---local other = torch.nn.Linear(3, 2)
---local state = {model = other:state_dict(), step = 0}
---dcp.load(state, {checkpoint_id = folder})
---assert(state.step == 7 and torch.equal(other.weight, model.weight))
---require('base._system').remove_tree(folder)
---```
function save.save(state_dict, options)
  local ranks
  options, ranks = check_options(options, 'checkpoint.save')
  local depth = phases.enter(phases.CHECKPOINT)
  local folder, plan = options.checkpoint_id, make_plan('checkpoint.save', state_dict, ranks)
  ranks:together(("write its part of '%s'"):format(folder), function()
    write_part(plan, folder, ranks, require('torch._C').save_safetensors)
  end)
  ranks:together(("write the index of '%s'"):format(folder), function() write_index(plan, folder) end)
  phases.leave(depth)
end

---Saves like save, but takes only the time of a copy in memory: a thread writes the copied values. One save runs at a
---time; the next one waits for it, and train.report for the files of its checkpoint. The checkpoint is complete when the
---saves of all ranks are: before, load refuses it.
---@param state_dict table
---@param options {checkpoint_id: string, process_group: ProcessGroup|nil, no_dist: boolean|nil}
---@return AsyncSave save of this rank's file: `result()` waits, and raises its error
---Errors: those of save; of the file by `result()`. PyTorch equivalent: torch.distributed.checkpoint.async_save.
---
---```lua
---local torch = require 'torch'
---local dcp = torch.distributed.checkpoint
---local folder = os.tmpname()
---os.remove(folder)
---local weight = torch.ones(3)
---local save = dcp.async_save({weight = weight}, {checkpoint_id = folder})
---weight:zero_()  -- too late to be saved
---save:result()
---dcp.load({weight = weight}, {checkpoint_id = folder})
---assert(weight:sum():item() == 3)
---require('base._system').remove_tree(folder)
---```
function save.async_save(state_dict, options)
  local ranks
  options, ranks = check_options(options, 'checkpoint.async_save')
  local depth = phases.enter(phases.CHECKPOINT)
  local plan = make_plan('checkpoint.async_save', state_dict, ranks)
  local handle = write_part(plan, options.checkpoint_id, ranks, require('torch._C')._async_save_safetensors)
  write_index(plan, options.checkpoint_id)
  phases.leave(depth)
  return handle
end

return save
