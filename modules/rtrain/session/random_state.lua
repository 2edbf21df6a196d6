-- rtrain/session/random_state.lua: the random generators of a process: torch's default ones, of the CPU and of the GPU that it
-- works on, and Lua's math.random.

local ffi = require 'ffi'
local seeds = require 'base.seed'
local torch = require 'torch'

local random_state = {}

local WORDS = 4

-- LuaJIT keeps the generator of math.random in a userdata that its C functions share: four words first.
local function lua_words()
  local name, state = debug.getupvalue(math.random, 1)
  if name == nil or type(state) ~= 'userdata' then return nil end
  return ffi.cast('int64_t*', state)
end

local function copied(words)
  local values = {}
  for i = 1, WORDS do values[i] = words[i - 1] end
  return values
end

local function put(words, values)
  for i = 1, WORDS do words[i - 1] = values[i] end
end

local function same(words, values)
  for i = 1, WORDS do
    if words[i - 1] ~= values[i] then return false end
  end
  return true
end

-- The words hold nothing until the first number is drawn. A generator that draws the same after it was put back was in use:
-- it is left as it was found.
local function lua_state()
  local words = lua_words()
  if not words then return nil end
  local found = copied(words)
  math.random()
  local drawn = copied(words)
  put(words, found)
  math.random()
  local was_used = same(words, drawn)
  put(words, was_used and found or drawn)
  return torch.tensor(was_used and found or drawn, {dtype = 'int64'})
end

local function set_lua_state(state)
  local words = lua_words()
  if not words or not state then return end
  math.random()  -- else its first number would seed it
  local values = {}
  for i = 1, WORDS do values[i] = ffi.cast('int64_t', state[i - 1]:item()) end
  put(words, values)
end

local function cuda_state() return torch.cuda.is_available() and torch.cuda.get_rng_state() or nil end

-- Where the state was taken without a GPU, the one that is here now goes on from the CPU's.
local function set_cuda_state(state)
  if not torch.cuda.is_available() then return end
  if state then return torch.cuda.set_rng_state(state) end
  torch.cuda.manual_seed(torch.random.fork_rng(function() return torch.randint(0, 2 ^ 48, {}):item() end))
end

---All of them, as plain data.
---@return {torch: torch.Tensor, lua: torch.Tensor?, cuda: torch.Tensor?} state
function random_state.get() return {lua = lua_state(), torch = torch.get_rng_state(), cuda = cuda_state()} end

---Puts all of them back where get() found them.
---@param state table
function random_state.set(state)
  torch.set_rng_state(state.torch)
  set_lua_state(state.lua)
  set_cuda_state(state.cuda)
end

---Generators of a rank that the state was not taken on: its own, and the same whenever it goes on from there.
---@param state table of another rank
---@param rank integer
function random_state.derive(state, rank)
  random_state.set(state)
  local drawn = torch.randint(0, 2 ^ 48, {}):item()
  local seed = seeds.of(drawn, rank)
  torch.manual_seed(seed)
  math.randomseed(seed)
end

return random_state
