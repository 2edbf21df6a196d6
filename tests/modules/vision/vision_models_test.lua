-- vision.models: shapes, names, parameter counts and refusals. tests/e2e/training/test_vision_models.py and tests/oracle
-- compare numbers with Python's models.
local lu = require 'luaunit'
local torch = require 'torch'
local nn = torch.nn
local models = require 'vision.models'

local function count(model)
  local total = 0
  for _, parameter in ipairs(model:parameters()) do total = total + parameter:numel() end
  return total
end

local function keys(model) return require 'base.ordered'.keys(model:state_dict()) end

local message_of = require('refusal').message_of

TestResNet = {}

-- The parameter counts of the papers' reference implementations (torchvision's documentation lists them).
function TestResNet:test_counts_of_parameters()
  for name, wanted in next, {resnet18 = 11689512, resnet34 = 21797672, resnet50 = 25557032, resnet101 = 44549160,
                             resnet152 = 60192808, resnext50_32x4d = 25028904, wide_resnet50_2 = 68883240} do
    lu.assertEquals(count(models[name]()), wanted, name)
  end
end

function TestResNet:test_names_of_state_dict()
  local names = keys(models.resnet18{num_classes = 10})
  lu.assertEquals(#names, 122)
  lu.assertEquals({unpack(names, 1, 8)}, {'conv1.weight', 'bn1.weight', 'bn1.bias', 'bn1.running_mean',
    'bn1.running_var', 'bn1.num_batches_tracked', 'layer1.0.conv1.weight', 'layer1.0.bn1.weight'})
  lu.assertEquals({names[#names - 1], names[#names]}, {'fc.weight', 'fc.bias'})
  lu.assertTrue(models.resnet50{num_classes = 2}:state_dict()['layer4.2.conv3.weight'] ~= nil)
end

function TestResNet:test_one_channel_stem()
  local model = models.resnet18{num_classes = 10}
  model.conv1 = nn.Conv2d(1, 64, 7, {stride = 2, padding = 3, bias = false})
  lu.assertEquals(model(torch.randn(2, 1, 28, 28)).shape, torch.empty(2, 10).shape)
  lu.assertEquals(keys(model)[1], 'conv1.weight')
end

function TestResNet:test_initialization()
  torch.manual_seed(1)
  local model = models.ResNet(models.BasicBlock, {1, 1, 1, 1}, {num_classes = 3, zero_init_residual = true})
  lu.assertEquals(model.layer3[1].bn2.weight:abs():max():item(), 0)
  lu.assertEquals(model.layer3[1].bn1.weight:min():item(), 1)
  -- He's normal distribution for the fan out: √(2 / (64 · 9)).
  local std = model.layer1[1].conv1.weight:std():item()
  lu.assertAlmostEquals(std, math.sqrt(2 / (64 * 9)), 0.001)
end

function TestResNet:test_dilation_keeps_the_size()
  local function features(options)
    local model = models.ResNet(models.Bottleneck, {1, 1, 1, 1}, options)
    local x = model.maxpool(model.conv1(torch.zeros(1, 3, 64, 64)))
    return model.layer4(model.layer3(model.layer2(model.layer1(x)))).shape[3]
  end
  lu.assertEquals({features{}, features{replace_stride_with_dilation = {false, true, true}}}, {2, 8})
end

function TestResNet:test_other_norm_layer()
  local model = models.resnet18{num_classes = 4, norm_layer = function(planes) return nn.GroupNorm(4, planes) end}
  lu.assertEquals(model(torch.randn(1, 3, 32, 32)).shape[2], 4)
  lu.assertNil(model:state_dict()['bn1.running_mean'])
end

function TestResNet:test_every_parameter_gets_a_gradient()
  local model = models.ResNet(models.Bottleneck, {1, 1, 1, 1}, {num_classes = 3})
  model(torch.randn(2, 3, 32, 32)):square():sum():backward()
  for name, parameter in model:named_parameters() do lu.assertNotNil(parameter.grad, name) end
end

function TestResNet:test_refuses_what_is_wrong()
  lu.assertStrContains(message_of(models.resnet18, {num_clases = 10}), "did you mean 'num_classes'?")
  local text, err = message_of(models.resnet18, {weights = 'DEFAULT'})
  lu.assertStrContains(text, 'downloads no weights')
  lu.assertEquals(err.code, 'unsupported')
  lu.assertStrContains(message_of(models.resnet18, 10), 'one table of keywords, got number')
  lu.assertStrContains(message_of(models.ResNet, models.BasicBlock, {1, 1, 1}), 'layers is a list of 4')
  lu.assertStrContains(message_of(models.BasicBlock, 4, 4, {groups = 2}), 'use Bottleneck')
  lu.assertStrContains(message_of(function() return models.resnet19 end), "did you mean 'resnet18'?")
end

TestRegistry = {}

function TestRegistry:test_get_model()
  lu.assertEquals(models.get_model('SqueezeNet1_1', {num_classes = 3}).num_classes, 3)
  lu.assertStrContains(message_of(models.get_model, 'resnet19'), "did you mean 'resnet18'?")
  lu.assertStrContains(message_of(models.get_model, 'resnet18', {num_clases = 3}), "did you mean 'num_classes'?")
  lu.assertStrContains(message_of(models.get_model), "get_model: name cannot be 'nil'")
end

function TestRegistry:test_list_models()
  lu.assertEquals(#models.list_models(), 27)
  lu.assertEquals(models.list_models{include = {'squeeze*', 'alex*'}, exclude = '*1_0'}, {'alexnet', 'squeezenet1_1'})
  lu.assertEquals(models.list_models{include = 'resnet'}, {})
  lu.assertStrContains(message_of(models.list_models, {includes = '*'}), "did you mean 'include'?")
end

-- Keywords that define a variant cannot be passed to its name, only to the class.
function TestRegistry:test_names_stand_for_what_they_say()
  lu.assertStrContains(message_of(models.resnet18, {layers = {1, 1, 1, 1}}), "resnet18: 'layers' is what the name stands for")
  lu.assertStrContains(message_of(models.vit_b_16, {patch_size = 8}), "vit_b_16: 'patch_size' is what")
  lu.assertStrContains(message_of(models.squeezenet1_0, {version = '1_1'}), "'version' is what")
  for _, name in ipairs{'alexnet', 'mobilenet_v2', 'squeezenet1_0', 'vgg11_bn', 'vit_b_16'} do
    lu.assertStrContains(message_of(models[name], {weights = 'DEFAULT'}), name .. ': rtrain downloads no weights')
  end
end

TestClassics = {}

function TestClassics:test_shapes()
  local x = torch.randn(2, 3, 64, 64)
  for name, make in next, {
    squeezenet = function() return models.squeezenet1_0{num_classes = 5, dropout = 0} end,
    mobilenet = function() return models.mobilenet_v2{num_classes = 5, width_mult = 0.1} end,
    alexnet = function() return models.AlexNet(5, 0.1) end,
  } do
    lu.assertEquals(make()(x).shape, torch.empty(2, 5).shape, name)
  end
end

function TestClassics:test_every_parameter_gets_a_gradient()
  for _, model in ipairs{models.squeezenet1_1{num_classes = 3}, models.mobilenet_v2{num_classes = 3, width_mult = 0.1}} do
    model(torch.randn(2, 3, 32, 32)):square():sum():backward()
    for name, parameter in model:named_parameters() do lu.assertNotNil(parameter.grad, name) end
  end
end

function TestClassics:test_vgg_of_other_features()
  local features = nn.Sequential(nn.Conv2d(1, 512, 3), nn.ReLU())
  local model = models.VGG(features, {init_weights = true, num_classes = 2, dropout = 0})
  lu.assertEquals(model.features[1].bias:abs():max():item(), 0)
  lu.assertAlmostEquals(model.classifier[1].weight:std():item(), 0.01, 0.0001)
  lu.assertEquals(model(torch.randn(1, 1, 9, 9)).shape[2], 2)
end

function TestClassics:test_other_blocks_of_mobilenet()
  local seen = {}
  local model = models.MobileNetV2{num_classes = 2, inverted_residual_setting = {{2, 16, 2, 2}},
    norm_layer = function(planes) return nn.GroupNorm(4, planes) end,
    block = function(inp, oup, stride, options)
      seen[#seen + 1] = {inp, oup, stride, options.expand_ratio}
      return nn.Conv2d(inp, oup, 3, {stride = stride, padding = 1})
    end}
  lu.assertEquals(seen, {{32, 16, 2, 2}, {16, 16, 1, 2}})
  lu.assertEquals(model(torch.randn(1, 3, 16, 16)).shape[2], 2)
  lu.assertNil(model:state_dict()['features.0.1.running_mean'])
end

function TestClassics:test_refuses_what_is_wrong()
  lu.assertStrContains(message_of(models.SqueezeNet, '1_2'), "SqueezeNet: version cannot be '1_2'")
  lu.assertStrContains(message_of(models.MobileNetV2, {inverted_residual_setting = {{1, 2}}}), 'list of {expansion')
  lu.assertStrContains(message_of(models.MobileNetV2, {inverted_residual_setting = {{1, 16, 1, 3}}}), 'stride = 3')
  lu.assertStrContains(message_of(models.vgg11, {dropuot = 0.1}), "did you mean 'dropout'?")
end

TestConvNet = {}

function TestConvNet:test_log_probabilities()
  local model = models.ConvNet():eval()
  lu.assertEquals(count(model), 1199882)
  local y = model(torch.randn(3, 1, 28, 28))
  lu.assertTrue(torch.allclose(y:exp():sum(1), torch.ones(3)))
  lu.assertEquals(models.ConvNet{num_classes = 4}(torch.randn(3, 1, 28, 28)).shape[2], 4)
end

TestVisionTransformer = {}

local SMALL = {image_size = 8, patch_size = 4, num_layers = 2, num_heads = 2, hidden_dim = 8, mlp_dim = 16,
               num_classes = 5}

local function small(options)
  local all = {}
  for _, given in ipairs{SMALL, options or {}} do
    for key, value in next, given do all[key] = value end
  end
  return models.VisionTransformer(all)
end

function TestVisionTransformer:test_the_model_of_the_cifar_example()
  local model = models.VisionTransformer(32, 4, 12, 8, 384, 768, {num_classes = 10})
  local names = keys(model)
  lu.assertEquals(#names, 152)
  lu.assertEquals({unpack(names, 1, 5)}, {'class_token', 'conv_proj.weight', 'conv_proj.bias', 'encoder.pos_embedding',
    'encoder.layers.encoder_layer_0.ln_1.weight'})
  lu.assertEquals({names[#names - 1], names[#names]}, {'heads.head.weight', 'heads.head.bias'})
  lu.assertEquals(count(models.vit_b_32()), 88224232)
end

function TestVisionTransformer:test_begins_with_logits_of_zero()
  lu.assertEquals(small()(torch.randn(2, 3, 8, 8)):abs():max():item(), 0)
end

function TestVisionTransformer:test_options()
  local model = small{representation_size = 6, norm_layer = function(size) return nn.LayerNorm(size) end,
    conv_stem_configs = {{out_channels = 4, kernel_size = 3, stride = 2}, {out_channels = 6, kernel_size = 3, stride = 2}}}
  lu.assertEquals(model(torch.randn(2, 3, 8, 8)).shape[2], 5)
  lu.assertEquals(model.heads.pre_logits.out_features, 6)
  lu.assertEquals(model.conv_proj.conv_last.in_channels, 6)
  lu.assertEquals(model.encoder.ln.eps, 1e-5)
end

function TestVisionTransformer:test_dropout_is_off_in_evaluation()
  local model = small{dropout = 0.5, attention_dropout = 0.5}
  nn.init.normal_(model.heads.head.weight)
  local x = torch.randn(2, 3, 8, 8)
  lu.assertFalse(torch.equal(model(x), model(x)))
  model:eval()
  lu.assertTrue(torch.equal(model(x), model(x)))
end

function TestVisionTransformer:test_refuses_what_is_wrong()
  lu.assertStrContains(message_of(small, {patch_size = 3}), 'patch_size = 3 must divide image_size = 8')
  lu.assertStrContains(message_of(small(), torch.zeros(1, 3, 8, 9)), 'expected images of shape (N, 3, 8, 8)')
  lu.assertStrContains(message_of(small, {conv_stem_configs = {{out_chanels = 1}}}), "did you mean 'out_channels'?")
  lu.assertStrContains(message_of(models.VisionTransformer, {image_size = 8}), "missing argument 'patch_size'")
end

os.exit(lu.LuaUnit.run(), true)
