-- Mixed precision on a GPU: autocast's dtypes, a GradScaler whose numbers stay on the device, layouts and switches.
local lu = require 'luaunit'
local torch = require 'torch'
local F, nn = torch.nn.functional, torch.nn

TestAutocast = {}

function TestAutocast:test_the_dtypes_of_operators()
  local x, layer = torch.randn(8, 16):to 'cuda', nn.Linear(16, 4):to 'cuda'
  lu.assertEquals(torch.autocast('cuda', function() return layer(x).dtype end), 'float16')
  torch.autocast('cuda', {dtype = 'bfloat16'}, function()
    local y = layer(x)
    lu.assertEquals(y.dtype, 'bfloat16')
    lu.assertEquals(F.softmax(y, -1).dtype, 'float32')
    lu.assertEquals(F.mse_loss(y, torch.zeros_like(y)).dtype, 'float32')
    torch.autocast('cuda', {enabled = false}, function() lu.assertEquals(layer(x).dtype, 'float32') end)
  end)
  lu.assertEquals(layer(x).dtype, 'float32')
end

TestGradScaler = {}

-- Trains in float16 with infinite gradients in one step.
local function trained(options)
  torch.manual_seed(1)
  local model = nn.Linear(8, 1):to 'cuda'
  local optimizer = torch.optim.SGD(model:parameters(), options)
  local scaler = torch.amp.GradScaler('cuda', {init_scale = 256, growth_interval = 3})
  local scales = {}
  for step = 1, 6 do
    torch.manual_seed(step)
    local x = torch.randn(16, 8):to 'cuda'
    optimizer:zero_grad()
    local loss = torch.autocast('cuda', {dtype = 'float16'}, function() return model(x):float():square():mean() end)
    if step == 3 then loss = loss * math.huge end
    scaler:scale(loss):backward()
    scaler:step(optimizer)
    scaler:update()
    scales[step] = scaler:get_scale()
  end
  return scales, model
end

function TestGradScaler:test_the_scale_shrinks_and_grows()
  local scales, model = trained{lr = 0.1}
  lu.assertEquals(scales, {256, 256, 128, 128, 128, 256})
  lu.assertTrue(model.weight:isfinite():all():item())
  local fused_scales, fused = trained{lr = 0.1, fused = true}
  lu.assertEquals(fused_scales, scales)
  lu.assertTrue(torch.allclose(fused.weight, model.weight, {atol = 1e-3}))
end

TestLayout = {}

function TestLayout:test_channels_last_gives_the_same()
  torch.manual_seed(1)
  local net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3)):to 'cuda'
  local x = torch.randn(4, 3, 16, 16):to 'cuda'
  local expected = net(x)
  net:to{memory_format = torch.channels_last}
  local y = net(x:contiguous{memory_format = torch.channels_last})
  lu.assertTrue(y:is_contiguous{memory_format = torch.channels_last})
  lu.assertTrue(torch.allclose(y, expected, {rtol = 1e-3, atol = 1e-3}))
end

TestSwitches = {}

function TestSwitches:test_tf32_changes_products_and_is_off_at_first()
  torch.manual_seed(1)
  local a, b = torch.randn(512, 512), torch.randn(512, 512)
  local exact = a:double():mm(b:double())
  local function error_now() return (a:to 'cuda':mm(b:to 'cuda'):cpu():double() - exact):abs():max():item() end
  local precise = error_now()
  torch.backends.cuda.matmul.allow_tf32 = true
  local rough = error_now()
  torch.backends.cuda.matmul.allow_tf32 = false
  lu.assertTrue(precise < 1e-3)
  if torch.cuda.get_device_capability() >= 8 then lu.assertTrue(rough > 5 * precise) end
end

function TestSwitches:test_every_kernel_of_attention_gives_the_same()
  local cuda = torch.backends.cuda
  torch.manual_seed(1)
  local q, k, v = torch.randn(2, 4, 32, 64), torch.randn(2, 4, 32, 64), torch.randn(2, 4, 32, 64)
  local expected = F.scaled_dot_product_attention(q, k, v)
  local names, ran = {'flash', 'mem_efficient', 'math', 'cudnn'}, 0
  local function only(name)
    for _, each in ipairs(names) do cuda['enable_' .. each .. '_sdp'](name == nil or each == name) end
  end
  for _, name in ipairs(names) do
    only(name)
    -- A kernel may be missing for this device or dtype: then the call raises an error.
    local ok, out = pcall(F.scaled_dot_product_attention, q:to 'cuda':half(), k:to 'cuda':half(), v:to 'cuda':half())
    if ok then
      ran = ran + 1
      lu.assertTrue(torch.allclose(out:cpu():float(), expected, {atol = 5e-3}), name)
    end
  end
  only(nil)
  lu.assertTrue(ran >= 2)
  lu.assertTrue(torch.backends.cudnn.is_available())
end

os.exit(lu.LuaUnit.run(), true)
