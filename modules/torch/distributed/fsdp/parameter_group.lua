-- torch/distributed/fsdp/parameter_group.lua: the parameters of one fully_shard: they are gathered, used, freed and
-- reduced together.
--
-- Each parameter has two tensors: `shard`, this rank's rows, which the module shows outside of its forward and which an
-- optimizer changes; and `whole`, which the module computes with.

local batches = require 'torch.distributed.fsdp.batches'
local C = require 'torch._C'
local class = require 'base.class'
local engine = require 'torch.distributed.engine'
local errors = require 'base.errors'
local Gathered = require 'torch.distributed.fsdp.gathered'
local parameter = require 'torch.nn.parameter'
local RecordedGroup = require 'torch.distributed.fsdp.recorded_group'
local SharedMemory = require 'torch.distributed.fsdp.shared_memory'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

---A parameter of a group.
---@class fsdp.Entry
---@field name string below the sharded module
---@field places table[] lists of a module and the name of the field that has the parameter
---@field sizes integer[] of the whole parameter
---@field place torch.Shard
---@field shard torch.Tensor
---@field partial torch.Tensor|nil sum of gradients that are not added up over the replicas yet
---@field whole torch.Tensor|nil made at the first forward

---@class fsdp.ParameterGroup
---@field entries fsdp.Entry[]
---@field reshard_after_forward boolean|nil nil: except for the outermost module
---@field keeps_after_backward boolean|nil
---@field is_unsharded boolean|nil whether the user has called unshard
---@field forward_prefetch fsdp.ParameterGroup[]|nil gathered ahead in its forward; nil: what came after it in the last pass
---@field backward_prefetch fsdp.ParameterGroup[]|nil the same in its backward; nil: what came before it
---@field reduces boolean whether a backward pass divides the gradients among the ranks; else it accumulates them whole
---@field all_reduces boolean whether it also adds up those of the replicas
---@field divides_by number|nil of the sums of gradients; nil: they are means
local ParameterGroup = class 'ParameterGroup'

shards.communicate_by{
  gather = function(tensor, shard)
    local whole = torch.empty(shard.sizes, {dtype = tensor.dtype, device = tensor.device})
    engine.joined().all_gather_shards({whole}, {tensor:detach():contiguous()}, shard.process_group)
    return whole
  end,
  all_reduce = function(tensor, op, shard) engine.joined().all_reduce(tensor, op, shard.process_group) end,
}

local function show(entry, tensor)
  for _, place in ipairs(entry.places) do place[1]._fields[place[2]] = tensor end
end

-- Returns this rank's rows of the parameter, as a parameter with memory of its own.
local function shard_of(self, entry, whole)
  local begin, count = engine.functions().shard_rows(entry.sizes[1], self.rank, self.num_ranks)
  local rows = whole:detach():narrow(0, begin, count):clone{memory_format = 'contiguous_format'}
  if self._offload then rows = self._offload.pin_memory and rows.is_cuda and rows:cpu():pin_memory() or rows:cpu() end
  local shard = parameter.Parameter(rows, whole.requires_grad)
  entry.place = {name = entry.name, sizes = entry.sizes, begin = begin, count = count, process_group = self.process_group,
                 replicate_group = self.replicate_group}
  shards.add(shard, entry.place)
  return shard
end

---Puts shards in the place of the parameters.
---@param found table[] {name, places, param} of each
---@param options {process_group: ProcessGroup|nil, replicate_group: ProcessGroup|nil, reshard_after_forward: boolean|nil,
---  mp_policy: torch.distributed.fsdp.MixedPrecisionPolicy, offload: torch.distributed.fsdp.CPUOffloadPolicy|nil, device: any}
function ParameterGroup:init(found, options)
  self.process_group, self.replicate_group = options.process_group, options.replicate_group
  self.rank, self.num_ranks = engine.place(self.process_group)
  self.reshard_after_forward, self.mp_policy = options.reshard_after_forward, options.mp_policy
  self.reduces, self.all_reduces, self._alone = true, true, {self}
  self._offload, self._device, self._users = options.offload, options.device, 0
  self.entries = {}
  for i, each in ipairs(found) do
    local entry = {name = each.name, places = each.places, sizes = {unpack(each.param.shape)}}
    entry.shard = shard_of(self, entry, each.param)
    shards.replace(each.param, each.name)
    each.param.data = each.param:new_empty{0}  -- what still refers to it, such as an optimizer, keeps no memory
    show(entry, entry.shard)
    self.entries[i] = entry
  end
end

-- Returns the device on which the module computes.
local function device_of(self)
  if self._offload then return self._device end
  return self.entries[1].shard.device
end

-- Returns the parameter that the module shows.
local function shown_of(entry)
  local place = entry.places[1]
  return place[1]._fields[place[2]]
end

-- A conversion from the device 'meta' has made new parameters, which are the shards from now on.
local function adopt(entry)
  local shown = shown_of(entry)
  if rawequal(shown, entry.shard) then return end
  if shown == nil or tostring(shown.shape) ~= tostring(entry.shard.shape) then
    errors.raise('user', ("fully_shard: '%s' was replaced by another parameter after the module was sharded: replace it "
      .. 'before, or change the values of its rows'):format(entry.name))
  end
  shards.add(shown, entry.place)
  entry.shard = shown
  for _, each in ipairs(entry.places) do each[1]._fields[each[2]] = shown end
end

-- The memory of a group without parameters.
local NOTHING = setmetatable({wholes = {}}, {__index = function() return function() return true end end})

local function make_memory(self)
  if #self.entries == 0 then
    self.memory = NOTHING
    return
  end
  for _, entry in ipairs(self.entries) do
    if entry.shard.device == 'meta' then
      errors.raise('user', ("fully_shard: the parameter '%s' is on the device 'meta': give it memory, module:to_empty{device = "
        .. "'cpu'}, and values before the first forward"):format(entry.name))
    end
  end
  local dtype = self.mp_policy.param_dtype
  if dtype == self.entries[1].shard.dtype then dtype = nil end
  local device = device_of(self)
  local is_shared = tostring(device) == 'cpu' and engine.joined().shares_memory(self.process_group)
  self.memory = is_shared and SharedMemory(self.entries, self.process_group, dtype)
    or Gathered(self.entries, self.process_group, dtype, device)
  for i, entry in ipairs(self.entries) do
    entry.whole = parameter.Parameter(self.memory.wholes[i], entry.shard.requires_grad)
    shards.add_whole(entry.whole)
  end
end

-- Refuses what a plan of train.compile cannot do.
local function refuse(self)
  if tostring(device_of(self)) ~= 'cpu' then
    C.recording.refuse 'the ranks exchange the parameters of a model under fully_shard on GPUs'
  elseif self.replicate_group and not self.all_reduces then
    C.recording.refuse 'gradients of a model under fully_shard wait for those of other replicas'
  end
end

---Returns whether the parameters and their memory are those of the last pass.
---@return boolean
function ParameterGroup:is_current()
  for _, entry in ipairs(self.entries) do
    local shown = shown_of(entry)
    if not (rawequal(shown, entry.shard) or rawequal(shown, entry.whole)) or entry.partial then return false end
  end
  return self.memory ~= nil and self.memory:is_current()
end

local function publish(self)
  for _, entry in ipairs(self.entries) do entry.version = entry.shard._version end
  torch.no_grad(self.memory.publish, self.memory)
end

---Prepares the parameters for a pass: other ranks may read this rank's rows after the next fence. A collective.
function ParameterGroup:publish()
  for _, entry in ipairs(self.entries) do adopt(entry) end
  if #self.entries > 0 then refuse(self) end
  if not (self.memory and self.memory:is_current()) then RecordedGroup.make(make_memory, self) end
  for _, entry in ipairs(self.entries) do
    if entry.whole.requires_grad ~= entry.shard.requires_grad then entry.whole.requires_grad = entry.shard.requires_grad end
  end
  RecordedGroup.call('rows are published', self._alone, publish, self)
end

local function show_wholes(self)
  self._users = self._users + 1
  if self._users > 1 then return end
  torch.no_grad(self.memory.finish, self.memory)
  for _, entry in ipairs(self.entries) do
    entry.whole_version = entry.whole._version
    show(entry, entry.whole)
  end
end

---Shows the whole parameters in the modules, until `hide` is called as often.
function ParameterGroup:show() RecordedGroup.call('parameters are shown', self._alone, show_wholes, self) end

local function begin_gathering(self)
  if self.memory then torch.no_grad(self.memory.begin, self.memory) end
end

---Begins to gather the parameters, which are needed soon.
function ParameterGroup:prefetch() RecordedGroup.call('parameters are needed soon', self._alone, begin_gathering, self) end

local function free(self)
  if self._users == 0 and self.memory then self.memory:free() end
end

---Frees gathered parameters that are not in use.
function ParameterGroup:free() RecordedGroup.call('parameters are freed', self._alone, free, self) end

-- A write to a whole parameter would change it on this rank alone, or on all at any time.
local function check_unchanged(entry)
  if entry.whole._version == entry.whole_version then return end
  errors.raise('user', ("fully_shard: the parameter '%s' was changed in place in the module's forward: there it is gathered "
    .. 'from all ranks. Change parameters outside of forward: each rank has its rows'):format(entry.name))
end

local function hide_wholes(self, keeps)
  self._users = math.max(self._users - 1, 0)
  if self._users > 0 then return end
  for _, entry in ipairs(self.entries) do show(entry, entry.shard) end
  if not keeps then self.memory:free() end
  for _, entry in ipairs(self.entries) do check_unchanged(entry) end
end

---@param keeps boolean whether to keep the gathered parameters for the backward pass
function ParameterGroup:hide(keeps)
  RecordedGroup.call(keeps and 'parameters are kept' or 'parameters are hidden', self._alone, hide_wholes, self, keeps)
end

---Ends all uses, after an error.
function ParameterGroup:abandon()
  self._users, self.is_unsharded = 0, false
  for _, entry in ipairs(self.entries) do
    show(entry, entry.shard)
    if entry.whole then entry.whole.grad = nil end
  end
  if self.memory then self.memory:free() end
end

---Forgets the memory and the collectives of a process group that has ended.
function ParameterGroup:disconnect()
  self.memory, self._users, self.is_unsharded, self.next, self.previous = nil, 0, false, nil, nil
  for _, entry in ipairs(self.entries) do
    show(entry, entry.shard)
    entry.whole, entry.partial = nil, nil
  end
end

---Gathers and shows the parameters again for the backward pass, in which a checkpointed forward runs again.
function ParameterGroup:begin_backward()
  for _, entry in ipairs(self.entries) do
    if entry.shard._version ~= entry.version then
      errors.raise('user', ("backward: the parameter '%s' was changed between its forward and this backward: change parameters "
        .. 'after backward'):format(entry.name))
    end
  end
  self:show()
end

-- Returns the lists of entries and gradients that this rank has.
local function gradients_of(self)
  local entries, grads = {}, {}
  for _, entry in ipairs(self.entries) do
    local grad = entry.whole.grad  -- each reading makes a handle, which keeps the memory
    if grad ~= nil and grad.is_sparse then
      errors.raise('unsupported', ("fully_shard: the gradient of '%s' is sparse, which this version does not divide: leave out "
        .. 'sparse = true'):format(entry.name))
    end
    if grad ~= nil then entries[#entries + 1], grads[#grads + 1] = entry, grad end
  end
  return entries, grads
end

local function rows_like(entry, grad)
  return torch.empty(entry.shard.shape, {dtype = grad.dtype, device = grad.device})
end

local function accumulate(entry, grad)
  local dtype, device = entry.shard.dtype, entry.shard.device
  if grad.dtype ~= dtype or grad.device ~= device then grad = grad:to{dtype = dtype, device = device} end
  local before = entry.shard.grad
  if before ~= nil then
    before:add_(grad)
  else
    shards.add(grad, entry.place)
    entry.shard.grad = grad
  end
  C._call_post_accumulate_grad_hooks(entry.shard)
end

-- Adds up the rows of the replicas. Without all_reduces the sum of this rank's passes waits for a pass with it. Returns
-- whether the rows are those of all ranks.
local function reduce_replicas(self, entries, rows, op)
  if not self.replicate_group then return true end
  for i, entry in ipairs(entries) do
    if entry.partial then rows[i]:add_(entry.partial) end
    entry.partial = not self.all_reduces and rows[i] or nil
    if self.all_reduces then engine.joined().all_reduce(rows[i], op, self.replicate_group) end
  end
  return self.all_reduces
end

local function reduce_batch(self, entries, grads)
  local dist, op = engine.joined(), self.divides_by and 'sum' or 'avg'
  local sent, rows, dtype = {}, {}, self.mp_policy.reduce_dtype
  for i, entry in ipairs(entries) do
    sent[i] = grads[i]
    if dtype and sent[i].dtype ~= dtype then sent[i] = sent[i]:to(dtype) end
    if not sent[i]:is_contiguous() then sent[i] = sent[i]:contiguous() end
    rows[i] = rows_like(entry, sent[i])
  end
  dist.reduce_scatter_shards(rows, sent, op, self.process_group)
  local is_whole = reduce_replicas(self, entries, rows, op)
  if is_whole and self.divides_by then torch._foreach_div_(rows, self.divides_by) end
  for i, entry in ipairs(entries) do
    entry.whole.grad = nil
    sent[i]:release()  -- the collector would come too late
    grads[i]:release()
    if is_whole then accumulate(entry, rows[i]) end
  end
end

local function reduce(self)
  local entries, grads = gradients_of(self)
  for _, batch in ipairs(batches(grads)) do
    local some, of_some = {}, {}
    for k, i in ipairs(batch) do some[k], of_some[k] = entries[i], grads[i] end
    reduce_batch(self, some, of_some)
  end
end

---Divides the gradients among the ranks, and frees the gathered parameters.
---@param keeps boolean whether to keep the gathered parameters
function ParameterGroup:end_backward(keeps)
  if self.reduces then torch.no_grad(reduce, self) end
  self:hide(keeps)
end

return ParameterGroup
