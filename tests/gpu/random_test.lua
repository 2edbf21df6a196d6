-- The generators of a real GPU: equal seeds and states give equal numbers. gpu: at most 60 s
local lu = require 'luaunit'
local torch = require 'torch'

local cuda = torch.cuda

local function draw(options)
  options = options or {}
  options.device = 'cuda'
  return torch.rand(1000, options)
end

TestRandom = {}

function TestRandom:test_a_seed_gives_the_same_numbers()
  torch.manual_seed(3)
  local first = draw()
  lu.assertFalse(torch.equal(first, draw()))
  torch.manual_seed(3)
  lu.assertTrue(torch.equal(first, draw()))
  cuda.manual_seed(3)
  lu.assertTrue(torch.equal(first, draw()))
end

function TestRandom:test_a_state_goes_on_where_it_was_taken()
  draw()
  local state = cuda.get_rng_state()
  local first = draw()
  cuda.set_rng_state(state)
  lu.assertTrue(torch.equal(first, draw()))
end

function TestRandom:test_a_generator_of_its_own()
  local one, other = torch.Generator('cuda'):manual_seed(5), torch.Generator('cuda'):manual_seed(5)
  local before = cuda.get_rng_state()
  lu.assertTrue(torch.equal(draw{generator = one}, draw{generator = other}))
  lu.assertTrue(torch.equal(before, cuda.get_rng_state()))
end

function TestRandom:test_the_state_of_a_run_has_the_device()
  local random_state = require 'rtrain.session.random_state'
  draw()
  local state = random_state.get()
  local first = draw()
  random_state.set(state)
  lu.assertTrue(torch.equal(first, draw()))
end

function TestRandom:test_fork_rng()
  local state = cuda.get_rng_state()
  torch.random.fork_rng(function() draw() end)
  lu.assertTrue(torch.equal(state, cuda.get_rng_state()))
end

os.exit(lu.LuaUnit.run(), true)
