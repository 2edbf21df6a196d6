-- Image super-resolution by a sub-pixel convolutional network: PyTorch's example super_resolution, on drawn images.
local argparse, torch = require 'argparse', require 'torch'
local F, T = torch.nn.functional, require 'vision.transforms.functional'
local nn, data = torch.nn, torch.utils.data
local io_, utils = require 'vision.io', require 'vision.utils'

local opt = argparse.of_config {
  upscale_factor = 2, batch_size = 4, test_batch_size = 4, n_epochs = 3, lr = 0.003, seed = 123, images = 24, size = 24,
}:parse()

local Net = nn.Module:extend 'Net'

function Net:init(upscale_factor)
  self.relu = nn.ReLU()
  self.conv1 = nn.Conv2d(1, 16, {5, 5}, {1, 1}, {2, 2})
  self.conv2 = nn.Conv2d(16, 16, {3, 3}, {1, 1}, {1, 1})
  self.conv3 = nn.Conv2d(16, 8, {3, 3}, {1, 1}, {1, 1})
  self.conv4 = nn.Conv2d(8, upscale_factor ^ 2, {3, 3}, {1, 1}, {1, 1})
  self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
  local gain = nn.init.calculate_gain 'relu'
  for _, conv in ipairs {self.conv1, self.conv2, self.conv3} do nn.init.orthogonal_(conv.weight, gain) end
  nn.init.orthogonal_(self.conv4.weight)
end

function Net:forward(x)
  x = self.relu(self.conv1(x))
  x = self.relu(self.conv2(x))
  x = self.relu(self.conv3(x))
  return self.pixel_shuffle(self.conv4(x))
end

-- Draws a disc and a bar with random positions and brightness.
local function draw(size)
  local y = torch.arange(size):view(size, 1):float():expand(size, size)
  local x = y:t()
  local cx, cy, r, shade, bar = unpack(torch.rand(5):tolist())
  local disc = ((x - cx * size) ^ 2 + (y - cy * size) ^ 2):sqrt():lt((0.1 + 0.3 * r) * size)
  local stripes = torch.sin(x * (0.3 + bar)) * 0.2 + 0.4
  return torch.where(disc, torch.full_like(x, shade), stripes):clamp(0, 1):unsqueeze(0)
end

local Images = data.Dataset:extend 'Images'

function Images:init(count)
  self.images = {}
  for i = 1, count do self.images[i] = draw(opt.size) end
end

function Images:len() return #self.images end

function Images:get(i)
  local target = self.images[i + 1]
  return T.resize(target, {opt.size / opt.upscale_factor, opt.size / opt.upscale_factor}), target
end

torch.manual_seed(opt.seed)
local train_set, test_set = Images(opt.images), Images(8)
local model = Net(opt.upscale_factor)
local criterion = nn.MSELoss()
local optimizer = torch.optim.Adam(model:parameters(), {lr = opt.lr})

local function train(epoch)
  local total, loader = 0, data.DataLoader(train_set, {batch_size = opt.batch_size, shuffle = true})
  for iteration, input, target in loader:enumerate() do
    optimizer:zero_grad()
    local loss = criterion(model(input), target)
    total = total + loss:item()
    loss:backward()
    optimizer:step()
    print(('epoch %d(%d/%d): loss %.6f'):format(epoch, iteration + 1, #loader, loss:item()))
  end
  print(('epoch %d complete: avg. loss %.6f'):format(epoch, total / #loader))
end

local function test()
  local total, loader = 0, data.DataLoader(test_set, {batch_size = opt.test_batch_size})
  torch.no_grad(function()
    for input, target in loader do
      local mse = criterion(model(input), target)
      total = total + 10 * math.log10(1 / mse:item())
    end
  end)
  print(('avg. PSNR %.5f dB'):format(total / #loader))
end

for epoch = 1, opt.n_epochs do
  train(epoch)
  test()
end

-- The part of super_resolve.py.
torch.no_grad(function()
  local input = test_set:get(0)
  utils.save_image(F.interpolate(input:unsqueeze(0), {scale_factor = opt.upscale_factor}), 'nearest.png')
  utils.save_image(model(input:unsqueeze(0)), 'out.png')
end)
for _, name in ipairs {'nearest.png', 'out.png'} do
  local image = io_.read_image(name)
  print(('%s %d x %d, mean %.3f'):format(name, image:size(1), image:size(2), image:float():mean():item()))
  os.remove(name)
end
