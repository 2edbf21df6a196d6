-- The random generators of GPUs: the simulated GPUs have real generator states, but their kernels draw no numbers.
local lu = require 'luaunit'
local torch = require 'torch'

local cuda = torch.cuda

TestRandom = {}

function TestRandom:test_seeds()
  torch.manual_seed(11)
  lu.assertEquals(cuda.initial_seed(), 11)
  cuda.manual_seed(12)
  lu.assertEquals(cuda.initial_seed(), 12)
  lu.assertEquals(cuda.device(1, cuda.initial_seed), 11)
  cuda.manual_seed_all(13)
  lu.assertEquals(cuda.device(1, cuda.initial_seed), 13)
  cuda.seed_all()
  lu.assertTrue(cuda.initial_seed() ~= 13)
  lu.assertEquals(cuda.initial_seed(), cuda.device(1, cuda.initial_seed))
  cuda.seed()
  lu.assertTrue(cuda.initial_seed() ~= cuda.device(1, cuda.initial_seed))
  lu.assertErrorMsgContains("seed: expected an integer, got 'x'", cuda.manual_seed, 'x')
end

function TestRandom:test_states_are_those_of_each_device()
  cuda.manual_seed_all(1)
  local states = cuda.get_rng_state_all()
  lu.assertEquals(#states, 2)
  cuda.manual_seed_all(2)
  cuda.set_rng_state(states[1])
  lu.assertEquals(cuda.initial_seed(), 1)
  lu.assertEquals(cuda.device(1, cuda.initial_seed), 2)
  cuda.set_rng_state_all(states)
  lu.assertEquals(cuda.device(1, cuda.initial_seed), 1)
  lu.assertTrue(torch.equal(cuda.get_rng_state 'cuda:1', states[2]))
end

function TestRandom:test_a_generator_of_its_own()
  local generator = torch.Generator('cuda:1'):manual_seed(3)
  lu.assertEquals(generator.device, 'cuda:1')
  lu.assertEquals(generator:initial_seed(), 3)
  local copy = torch.Generator{device = 'cuda'}
  copy:set_state(generator:get_state())
  lu.assertEquals(copy:initial_seed(), 3)
  lu.assertEquals(torch.Generator().device, 'cpu')
  lu.assertErrorMsgContains("'cpu'", torch.rand, 2, {device = 'cuda', generator = torch.Generator()})
end

function TestRandom:test_fork_rng_brings_the_devices_back()
  cuda.manual_seed_all(5)
  torch.random.fork_rng(function() cuda.manual_seed_all(6) end)
  lu.assertEquals(cuda.initial_seed(), 5)
  lu.assertEquals(cuda.device(1, cuda.initial_seed), 5)
end

function TestRandom:test_a_runs_state_has_the_devices()
  local random_state = require 'rtrain.session.random_state'
  torch.manual_seed(7)
  local state = random_state.get()
  torch.manual_seed(8)
  random_state.set(state)
  lu.assertEquals(cuda.initial_seed(), 7)
  random_state.derive(state, 1)
  local derived = cuda.initial_seed()
  lu.assertTrue(derived ~= 7)
  random_state.derive(state, 1)
  lu.assertEquals(cuda.initial_seed(), derived)
end

function TestRandom:test_a_state_of_a_run_without_a_device_gives_the_device_the_same_seed_each_time()
  local random_state = require 'rtrain.session.random_state'
  local state = random_state.get()
  state.cuda = nil
  random_state.set(state)
  local seed = cuda.initial_seed()
  cuda.manual_seed(1)
  random_state.set(state)
  lu.assertEquals(cuda.initial_seed(), seed)
end

os.exit(lu.LuaUnit.run(), true)
