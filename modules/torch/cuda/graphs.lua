-- torch/cuda/graphs.lua: torch.cuda.CUDAGraph: work of a stream that is captured once and replayed as a whole, without
-- the cost of launching each kernel. train.graph does all of it for a training step.

local args = require 'base.args'
local capture = require 'torch.cuda.capture'
local class = require 'base.class'
local engine = require 'torch.cuda.engine'
local errors = require 'base.errors'

local graphs = {}

local MODES = {'global', 'thread_local', 'relaxed'}

local function functions(name) return engine.functions(name, 'cuda_graphs') end

-- The result of graph_pool_handle and CUDAGraph:pool.
local Pool = class '_POOL_HANDLE'

local function pool_of(first, second)
  local pool = setmetatable({}, Pool)
  pool.first, pool.second = first, second
  return pool
end

function Pool.__eq(a, b) return a.first == b.first and a.second == b.second end

function Pool:__tostring() return ('torch.cuda._POOL_HANDLE(%d, %d)'):format(self.first, self.second) end

local function check_pool(name, pool)
  if pool ~= nil and not class.is(pool, Pool) then
    errors.raise('argument', ('torch.cuda.%s: pool: expected what graph_pool_handle() or CUDAGraph:pool() gave, got %s')
      :format(name, type(pool)))
  end
  return pool
end

---Returns memory that several graphs may share. This is safe if they are replayed in the order of their captures, and
---the outputs of a graph are not read after the next graph's replay. PyTorch equivalent: torch.cuda.graph_pool_handle.
---@return table pool for torch.cuda.graph{pool = …}
function graphs.graph_pool_handle() return pool_of(functions('graph_pool_handle').graph_pool_handle()) end

---Returns whether the current stream's work is being captured; false without a device.
---@return boolean
---
---```lua
---local torch = require 'torch'
---assert(not torch.cuda.is_current_stream_capturing())
---```
function graphs.is_current_stream_capturing()
  if engine.support() == 0 then return false end
  return functions('is_current_stream_capturing').is_current_stream_capturing()
end

---A CUDA graph. torch.cuda.graph(g, fn) captures the work that fn gives to the device; g:replay() launches all of it
---again: the same kernels on the same memory. Tensors that fn reads must exist before, with the same shapes; copy new
---numbers into them. Tensors that fn makes are in the graph's memory and are overwritten by each replay. replay()
---copies the learning rates of captured optimizers to the device. PyTorch equivalent: torch.cuda.CUDAGraph. Arguments:
---keep_graph = false (true: the first replay() instantiates it, and debug_dump can be called before).
---
---```lua
---local torch = require 'torch'
---if torch.cuda.is_available() then
---  local x = torch.ones(4):to('cuda')
---  local graph, y = torch.cuda.CUDAGraph(), nil
---  torch.cuda.graph(graph, function() y = x:clone() end)
---  x:copy_(torch.full({4}, 7))
---  graph:replay()
---  assert(y:cpu()[0]:item() == 7)
---end
---```
---@class torch.cuda.CUDAGraph
---@overload fun(keep_graph?: boolean): torch.cuda.CUDAGraph
local CUDAGraph = class 'CUDAGraph'
graphs.CUDAGraph = CUDAGraph

local signature = args.signature('torch.cuda.CUDAGraph', {{'keep_graph', false}})

function CUDAGraph:init(...)
  local a = signature:bind(...)
  if type(a.keep_graph) ~= 'boolean' then
    errors.raise('argument', ('torch.cuda.CUDAGraph: keep_graph is true or false, got %s'):format(tostring(a.keep_graph)))
  end
  self._graph, self._capture = functions('CUDAGraph').new(a.keep_graph), capture.Capture()
end

local function check_captured(self, name)
  if not self._is_captured then
    errors.raise('argument', ('torch.cuda.CUDAGraph.%s: nothing was captured yet: torch.cuda.graph(g, fn) does it')
      :format(name))
  end
end

---Begins to capture the work of the current stream, which must not be the default stream; torch.cuda.graph calls it.
---@param options? {pool: table, capture_error_mode: 'global'|'thread_local'|'relaxed'} capture_error_mode: which unsafe
---  CUDA calls raise an error during the capture: 'global' (default) all, 'thread_local' those of this thread,
---  'relaxed' none
function CUDAGraph:capture_begin(options)
  options = args.options(options, {'pool', 'capture_error_mode'}, 'torch.cuda.CUDAGraph.capture_begin')
  if capture.is_capturing() then errors.raise('argument', 'torch.cuda.CUDAGraph.capture_begin: a capture is underway') end
  local mode = options.capture_error_mode or 'global'
  args.one_of('torch.cuda.CUDAGraph.capture_begin: capture_error_mode', mode, MODES)
  local pool = check_pool('CUDAGraph.capture_begin', options.pool)
  self._is_captured = false
  self._graph:capture_begin(mode, pool and pool.first, pool and pool.second)
  self._before, self._capture.is_capturing = capture.current, true
  capture.current = self._capture
end

---Ends the capture, on the stream where it began. Raises an error if the work cannot be a graph.
function CUDAGraph:capture_end()
  if capture.current == self._capture then capture.current = self._before end
  self._before, self._capture.is_capturing = nil, false
  self._graph:capture_end()
  self._capture:settle()
  self._is_captured, capture.has_graphs = true, true
end

---Makes the captured graph executable, for keep_graph = true; otherwise replay() does it.
function CUDAGraph:instantiate() self._graph:instantiate() end

---Launches the captured work on the current stream. Raises code 'argument' if an optimizer in the graph has other
---options or other groups than at the capture, or has loaded a state since.
function CUDAGraph:replay()
  check_captured(self, 'replay')
  local change = self._capture:change()
  if change then
    errors.raise('argument', ('torch.cuda.CUDAGraph.replay: the graph would go on as captured, but %s: capture it again')
      :format(change))
  end
  self._capture:write_rates()
  self._graph:replay()
end

---Drops the captured work. Tensors made in the capture stay readable.
function CUDAGraph:reset()
  self._is_captured, self._capture = false, capture.Capture()
  self._graph:reset()
end

---Returns the memory of the graph, which other graphs may share.
---@return table pool
function CUDAGraph:pool() return pool_of(self._graph:pool()) end

---Keeps the data for debug_dump; call it before the capture.
function CUDAGraph:enable_debug_mode() self._graph:enable_debug_mode() end

---Writes the graph for Graphviz. Needs enable_debug_mode() before the capture.
---@param debug_path string
function CUDAGraph:debug_dump(debug_path)
  check_captured(self, 'debug_dump')
  self._graph:debug_dump(debug_path)
end

---Makes each replay draw new random numbers from this generator; the default generator needs no such call.
---@param generator userdata of the GPU; call it before the capture
function CUDAGraph:register_generator_state(generator) self._graph:register_generator_state(generator) end

function CUDAGraph:__tostring() return ('torch.cuda.CUDAGraph(%s)'):format(self._is_captured and 'captured' or 'empty') end

-- One side stream for each device, as in PyTorch: captures that share a pool then share its free memory too.
local default_streams = {}

local function default_stream()
  local cuda = require 'torch.cuda'
  local device = cuda.current_device()
  default_streams[device] = default_streams[device] or cuda.Stream()
  return default_streams[device]
end

local function joined(current, side, ok, ...)
  current:wait_stream(side)
  if not ok then error((...), 0) end
  return ...
end

---Calls fn(…) on the side stream that captures use. It runs after earlier work of the current stream, and before later
---work of the current stream.
---@param fn function
---@param ... any
---@return any ... the results of fn
function graphs._on_side_stream(fn, ...)
  local cuda = require 'torch.cuda'
  local side, current = default_stream(), cuda.current_stream()
  side:wait_stream(current)
  return joined(current, side, xpcall(cuda.stream, errors.wrap, side, fn, ...))
end

local function packed(...) return {n = select('#', ...), ...} end

-- Captures on the current stream. The capture is ended in any case, and an error of the function takes precedence.
local function captured(graph, options, fn, ...)
  graph:capture_begin(options)
  local results = packed(xpcall(fn, errors.wrap, ...))
  local is_ended, err = xpcall(graph.capture_end, errors.wrap, graph)
  if not results[1] then
    graph:reset()
    error(results[2], 0)
  end
  if not is_ended then error(err, 0) end
  return unpack(results, 2, results.n)
end

-- Frees as much memory as possible: the graph keeps its memory for its whole life. Nothing may be freed during the
-- capture.
local function make_room(cuda)
  cuda.synchronize()
  collectgarbage()
  collectgarbage()
  cuda.empty_cache()
end

local function split_options(first, ...)
  if type(first) ~= 'table' then return {}, first, ... end
  return args.options(first, {'pool', 'stream', 'capture_error_mode'}, 'torch.cuda.graph'), ...
end

local function run(C, cuda_graph, options, fn, ...)
  if type(fn) ~= 'function' then errors.raise('argument', 'torch.cuda.graph: expected a function, got ' .. type(fn)) end
  local cuda = require 'torch.cuda'
  make_room(cuda)
  return cuda.stream(options.stream or default_stream(), C.without_collector, captured, cuda_graph,
    {pool = options.pool, capture_error_mode = options.capture_error_mode}, fn, ...)
end

---Captures the work that the function gives to the device; the device executes none of it before graph:replay(). Lua
---collects no garbage in the meantime. Run the same work a few times before, on a side stream: libraries set up their
---state in their first calls, which cannot be captured. PyTorch equivalent: the context manager torch.cuda.graph.
---@param cuda_graph torch.cuda.CUDAGraph
---@param ... any optional {pool, stream, capture_error_mode}, then the function and its arguments
---@return any ... the results of the function
function graphs.graph(cuda_graph, ...)
  local C = functions 'graph'
  if not class.is(cuda_graph, CUDAGraph) then
    errors.raise('argument', 'torch.cuda.graph: expected a torch.cuda.CUDAGraph, got ' .. type(cuda_graph))
  end
  return run(C, cuda_graph, split_options(...))
end

return graphs
