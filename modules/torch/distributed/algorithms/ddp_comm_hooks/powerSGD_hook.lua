-- torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.lua: gradients as products of two small matrices (PowerSGD, Vogels
-- et al. 2019).
--
-- A matrix M of n·m elements is sent as P (n·r) and Q (m·r) with M ≈ P·Qᵀ: P = M·Q is summed over the ranks and
-- orthogonalized, Q = Mᵀ·P is averaged. The error is added to the next step's gradient (error feedback), and Q is the
-- next step's first guess (warm start).

local args = require 'base.args'
local class = require 'base.class'
local collectives = require 'torch.distributed.collectives'
local default_hooks = require 'torch.distributed.algorithms.ddp_comm_hooks.default_hooks'
local errors = require 'base.errors'
local groups = require 'torch.distributed.groups'
local random = require 'torch.random'
local torch = require 'torch'

local powerSGD_hook = {}

local SIGNATURE = args.signature('PowerSGDState', {
  {'process_group'}, {'matrix_approximation_rank', 1}, {'start_powerSGD_iter', 1000}, {'min_compression_rate', 2},
  {'use_error_feedback', true}, {'warm_start', true}, {'orthogonalization_epsilon', 0}, {'random_seed', 0},
  {'compression_stats_logging_frequency', 10000}, {'batch_tensors_with_same_shape', false}})

---The state of PowerSGD between steps, and its settings. Arguments: process_group (nil: all ranks),
---matrix_approximation_rank (1; a larger rank is more exact and sends more), start_powerSGD_iter (1000: number of first
---steps with plain all_reduce), min_compression_rate (2: a matrix that would shrink by less is sent uncompressed),
---use_error_feedback (true), warm_start (true), orthogonalization_epsilon (0; 1e-8 where columns may be zero),
---random_seed (0), batch_tensors_with_same_shape (false), compression_stats_logging_frequency (no effect: see
---compression_stats()).
---Raises code 'argument' for start_powerSGD_iter below 2 with error feedback or warm start: buckets change in the first steps.
---All ranks must count the same steps: when a process replaces a lost rank (train.elastic), or a run continues from a
---checkpoint, each rank loads a state_dict of the same step. PyTorch equivalent: PowerSGDState, which draws the same
---random numbers.
---
---```lua
---local torch = require 'torch'
---local dist = require 'torch.distributed'
---local powerSGD = dist.algorithms.ddp_comm_hooks.powerSGD_hook
---dist.init_process_group('gloo', {rank = 0, world_size = 1})
---local layer = torch.nn.Linear(64, 64)
---local model = torch.nn.parallel.DistributedDataParallel(layer)
---local state = powerSGD.PowerSGDState(nil, {matrix_approximation_rank = 2, start_powerSGD_iter = 2})
---model:register_comm_hook(state, powerSGD.powerSGD_hook)
---for _ = 1, 4 do model(torch.ones(1, 64)):sum():backward() end
---assert(state.iter == 4 and state:compression_stats() > 10)
---dist.destroy_process_group()
---```
---@class PowerSGDState
---@field iter integer steps so far
local PowerSGDState = class('PowerSGDState')

local function check_number(p, name, least)
  local value = p[name]
  if type(value) == 'number' and value >= least then return end
  errors.raise('argument', ('PowerSGDState: %s = %s: expected a number of at least %s'):format(name, tostring(value), least))
end

function PowerSGDState:init(...)
  local p = SIGNATURE:bind(...)
  check_number(p, 'matrix_approximation_rank', 1)
  check_number(p, 'start_powerSGD_iter', 0)
  check_number(p, 'min_compression_rate', 0)
  check_number(p, 'random_seed', 0)
  if (p.use_error_feedback or p.warm_start) and p.start_powerSGD_iter <= 1 then
    errors.raise('argument', ('PowerSGDState: start_powerSGD_iter = %s: expected at least 2 with use_error_feedback or '
      .. 'warm_start: the buckets of DistributedDataParallel change after the first step'):format(
      tostring(p.start_powerSGD_iter)))
  end
  for _, name in ipairs(SIGNATURE.names) do self[name] = p[name] end
  self.rng = torch.Generator():manual_seed(p.random_seed)
  self.error_dict, self.p_memory_dict, self.q_memory_dict = {}, {}, {}  -- keys: index of the bucket
  self.iter = 0
  self.total_numel_before_compression, self.total_numel_after_compression = 0, 0
end

---Counts a step, when called with its last bucket.
---@param bucket GradBucket
function PowerSGDState:maybe_increase_iter(bucket)
  if bucket:is_last() then self.iter = self.iter + 1 end
end

---@return number compress_rate elements before compression by elements after it; 0 before anything was compressed
---@return integer numel_before_compression
---@return integer numel_after_compression
function PowerSGDState:compression_stats()
  local before, after = self.total_numel_before_compression, self.total_numel_after_compression
  return after > 0 and before / after or 0, before, after
end

local KEPT = {'error_dict', 'p_memory_dict', 'q_memory_dict'}
local COUNTS = {'iter', 'total_numel_before_compression', 'total_numel_after_compression'}

---Returns the state for a checkpoint. Each rank has its own errors, so each rank saves its own state. (PyTorch pickles
---the object.)
---@return table state_dict tensors and numbers
function PowerSGDState:state_dict()
  local out = {rng = self.rng:get_state()}
  for _, name in ipairs(COUNTS) do out[name] = self[name] end
  for _, name in ipairs(KEPT) do
    out[name] = {}
    for index, tensor in next, self[name] do out[name][tostring(index)] = tensor end
  end
  return out
end

---Continues from a result of state_dict.
---@param state_dict table
function PowerSGDState:load_state_dict(state_dict)
  self.rng:set_state(state_dict.rng)
  for _, name in ipairs(COUNTS) do self[name] = state_dict[name] end
  for _, name in ipairs(KEPT) do
    self[name] = {}
    for index, tensor in next, state_dict[name] do self[name][tonumber(index)] = tensor end
  end
end

powerSGD_hook.PowerSGDState = PowerSGDState

-- Computes numpy's RandomState(seed).randint(1_000_000_000): draws the lower 30 of 32 bits until they are below the
-- limit.
local SEEDS = 1000000000
local function next_seed(rng)
  local word = torch.empty(1, {dtype = torch.int32})
  repeat
    local value = bit.band(word:random_({generator = rng}):item(), 0x3fffffff)
    if value < SEEDS then return value end
  until false
end

-- Calls the function with a separately seeded generator, the same on every rank.
local function with_next_seed(state, fn)
  return random.fork_rng(function()
    torch.manual_seed(next_seed(state.rng))
    return fn()
  end, {devices = {}})
end

local function gram_schmidt(matrices, epsilon)
  local num_cols = matrices:size(2)
  for i = 0, num_cols - 1 do
    local col = matrices:narrow(2, i, 1)
    local norm = torch.linalg.vector_norm(col, 2, {dim = 1, keepdim = true})
    col:div_(epsilon == 0 and norm or norm + epsilon)
    if i + 1 < num_cols then
      local rest = matrices:narrow(2, i + 1, num_cols - i - 1)
      rest:sub_(torch.sum(col * rest, {dim = 1, keepdim = true}) * col)
    end
  end
end

-- Orthogonalizes the columns of each matrix of a batch, in place.
local function orthogonalize(matrices, epsilon)
  local dtype = matrices.dtype
  if matrices:size(2) <= 2 or dtype == torch.float16 or dtype == torch.bfloat16 then return gram_schmidt(matrices, epsilon) end
  matrices:copy_((torch.linalg.qr(matrices)))
end

local function all_reduce(tensor, group)
  return collectives.all_reduce(tensor, {group = group, async_op = true}):get_future()
end

-- Returns a Future of the plain mean before PowerSGD starts.
local function before_start(state, bucket)
  if state.iter >= state.start_powerSGD_iter then return nil end
  state:maybe_increase_iter(bucket)
  return default_hooks._allreduce_fut(state.process_group, bucket:buffer())
end

-- Adds the last step's error to the input. Returns a copy of the sum, to be compared with the compressed result.
local function with_error(state, index, input)
  if not state.use_error_feedback then return nil end
  local err = state.error_dict[index]
  if err then
    if err:numel() ~= input:numel() then
      errors.raise('argument', ('PowerSGDState: bucket %d has %d elements, and had %d before: a model has a state of its '
        .. 'own'):format(index, input:numel(), err:numel()))
    end
    input:add_(err)
  end
  return input:detach():clone()
end

-- Step I of the paper's code: separates the tensors to compress, as matrices, from the others.
local function divide(state, bucket)
  local matrices, others, num_p, num_q = {}, {}, 0, 0
  for _, tensor in ipairs(bucket:gradients()) do
    local matrix = tensor:dim() == 0 and tensor:view(1, 1) or tensor:view(tensor:size(0), -1)
    local n, m = matrix:size(0), matrix:size(1)
    local rank = math.min(n, m, state.matrix_approximation_rank)
    local compressed = (n + m) * rank
    state.total_numel_before_compression = state.total_numel_before_compression + n * m
    if compressed * state.min_compression_rate < n * m then
      matrices[#matrices + 1] = matrix
      num_p, num_q = num_p + n * rank, num_q + m * rank
      state.total_numel_after_compression = state.total_numel_after_compression + compressed
    else
      others[#others + 1] = tensor
      state.total_numel_after_compression = state.total_numel_after_compression + n * m
    end
  end
  return matrices, others, num_p, num_q
end

-- Returns lists of matrices of one shape, in the order of their first matrix.
local function by_shape(matrices)
  local lists, list_of = {}, {}
  for _, matrix in ipairs(matrices) do
    local key = matrix:size(0) .. 'x' .. matrix:size(1)
    if not list_of[key] then
      list_of[key] = {}
      lists[#lists + 1] = list_of[key]
    end
    table.insert(list_of[key], matrix)
  end
  return lists
end

-- Returns {tensor (batch, n, m), originals}: batches that are compressed together.
local function batches_of(state, matrices)
  local batches = {}
  for _, list in ipairs(by_shape(matrices)) do
    if state.batch_tensors_with_same_shape and #list > 1 then
      batches[#batches + 1] = {tensor = torch.stack(list), originals = list}
    else
      for _, matrix in ipairs(list) do batches[#batches + 1] = {tensor = matrix:unsqueeze(0)} end
    end
  end
  return batches
end

-- Gives each batch its P and Q, which are parts of the bucket's two memories.
local function add_parts(state, batches, ps, qs)
  local p_begin, q_begin = 0, 0
  for _, batch in ipairs(batches) do
    local count, n, m = unpack(batch.tensor:size())
    local rank = math.min(n, m, state.matrix_approximation_rank)
    batch.p = ps:narrow(0, p_begin, count * n * rank):view(count, n, rank)
    batch.q = qs:narrow(0, q_begin, count * m * rank):view(count, m, rank)
    p_begin, q_begin = p_begin + count * n * rank, q_begin + count * m * rank
  end
end

-- Returns the bucket's memories, and whether Q is still empty.
local function memories(state, index, num_p, num_q, like)
  local is_new = not state.warm_start or state.p_memory_dict[index] == nil
  if is_new then
    local options = {device = like.device, dtype = like.dtype}
    state.p_memory_dict[index], state.q_memory_dict[index] = torch.empty(num_p, options), torch.empty(num_q, options)
  end
  return state.p_memory_dict[index], state.q_memory_dict[index], is_new
end

local function fill_qs(state, batches)
  with_next_seed(state, function()
    for _, batch in ipairs(batches) do
      batch.q:copy_(torch.randn(batch.q:size(), {device = 'cpu', dtype = batch.q.dtype}))
      orthogonalize(batch.q, state.orthogonalization_epsilon)
    end
  end)
end

-- Runs after the last collective of a bucket.
local function finish(state, bucket, input, before)
  local index = bucket:index()
  if before then state.error_dict[index] = before - input end
  if not state.warm_start then state.p_memory_dict[index], state.q_memory_dict[index] = nil, nil end
  state:maybe_increase_iter(bucket)
  return input
end

local function unpack_others(others, memory)
  local begin = 0
  for _, tensor in ipairs(others) do
    tensor:copy_(memory:narrow(0, begin, tensor:numel()):view_as(tensor))
    begin = begin + tensor:numel()
  end
end

local function decompress(batches)
  for _, batch in ipairs(batches) do
    torch.bmm(batch.p, batch.q:transpose(1, 2), {out = batch.tensor})
    for i, original in ipairs(batch.originals or {}) do original:copy_(batch.tensor[i - 1]) end
  end
end

---PowerSGD, layer by layer: matrices are compressed, vectors are sent uncompressed.
---PyTorch equivalent: powerSGD_hook.powerSGD_hook.
---@param state PowerSGDState
---@param bucket GradBucket
---@return Future
function powerSGD_hook.powerSGD_hook(state, bucket)
  local plain = before_start(state, bucket)
  if plain then return plain end
  local group, index, input = state.process_group, bucket:index(), bucket:buffer()
  local world_size = groups.get_world_size(group)
  local before = with_error(state, index, input)
  local matrices, others, num_p, num_q = divide(state, bucket)
  local flat = {}
  for i, tensor in ipairs(others) do flat[i] = tensor:reshape(-1) end
  local others_memory = #flat > 0 and torch.cat(flat) or input:new_empty{0}
  local ps, qs, is_new = memories(state, index, num_p, num_q, input)
  local batches = batches_of(state, matrices)
  add_parts(state, batches, ps, qs)
  if is_new then
    fill_qs(state, batches)
  else
    for _, batch in ipairs(batches) do orthogonalize(batch.q, state.orthogonalization_epsilon) end
  end
  for _, batch in ipairs(batches) do torch.bmm(batch.tensor, batch.q, {out = batch.p}) end
  return all_reduce(others_memory, group):then_(function(fut)
    unpack_others(others, fut:value()[1]:div_(world_size))
    return all_reduce(ps, group):wait()
  end):then_(function(fut)
    fut:value()
    for _, batch in ipairs(batches) do orthogonalize(batch.p, state.orthogonalization_epsilon) end
    for _, batch in ipairs(batches) do torch.bmm(batch.tensor:transpose(1, 2), batch.p, {out = batch.q}) end
    return all_reduce(qs, group):wait()
  end):then_(function(fut)
    fut:value()
    qs:div_(world_size)
    decompress(batches)
    return finish(state, bucket, input, before)
  end)
end

---PowerSGD of each whole bucket as one square matrix: faster, and less exact. PyTorch equivalent:
---powerSGD_hook.batched_powerSGD_hook.
---@param state PowerSGDState
---@param bucket GradBucket
---@return Future
function powerSGD_hook.batched_powerSGD_hook(state, bucket)
  local plain = before_start(state, bucket)
  if plain then return plain end
  local group, index, buffer = state.process_group, bucket:index(), bucket:buffer()
  local world_size, length = groups.get_world_size(group), buffer:numel()
  local side = math.ceil(math.sqrt(length))
  state.total_numel_before_compression = state.total_numel_before_compression + length
  state.total_numel_after_compression = state.total_numel_after_compression + side * state.matrix_approximation_rank * 2
  local padded = buffer:new_zeros{side * side}
  padded:narrow(0, 0, length):copy_(buffer)
  local before = with_error(state, index, padded)
  local matrix, rank = padded:view(side, side), state.matrix_approximation_rank
  local ps, qs, is_new = memories(state, index, side * rank, side * rank, buffer)
  local p, q = ps:view(1, side, rank), qs:view(1, side, rank)
  if is_new then
    with_next_seed(state, function() q:copy_(torch.randn(1, side, rank, {device = 'cpu', dtype = q.dtype})) end)
  end
  orthogonalize(q, 0)
  torch.matmul(matrix, q[0], {out = p[0]})
  return all_reduce(ps, group):then_(function(fut)
    fut:value()
    orthogonalize(p, 0)
    torch.matmul(matrix:t(), p[0], {out = q[0]})
    return all_reduce(qs, group):wait()
  end):then_(function(fut)
    fut:value()
    qs:div_(world_size)
    torch.matmul(p[0], q[0]:t(), {out = matrix})
    finish(state, bucket, padded, before)
    return buffer:copy_(padded:narrow(0, 0, length))
  end)
end

return require 'base.namespace'('torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook', nil, powerSGD_hook)
