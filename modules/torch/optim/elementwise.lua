-- torch/optim/elementwise.lua: optimizers whose update treats each element of a parameter independently.
--
-- Such an update may run over any part of the parameters at once, so it runs over blocks of a suitable size. Small
-- parameters are gathered into one tensor, with their state in one tensor too (the parameters' states are views of it),
-- so that a step needs a few operator calls in total and not for each parameter. A large parameter is cut into pieces
-- that stay in the processor's cache during the whole update. The arithmetic is the same in both cases. A subclass
-- defines
--
--   _advance(group, unit) → coefficients   once for each unit of parameters with equal scalars, before its blocks;
--                                          counts the step
--   _update_block(group, block, coefficients)
--
-- with block.param, block.grad and block[name] for each tensor of the state.

local class = require 'base.class'
local errors = require 'base.errors'
local Optimizer = require('torch.optim.optimizer').Optimizer
local Plan = require 'torch.optim.plan'
local Rates = require 'torch.optim.rates'
local shards = require 'torch.tensor.shards'
local torch = require 'torch'

-- Numbers of elements. A parameter up to SMALL is gathered: for larger ones the copies cost more than the saved calls.
-- A block has PER_THREAD elements for each thread, LibTorch's minimum for a thread. On a GPU a call costs the time of a
-- million elements, and cutting brings no gain from a cache.
local SMALL, PER_THREAD = 8192, 32768
local SMALL_ON_GPU, GATHERED_ON_GPU = 2 ^ 20, 2 ^ 25

---@param device string
---@return {small: integer, most: integer, piece: number} sizes in elements: the largest parameter that is gathered, the
---  largest gathered tensor, and the size of a piece
local function sizes_for(device)
  if device ~= 'cpu' then return {small = SMALL_ON_GPU, most = GATHERED_ON_GPU, piece = math.huge} end
  local most = PER_THREAD * torch.get_num_threads()
  return {small = SMALL, most = most, piece = most}
end

---@class optim.Elementwise: optim.Optimizer
local Elementwise = Optimizer:extend('Elementwise')

---Parameters that are updated with the same coefficients.
---@class optim.Unit
---@field first table the state of the first parameter
---@field blocks table[] arguments of _update_block
---@field indices integer[] places of its parameters in the batch
---@field scalars table<string, torch.Tensor> scalars of all parameters, to be changed in place

local function as_real(tensor, complex) return complex and torch.view_as_real(tensor) or tensor end

-- Puts the tensors of the states one after the other in memory; the states become views.
local function merge_states(states, names)
  local block = {}
  for _, name in ipairs(names) do
    local list = {}
    for i, state in ipairs(states) do list[i] = state[name] end
    local flat = torch.flatten_dense_tensors(list)
    for i, view in ipairs(torch.unflatten_dense_tensors(flat, list)) do states[i][name] = view end
    block[name] = flat
  end
  return block
end

-- Makes a unit of many small parameters.
local function gathered(batch, indices, names)
  local unit = {indices = indices, params = {}, scalars = {}}
  local states = {}
  for k, i in ipairs(indices) do unit.params[k], states[k] = batch.params[i], batch.states[i] end
  local block = merge_states(states, names.tensors)
  for _, name in ipairs(names.scalars) do unit.scalars[name] = Plan.pack(states, name) end
  block.param, block.grad = torch.flatten_dense_tensors(unit.params), torch.flatten_dense_tensors(unit.params)
  unit.param_views = torch.unflatten_dense_tensors(block.param, unit.params)
  unit.grad_views = torch.unflatten_dense_tensors(block.grad, unit.params)
  unit.first, unit.blocks = states[1], {block}
  return unit
end

-- Makes a unit of one parameter; if it has more than `piece` elements, it and its state are cut.
local function single(batch, index, names, piece)
  local state, blocks, can_cut = batch.states[index], {{}}, true
  local unit = {indices = {index}, param = batch.params[index], scalars = {}, first = state, blocks = blocks}
  for _, name in ipairs(names.scalars) do unit.scalars[name] = state[name] end
  for _, name in ipairs(names.tensors) do can_cut = can_cut and state[name]:is_contiguous() end
  can_cut = can_cut and unit.param:is_contiguous() and unit.param:numel() > piece
  unit.piece = can_cut and piece or nil
  for _, name in ipairs(names.tensors) do
    local whole = as_real(state[name], batch.complex)
    for k, part in ipairs(can_cut and whole:view(-1):split(piece) or {whole}) do
      blocks[k] = blocks[k] or {}
      blocks[k][name] = part
    end
  end
  return unit
end

-- Small parameters may share a unit if their scalars are equal.
local function scalars_key(state, names)
  local key = {}
  for i, name in ipairs(names.scalars) do key[i] = ('%.17g'):format(state[name]:item()) end
  return table.concat(key, ' ')
end

local function group_small(batch, names, sizes)
  local order, open = {}, {}
  for i, param in ipairs(batch.params) do
    local size = param:numel()
    if batch.complex or size > sizes.small then
      order[#order + 1] = {i}
    else
      local key = scalars_key(batch.states[i], names)
      local indices = open[key]
      if not indices or indices.size + size > sizes.most then
        indices = {size = 0}
        open[key], order[#order + 1] = indices, indices
      end
      indices[#indices + 1], indices.size = i, indices.size + size
    end
  end
  return order
end

local function prepare(self, group, batch, loose)
  if batch.sparse then
    errors.raise('argument', class.of(self).__name .. ' does not support sparse gradients')
  end
  local names, sizes = self:_names(group), sizes_for(batch.device)
  batch.units = {}
  if loose or group.foreach == false then
    for i in ipairs(batch.params) do batch.units[i] = single(batch, i, names, sizes.piece) end
    return
  end
  for u, indices in ipairs(group_small(batch, names, sizes)) do
    batch.units[u] = #indices > 1 and gathered(batch, indices, names) or single(batch, indices[1], names, sizes.piece)
  end
end

-- Rows of a sharded parameter are updated like any other tensor.
function Elementwise:_prepare(group, batch, loose) shards.with_rows(prepare, self, group, batch, loose) end

local function update_gathered(self, group, unit, grads)
  local own = {}
  for k, index in ipairs(unit.indices) do own[k] = grads[index] end
  torch._foreach_copy_(unit.param_views, unit.params)
  torch._foreach_copy_(unit.grad_views, own)
  self:_update_block(group, unit.blocks[1], self:_advance(group, unit))
  torch._foreach_copy_(unit.params, unit.param_views)
end

local function update_single(self, group, unit, grad, complex)
  local coefficients = self:_advance(group, unit)
  local params, grads = {as_real(unit.param, complex)}, {as_real(grad, complex)}
  if unit.piece then
    -- reshape copies a gradient that is not contiguous.
    params, grads = params[1]:view(-1):split(unit.piece), grads[1]:reshape(-1):split(unit.piece)
  end
  for k, block in ipairs(unit.blocks) do
    block.param, block.grad = params[k], grads[k]
    self:_update_block(group, block, coefficients)
    block.param, block.grad = nil, nil
  end
end

local function update(self, group, batch, grads)
  for _, unit in ipairs(batch.units) do
    if unit.params then
      update_gathered(self, group, unit, grads)
    else
      update_single(self, group, unit, grads[unit.indices[1]], batch.complex)
    end
  end
end

function Elementwise:_update(group, batch, grads) shards.with_rows(update, self, group, batch, grads) end

function Elementwise:_advance(_, unit) unit.scalars.step:add_(1) end

---Counts the step.
---@param unit optim.Unit
---@return integer step number of steps, including this one
function Elementwise.count_step(unit)
  unit.scalars.step:add_(1)
  return unit.first.step:item()
end

---Initializes the count of steps: a tensor on the CPU, as in Python, or next to the parameter if a CUDA graph counts.
---@param state table
---@param param torch.Tensor
function Elementwise:start_step(state, param)
  local device = self._rates and param.device or 'cpu'
  state.step = state.step or Plan.scalar(0)
  if state.step.device ~= device then state.step = state.step:to(device) end
end

---Returns the block's gradient after `maximize` and weight decay.
---@param group table
---@param block table
---@return torch.Tensor grad
---@return boolean is_new whether no other code holds the tensor
function Elementwise.gradient(group, block)
  local grad, decay = block.grad, group.weight_decay or 0
  local negated = group.maximize and grad:neg() or nil
  grad = negated or grad
  if decay == 0 then return grad, negated ~= nil end
  if group.decoupled_weight_decay then
    block.param:mul_(1 - Rates.number(group.lr) * decay)
    return grad, negated ~= nil
  end
  if negated then return negated:add_(block.param, {alpha = decay}), true end
  return grad:add(block.param, {alpha = decay}), true
end

---Frees the memory of temporary tensors at once, so that the next block finds it in the cache.
---@param ... torch.Tensor|false
function Elementwise.release(...)
  for i = 1, select('#', ...) do
    local tensor = (select(i, ...))
    if tensor then tensor:release() end
  end
end

return {Elementwise = Elementwise}
