-- rtrain/tryout/model_probe.lua: ModelProbe: a rank of `rtrain check`, also with --memory: observes the batches, the
-- first model passed to prepare_model, its forward and backward passes, and the optimizers.
--
-- The train function ends at the report whose number is the number of batches: all ranks make the same reports, so all
-- end there. If it loops over no loader, the steps of its first optimizer count as batches, and it ends before the next
-- step. The observations are written to the command's folder.

local class = require 'base.class'
local errors = require 'base.errors'
local files = require 'rtrain.tryout.files'
local loop_limit = require 'torch.utils.data.loop_limit'
local optim_hooks = require 'torch.optim.hooks'
local session = require 'rtrain.session'
local sizes = require 'rtrain.tryout.sizes'

---@class ModelProbe
local ModelProbe = class('ModelProbe')

---@param asked {folder: string, batches: integer}
---@param rank integer
function ModelProbe:init(asked, rank)
  self._folder, self._most_reports, self._rank = asked.folder, asked.batches, rank
  self._reports, self._forward, self._backward, self._batches, self._steps = 0, 0, 0, 0, 0
  self._optimizers, self._known = {}, {}
end

local function shape_of(value)
  if type(value) == 'table' and not class.of(value) then value = value[1] end
  if type(value) ~= 'userdata' or not require('torch').is_tensor(value) then return nil end
  local shape = {}
  for i = 1, #value.shape do shape[i] = value.shape[i] end
  return require('torch').list(shape), value
end

-- Returns the first tensor of a value that needs a gradient.
local function first_with_gradient(value)
  for _, tensor in ipairs(require('torch.func.tree').leaves(value)) do
    if tensor.requires_grad then return tensor end
  end
end

-- Counts the parameters of the module itself, not of its submodules.
local function own_parameters(module)
  local count = 0
  for _, parameter in module:named_parameters {recurse = false} do count = count + parameter:numel() end
  return count
end

-- Returns a row for each module, in the order of named_modules. The first forward pass fills in the shapes. The hooks
-- stay registered: removing one while hooks run would skip the next, which may be the script's.
local function rows_of(model)
  local rows, activations = {}, {bytes = 0, is_complete = false}
  for name, module in model:named_modules() do
    local row = {name = name, class = class.of(module).__name, parameters = own_parameters(module)}
    rows[#rows + 1] = row
    local is_leaf = #module:children() == 0
    module:register_forward_hook(function(_, _, output)
      if activations.is_complete then return end
      local shape, tensor = shape_of(output)
      row.output_shape = row.output_shape or shape
      if is_leaf and tensor then activations.bytes = activations.bytes + sizes.of_tensor(tensor) end
    end)
  end
  return rows, activations
end

-- Returns copies of the rows. The hooks of a sharded module, which torch keeps, refer to the rows, and what a library
-- keeps is not written.
local function copies_of(rows)
  local out = {}
  for i, row in ipairs(rows) do
    local shape = row.output_shape and require('torch').list{unpack(row.output_shape)}
    out[i] = {name = row.name, class = row.class, parameters = row.parameters, output_shape = shape}
  end
  return out
end

function ModelProbe:_count_passes(model)
  local function count_backward() self._backward = self._backward + 1 end
  model:register_forward_hook(function(_, inputs, outputs)
    self._activations.is_complete = true
    local shape = shape_of(inputs[1])
    self._batch_size = self._batch_size or shape and shape[1]
    if model.training then self._forward = self._forward + 1 end
    if not require('torch.tensor.shards').has_replaced() then return end
    local output = first_with_gradient(outputs)  -- the parameter below is not the model's any more
    if output then output:register_hook(count_backward) end
  end)
  for _, parameter in model:named_parameters() do
    if parameter.requires_grad then
      if not require('torch.tensor.shards').of(parameter) then parameter:register_hook(count_backward) end
      return
    end
  end
end

---Called by prepare_model with its model.
---@param model nn.Module
function ModelProbe:add_model(model)
  if self._model then return end
  self._model = model
  self._rows, self._activations = rows_of(model)
  self:_count_passes(model)
end

---@param optimizer torch.optim.Optimizer
function ModelProbe:_add_optimizer(optimizer)
  if self._known[optimizer] then return end
  self._known[optimizer] = true
  table.insert(self._optimizers, optimizer)
end

function ModelProbe:_end()
  self._is_over = true
  errors.raise('interrupted', 'the train function ends here: it is only tried out')
end

function ModelProbe:_before_step(optimizer)
  if self._batches > 0 or optimizer ~= (self._optimizers[1] or optimizer) then return end
  if self._steps == self._most_reports then self:_end() end
  self._steps = self._steps + 1
  if self._steps == 1 then self:_note_loop() end
end

-- The command waits for this file.
function ModelProbe:_note_loop() files.write(self._folder, ('loop-%d'):format(self._rank), {}) end

---Handles a report. Raises an error at the last report.
function ModelProbe:after_report()
  self._reports = self._reports + 1
  if self._reports == self._most_reports then self:_end() end
end

function ModelProbe:_result()
  local batches = self._batches > 0 and self._batches or self._steps
  local found = {rank = self._rank, num_workers = session.get('rtrain check').context.world_size, batches = batches,
                 reports = self._reports, forward = self._forward, backward = self._backward,
                 peak_bytes = sizes.peak_of_process()}
  if not self._model then return found end
  found.class, found.layers, found.device = class.of(self._model).__name, copies_of(self._rows), sizes.device_of(self._model)
  found.parameters, found.trainable = sizes.count(self._model)
  found.batch_size, found.dtype = self._batch_size, sizes.dtype_of(self._model)
  found.memory = sizes.of_training(self._model, self._optimizers)
  found.whole_memory = sizes.of_training(self._model, self._optimizers, sizes.of_whole)
  found.memory.activations, found.whole_memory.activations = self._activations.bytes, self._activations.bytes
  return found
end

---Calls the train function and writes the observations.
---@param fn function
---@param config? table
---@return any returned
function ModelProbe:call(fn, config)
  files.write(self._folder, ('started-%d'):format(self._rank), {})
  loop_limit.watch(function()
    self._batches = self._batches + 1
    if self._batches == 1 then self:_note_loop() end
  end)
  optim_hooks.watch_steps(function(optimizer) self:_before_step(optimizer) end,
    function(optimizer) self:_add_optimizer(optimizer) end)
  local ok, returned = xpcall(fn, errors.wrap, config)
  loop_limit.watch(nil)
  optim_hooks.watch_steps(nil)
  if not ok and not self._is_over then error(returned, 0) end
  files.write(self._folder, ('rank-%d'):format(self._rank), self:_result())
  return ok and returned or nil
end

return ModelProbe
