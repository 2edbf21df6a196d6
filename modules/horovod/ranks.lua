-- horovod/ranks.lua: the rank of this process, and the numbers of ranks.

local default_group = require 'torch.distributed.default_group'
local dist = require 'torch.distributed'
local errors = require 'base.errors'
local session = require 'rtrain.session'

local ranks = {}

local is_begun = false

---Initializes Horovod: in a train function it forms the process group. Elsewhere this process is the only rank.
function ranks.init()
  if session.peek() then
    -- A rank that replaces a lost rank synchronizes with the others in elastic.run.
    if not session.is_joining() then default_group.ensure() end
  elseif not dist.is_initialized() then
    dist.init_process_group('gloo', {rank = 0, world_size = 1})
  end
  is_begun = true
end

---Shuts Horovod down. The trainer destroys the process group.
function ranks.shutdown() is_begun = false end

---@return boolean
function ranks.is_initialized() return is_begun end

-- Raises an error before init(), as Horovod does.
function ranks._check()
  if not is_begun then errors.raise('user', 'Horovod has not been initialized: call hvd.init() first') end
end

-- Returns a field of the worker's context; outside a run there is a single rank.
local function of_context(name, alone)
  ranks._check()
  local state = session.peek()
  if state then return state.context[name] end
  return alone
end

---@return integer rank from 0
function ranks.rank() return of_context('world_rank', 0) end

---@return integer number of ranks
function ranks.size() return of_context('world_size', 1) end

---@return integer rank among those of this node, from 0
function ranks.local_rank() return of_context('local_rank', 0) end

---@return integer number of ranks on this node
function ranks.local_size() return of_context('local_world_size', 1) end

---@return integer number of this node, from 0
function ranks.cross_rank() return of_context('node_rank', 0) end

---@return integer number of nodes, if all have as many ranks as this one
function ranks.cross_size() return math.ceil(ranks.size() / ranks.local_size()) end

---@return boolean whether each node has as many ranks as this one, judged by the numbers of ranks
function ranks.is_homogeneous() return ranks.size() % ranks.local_size() == 0 end

---@return boolean
function ranks.mpi_threads_supported()
  ranks._check()
  return false
end

---@return boolean always false: no collective goes over MPI
function ranks.mpi_enabled() return false end

---@return boolean always false
function ranks.mpi_built() return false end

---@return boolean always true
function ranks.gloo_enabled() return true end

---@return boolean always true
function ranks.gloo_built() return true end

---@return boolean always false
function ranks.ddl_built() return false end

---@return boolean always false
function ranks.ccl_built() return false end

---@return boolean always false
function ranks.rocm_built() return false end

---@return boolean whether CUDA tensors can be sent over NCCL
function ranks.nccl_built() return dist.is_nccl_available() end

---@return boolean whether there is a CUDA device
function ranks.cuda_built() return require('torch').cuda.is_available() end

return ranks
