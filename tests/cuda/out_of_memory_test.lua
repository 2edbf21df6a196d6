-- Out of memory on a GPU: garbage is collected and the operator is repeated; if that fails, the error says where the
-- memory is. The device of this file has 1 GiB (see limited_memory below). gpu: alone
local lu = require 'luaunit'
local torch = require 'torch'

local cuda = torch.cuda
local MIB = 2 ^ 20

local function bytes(size) return torch.empty(size, {dtype = 'uint8', device = 'cuda'}) end

-- Limits the process to 1 GiB of the device.
local function limited_memory()
  local _, total = cuda.mem_get_info()
  cuda.set_per_process_memory_fraction(1024 * MIB / total)
end

local function error_of(fn, ...)
  local ok, err = pcall(fn, ...)
  lu.assertFalse(ok)
  lu.assertEquals(err.code, 'out_of_memory')
  return err.message
end

TestOutOfMemory = {}

function TestOutOfMemory:setUp()
  limited_memory()
  cuda.empty_cache()
end

function TestOutOfMemory:tearDown() collectgarbage 'restart' end

function TestOutOfMemory:test_garbage_is_collected_as_tensors_are_made()
  for _ = 1, 200 do bytes(64 * MIB) end
  lu.assertTrue(cuda.memory_allocated() <= 1024 * MIB)
end

-- Fills nine tenths of the memory with garbage while the collector is stopped.
local function fill_with_garbage()
  collectgarbage 'stop'
  require('torch._C').cuda_graphs.without_collector(function()
    while cuda.memory_allocated() < 900 * MIB do bytes(20 * MIB) end
  end)
  return cuda.memory_stats().num_ooms
end

function TestOutOfMemory:test_an_operator_is_tried_again_when_garbage_was_collected()
  local before = fill_with_garbage()
  lu.assertEquals(bytes(600 * MIB):numel(), 600 * MIB)
  lu.assertEquals(cuda.memory_stats().num_ooms, before + 1)
end

function TestOutOfMemory:test_copies_and_tensors_are_tried_again_too()
  fill_with_garbage()
  lu.assertEquals(torch.empty(600 * MIB, {dtype = 'uint8'}):to('cuda'):numel(), 600 * MIB)
  fill_with_garbage()
  lu.assertEquals(torch.empty(600 * MIB, {dtype = 'uint8'}):cuda():numel(), 600 * MIB)
  collectgarbage()
  local x = torch.empty(75 * MIB, {device = 'cuda'})
  fill_with_garbage()
  lu.assertEquals((x + x):numel(), 75 * MIB)
end

-- The operator writes into its argument, so it is not repeated: the allocator itself has garbage collected.
function TestOutOfMemory:test_an_operator_in_place_has_garbage_collected_in_the_allocator()
  local out = torch.empty(0, {dtype = 'uint8', device = 'cuda'})
  local before = fill_with_garbage()
  out:resize_(600 * MIB)
  lu.assertEquals(cuda.memory_stats().num_ooms, before)
end

function TestOutOfMemory:test_backward_has_garbage_collected_in_the_allocator()
  local x = torch.empty(40 * MIB, {device = 'cuda', requires_grad = true})
  local loss = x:sum()
  local before = fill_with_garbage()
  loss:backward(torch.empty({}, {device = 'cuda'}))
  lu.assertEquals(x.grad:numel(), 40 * MIB)
  lu.assertEquals(cuda.memory_stats().num_ooms, before)
end

-- fault: CUDA out of memory
function TestOutOfMemory:test_the_error_has_the_figures_and_what_helps()
  local model = torch.nn.Linear(4096, 4096):to 'cuda'
  local batch = {images = bytes(200 * MIB)}
  local message = error_of(bytes, 2048 * MIB)
  for _, part in ipairs{'empty (size: {2147483648}', 'out of memory on cuda:0. Tried to allocate 2.00 GiB; ', ' are free',
                        'cuda:0: tensors hold 264.0', '280.00 MiB are reserved' and ' are reserved',
                        '200.00 MiB  uint8 [209715200] on cuda:0  batch.images',
                        '64.00 MiB  float32 [4096, 4096] on cuda:0  model.weight', 'a smaller batch',
                        'gradient accumulation', 'torch.autocast'} do
    lu.assertStrContains(message, part)
  end
  lu.assertNotNil(batch and model)
end

function TestOutOfMemory:test_at_most_five_tensors_are_listed_each_memory_once()
  local held = {}
  for i = 1, 7 do held[i] = bytes(i * MIB) end
  local view = held[7]:view(-1)
  local _, listed = error_of(bytes, 2048 * MIB):gsub('uint8 %[', '')
  lu.assertEquals(listed, 5)
  lu.assertNotNil(view)
end

function TestOutOfMemory:test_gradients_are_listed_and_what_backward_keeps_is_counted()
  local weight = torch.empty(16 * MIB, {device = 'cuda', requires_grad = true})
  weight:sum():backward()
  local kept = (weight * weight):exp()  -- exp keeps its result, mul its arguments
  kept = kept:sum()
  local message = error_of(bytes, 2048 * MIB)
  lu.assertStrContains(message, '64.00 MiB  float32 [16777216] on cuda:0  gradient of weight')
  lu.assertStrContains(message, 'more are kept for backward()')
  lu.assertNotNil(kept)
end

function TestOutOfMemory:test_an_error_in_backward_says_backward()
  local x = torch.empty(120 * MIB, {device = 'cuda', requires_grad = true})
  local loss = x:sum()
  local held = bytes(500 * MIB)
  local message = error_of(loss.backward, loss)
  lu.assertStrContains(message, 'backward: out of memory on cuda:0')
  lu.assertNotNil(held)
end

function TestOutOfMemory:test_the_script_goes_on_after_the_error()
  error_of(bytes, 2048 * MIB)
  lu.assertEquals(torch.tensor({1, 2}):cuda():tolist(), {1, 2})
end

function TestOutOfMemory:test_an_error_while_garbage_is_collected_ends_nothing()
  local finalised = newproxy(true)
  getmetatable(finalised).__gc = function() error 'in a finaliser' end
  finalised = nil
  lu.assertNil(finalised)
  local out = torch.empty(0, {dtype = 'uint8', device = 'cuda'})
  fill_with_garbage()
  out:resize_(600 * MIB)
end

os.exit(lu.LuaUnit.run(), true)
