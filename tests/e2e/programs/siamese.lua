-- A siamese network that decides if two images show the same digit: PyTorch's siamese_network, on drawn digits.
local argparse, torch = require 'argparse', require 'torch'
local nn, data, optim = torch.nn, torch.utils.data, torch.optim
local models = require 'vision.models'
local class = require 'base.class'

local args = argparse.of_config {
  batch_size = 8, test_batch_size = 16, epochs = 2, lr = 1, gamma = 0.7, seed = 1, log_interval = 1, train = 32, test = 32,
}:parse()

local SiameseNetwork = nn.Module:extend 'SiameseNetwork'

local function init_weights(m)
  if class.is(m, nn.Linear) then
    nn.init.xavier_uniform_(m.weight)
    nn.init.constant_(m.bias, 0.01)
  end
end

function SiameseNetwork:init()
  self.resnet = models.resnet18()
  self.resnet.conv1 = nn.Conv2d(1, 64, {kernel_size = {7, 7}, stride = {2, 2}, padding = {3, 3}, bias = false})
  self.fc_in_features = self.resnet.fc.in_features
  -- All layers except the last one.
  local layers = self.resnet:children()
  layers[#layers] = nil
  self.resnet = nn.Sequential(unpack(layers))
  self.fc = nn.Sequential(nn.Linear(self.fc_in_features * 2, 256), nn.ReLU(true), nn.Linear(256, 1))
  self.sigmoid = nn.Sigmoid()
  self.resnet:apply(init_weights)
  self.fc:apply(init_weights)
end

function SiameseNetwork:forward_once(x)
  local output = self.resnet(x)
  return output:view(output:size(0), -1)
end

function SiameseNetwork:forward(input1, input2)
  local output1, output2 = self:forward_once(input1), self:forward_once(input2)
  return self.sigmoid(self.fc(torch.cat({output1, output2}, 1)))
end

-- Pairs of images: in turn both have the same label (target 1), or different labels (target 0).
local Matcher = data.Dataset:extend 'Matcher'

function Matcher:init(count)
  self.count = count
  self.labels = torch.arange(40) % 4
  self.images = torch.rand(40, 1, 28, 28) * 0.3
  -- A digit is a bright bar: each label has its row or column.
  for i = 0, 39 do
    local label = self.labels[i]:item()
    self.images[{i, 0}]:narrow(label % 2, 6 + 10 * math.floor(label / 2), 3):add_(0.7)
  end
  self.grouped = {}
  for label = 0, 3 do self.grouped[label] = self.labels:eq(label):nonzero():flatten() end
end

function Matcher:len() return self.count end

local function choice(items) return items[torch.randint(#items, {1}):item()]:item() end

function Matcher:get(index)
  local label = torch.randint(4, {1}):item()
  local other = index % 2 == 0 and label or (label + torch.randint(1, 4, {1}):item()) % 4
  local first, second = choice(self.grouped[label]), choice(self.grouped[other])
  return self.images[first], self.images[second], torch.tensor(label == other and 1 or 0, {dtype = torch.float})
end

torch.manual_seed(args.seed)
local train_loader = data.DataLoader(Matcher(args.train), {batch_size = args.batch_size})
local test_loader = data.DataLoader(Matcher(args.test), {batch_size = args.test_batch_size})
local model = SiameseNetwork()
local optimizer = optim.Adadelta(model:parameters(), {lr = args.lr})
local criterion = nn.BCELoss()

local function train(epoch)
  model:train()
  for batch_idx, images_1, images_2, targets in train_loader:enumerate() do
    optimizer:zero_grad()
    local outputs = model(images_1, images_2):squeeze()
    local loss = criterion(outputs, targets)
    loss:backward()
    optimizer:step()
    if batch_idx % args.log_interval == 0 then
      print(('train epoch %d batch %d loss %.5f'):format(epoch, batch_idx, loss:item()))
    end
  end
end

local function test()
  model:eval()
  local test_loss, correct = 0, 0
  torch.no_grad(function()
    for images_1, images_2, targets in test_loader do
      local outputs = model(images_1, images_2):squeeze()
      test_loss = test_loss + criterion(outputs, targets):sum():item()
      local pred = torch.where(outputs:gt(0.5), 1, 0)
      correct = correct + pred:eq(targets:view_as(pred)):sum():item()
    end
  end)
  print(('test set: loss %.4f accuracy %d/%d'):format(test_loss / args.test, correct, args.test))
end

local scheduler = optim.lr_scheduler.StepLR(optimizer, {step_size = 1, gamma = args.gamma})
for epoch = 1, args.epochs do
  train(epoch)
  test()
  scheduler:step()
end
