-- torch.cuda on the simulated devices of tests/fake_nvidia: copies and products are computed, other kernels do nothing.
local lu = require 'luaunit'
local torch = require 'torch'

TestDevices = {}

function TestDevices:test_the_devices()
  lu.assertTrue(torch.cuda.is_available())
  lu.assertEquals(torch.cuda.device_count(), 2)
  lu.assertEquals(torch.cuda.get_device_name(1), 'NVIDIA H100 80GB HBM3')
  lu.assertEquals({torch.cuda.get_device_capability()}, {9, 0})
  local free, total = torch.cuda.mem_get_info()
  lu.assertTrue(free <= total and total == 80 * 2 ^ 30)
end

function TestDevices:test_an_unknown_device_is_refused()
  lu.assertErrorMsgContains("there is no device 'cuda:2': this process sees 2 devices, numbered from 0",
    function() torch.cuda.set_device(2) end)
end

function TestDevices:test_the_current_device_is_where_cuda_tensors_go()
  torch.cuda.set_device(1)
  lu.assertEquals(torch.cuda.current_device(), 1)
  lu.assertEquals(tostring(torch.empty(1, {device = 'cuda'}).device), 'cuda:1')
  torch.cuda.set_device(0)
end

function TestDevices:test_values_survive_the_way_there_and_back()
  local x = torch.tensor{1, 2, 3}
  lu.assertEquals(x:to('cuda:1'):to('cuda:0'):cpu():tolist(), {1, 2, 3})
  lu.assertEquals(torch.ones(3, {device = 'cuda'}):tolist(), {1, 1, 1})
  lu.assertEquals(torch.tensor({7}, {device = 'cuda', dtype = 'int64'}):item(), 7)
end

function TestDevices:test_products()
  local a, b = torch.randn(4, 5), torch.randn(5, 3)
  lu.assertTrue(torch.allclose(a:cuda():mm(b:cuda()):cpu(), a:mm(b)))
end

function TestDevices:test_tensors_of_two_devices_do_not_mix()
  lu.assertErrorMsgContains('cuda:0', function() return torch.ones(2, {device = 'cuda:0'}) + torch.ones(2) end)
end

os.exit(lu.LuaUnit.run(), true)
