-- rtrain/session/random_state.lua: the random generators of a process: torch's default generators of the CPU and of its
-- GPU, and Lua's math.random.

local ffi = require 'ffi'
local seeds = require 'base.seed'
local torch = require 'torch'

local random_state = {}

local WORDS = 4

-- LuaJIT stores the generator of math.random in a userdata that its C functions share; it begins with four words.
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

-- The words are invalid until the first number is drawn. A generator that repeats its numbers after a restore was in
-- use; it is left in its original state.
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
  math.random()  -- otherwise its first number would seed it
  local values = {}
  for i = 1, WORDS do values[i] = ffi.cast('int64_t', state[i - 1]:item()) end
  put(words, values)
end

local function cuda_state() return torch.cuda.is_available() and torch.cuda.get_rng_state() or nil end

-- If the state was saved without a GPU, the GPU's generator is seeded from the CPU's.
local function set_cuda_state(state)
  if not torch.cuda.is_available() then return end
  if state then return torch.cuda.set_rng_state(state) end
  torch.cuda.manual_seed(torch.random.fork_rng(function() return torch.randint(0, 2 ^ 48, {}):item() end))
end

-- The state that is put aside, if there is one.
local aside

---Returns the state of all generators as plain data.
---@return {torch: torch.Tensor, lua: torch.Tensor?, cuda: torch.Tensor?} state
function random_state.get()
  return aside or {lua = lua_state(), torch = torch.get_rng_state(), cuda = cuda_state()}
end

---Restores the state of all generators.
---@param state table
function random_state.set(state)
  torch.set_rng_state(state.torch)
  set_lua_state(state.lua)
  set_cuda_state(state.cuda)
end

---Puts the state aside: until end_aside the generators may be seeded for something else, and `get` returns that state.
function random_state.begin_aside() aside = random_state.get() end

---Restores the state that was put aside.
function random_state.end_aside()
  local state = aside
  aside = nil
  if state then random_state.set(state) end
end

---Seeds the generators of a rank that has no saved state: different from other ranks, but reproducible.
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
