-- A convolutional generative adversarial network that draws discs: PyTorch's example dcgan, with 16 × 16 pixels.
local argparse, torch = require 'argparse', require 'torch'
local nn, data, optim = torch.nn, torch.utils.data, torch.optim
local io_, vutils = require 'vision.io', require 'vision.utils'

local opt = argparse.of_config {
  batch_size = 8, nz = 16, ngf = 8, ndf = 8, niter = 2, lr = 0.0002, beta1 = 0.5, seed = 7, images = 48, nc = 3,
}:parse()

local function weights_init(m)
  local classname = m.__class__.__name__
  if classname:find 'Conv' then
    nn.init.normal_(m.weight, 0, 0.02)
  elseif classname:find 'BatchNorm' then
    nn.init.normal_(m.weight, 1, 0.02)
    nn.init.zeros_(m.bias)
  end
end

local Generator = nn.Module:extend 'Generator'

function Generator:init()
  local no_bias = {bias = false}
  self.main = nn.Sequential(
    nn.ConvTranspose2d(opt.nz, opt.ngf * 2, 4, 1, 0, no_bias), nn.BatchNorm2d(opt.ngf * 2), nn.ReLU(true),
    nn.ConvTranspose2d(opt.ngf * 2, opt.ngf, 4, 2, 1, no_bias), nn.BatchNorm2d(opt.ngf), nn.ReLU(true),
    nn.ConvTranspose2d(opt.ngf, opt.nc, 4, 2, 1, no_bias), nn.Tanh())
end

function Generator:forward(input) return self.main(input) end

local Discriminator = nn.Module:extend 'Discriminator'

function Discriminator:init()
  local no_bias = {bias = false}
  self.main = nn.Sequential(
    nn.Conv2d(opt.nc, opt.ndf, 4, 2, 1, no_bias), nn.LeakyReLU(0.2, {inplace = true}),
    nn.Conv2d(opt.ndf, opt.ndf * 2, 4, 2, 1, no_bias), nn.BatchNorm2d(opt.ndf * 2), nn.LeakyReLU(0.2, {inplace = true}),
    nn.Conv2d(opt.ndf * 2, 1, 4, 1, 0, no_bias), nn.Sigmoid())
end

function Discriminator:forward(input) return self.main(input):view(-1, 1):squeeze(1) end

-- Draws a disc of one colour on a dark background; values are in [-1, 1].
local function draw()
  local y = torch.arange(16):view(16, 1):float():expand(16, 16)
  local place, colour = torch.rand(2):tolist(), torch.rand(3, 1, 1)
  local disc = ((y:t() - 4 - 8 * place[1]) ^ 2 + (y - 4 - 8 * place[2]) ^ 2):lt(16):float()
  return disc * colour * 2 - 1
end

torch.manual_seed(opt.seed)
local images = {}
for i = 1, opt.images do images[i] = draw() end
local dataset = data.TensorDataset(torch.stack(images))

local netG, netD = Generator(), Discriminator()
netG:apply(weights_init)
netD:apply(weights_init)

local criterion = nn.BCELoss()
local fixed_noise = torch.randn(opt.batch_size, opt.nz, 1, 1)
local real_label, fake_label = 1, 0
local optimizerD = optim.Adam(netD:parameters(), {lr = opt.lr, betas = {opt.beta1, 0.999}})
local optimizerG = optim.Adam(netG:parameters(), {lr = opt.lr, betas = {opt.beta1, 0.999}})

for epoch = 0, opt.niter - 1 do
  local loader = data.DataLoader(dataset, {batch_size = opt.batch_size, shuffle = true})
  for i, real in loader:enumerate() do
    -- (1) D: maximize log(D(x)) + log(1 - D(G(z)))
    netD:zero_grad()
    local label = torch.full({real:size(0)}, real_label, {dtype = real.dtype})
    local output = netD(real)
    local errD_real = criterion(output, label)
    errD_real:backward()
    local D_x = output:mean():item()

    local fake = netG(torch.randn(real:size(0), opt.nz, 1, 1))
    label:fill_(fake_label)
    output = netD(fake:detach())
    local errD_fake = criterion(output, label)
    errD_fake:backward()
    local D_G_z1 = output:mean():item()
    local errD = errD_real + errD_fake
    optimizerD:step()

    -- (2) G: maximize log(D(G(z)))
    netG:zero_grad()
    label:fill_(real_label)
    output = netD(fake)
    local errG = criterion(output, label)
    errG:backward()
    local D_G_z2 = output:mean():item()
    optimizerG:step()

    print(('[%d/%d][%d/%d] Loss_D: %.5f Loss_G: %.5f D(x): %.5f D(G(z)): %.5f / %.5f'):format(epoch, opt.niter, i, #loader,
      errD:item(), errG:item(), D_x, D_G_z1, D_G_z2))
  end
  vutils.save_image(images[1], 'real.png', {normalize = true})
  vutils.save_image(netG(fixed_noise), 'fake.png', {normalize = true, nrow = 4})
end

for _, name in ipairs {'real.png', 'fake.png'} do
  local image = io_.read_image(name)
  print(('%s %d x %d, mean %.2f'):format(name, image:size(1), image:size(2), image:float():mean():item()))
  os.remove(name)
end
