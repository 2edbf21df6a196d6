-- A variational autoencoder (Kingma and Welling, 2014) of small drawings: discs and bars, generated here. Its loss is
-- the reconstruction loss plus the divergence of the code from a standard normal distribution.
local argparse, torch = require 'argparse', require 'torch'
local data, io_, utils = require 'torch.utils.data', require 'vision.io', require 'vision.utils'
local nn, F = torch.nn, torch.nn.functional
local distributions = torch.distributions

local args = argparse.of_config{seed = 1, epochs = 4, lr = 1e-3, batch_size = 32, images = 256, size = 12, code = 4}:parse()

-- Draws grey images (n, 1, size, size): discs and bars with random places and sizes.
local function draw(count)
  local size = args.size
  local y = torch.arange(size):view(1, size, 1) + 0.5
  local x = torch.arange(size):view(1, 1, size) + 0.5
  local place = torch.rand(count, 3, 1, 1) * size
  local radius = 1 + place:select(1, 2) / 4
  local dx, dy = (x - place:select(1, 0)):abs(), (y - place:select(1, 1)):abs()
  local disc = torch.sigmoid(4 * (radius - (dx ^ 2 + dy ^ 2):sqrt()))
  local bar = torch.sigmoid(4 * (radius / 2 - dx)):expand_as(disc)
  local is_disc = torch.rand(count, 1, 1):lt(0.5)
  return torch.where(is_disc, disc, bar):unsqueeze(1)
end

local VAE = nn.Module:extend 'VAE'

function VAE:init(pixels, hidden, code)
  self.fc1 = nn.Linear(pixels, hidden)
  self.mean = nn.Linear(hidden, code)
  self.log_var = nn.Linear(hidden, code)
  self.fc3 = nn.Linear(code, hidden)
  self.fc4 = nn.Linear(hidden, pixels)
end

function VAE:encode(x)
  local h = F.relu(self.fc1(x))
  return distributions.Normal(self.mean(h), torch.exp(0.5 * self.log_var(h)))
end

function VAE:decode(z) return distributions.Bernoulli{logits = self.fc4(F.relu(self.fc3(z)))} end

function VAE:forward(x)
  local code = self:encode(x:flatten(1))
  return self:decode(code:rsample()), code
end

local prior = distributions.Normal(0, 1)

-- Returns the reconstruction loss and the divergence, each summed over the batch.
local function losses(image, code, x)
  local reconstruction = F.binary_cross_entropy_with_logits(image.logits, x:flatten(1), {reduction = 'sum'})
  return reconstruction, distributions.kl_divergence(code, prior):sum()
end

torch.manual_seed(args.seed)
local images, unseen = draw(args.images), draw(32)
local loader = data.DataLoader(data.TensorDataset(images), {batch_size = args.batch_size})
local model = VAE(args.size ^ 2, 48, args.code)
local optimizer = torch.optim.Adam(model:parameters(), {lr = args.lr})

for epoch = 1, args.epochs do
  model:train()
  for i, x in loader:enumerate() do
    optimizer:zero_grad()
    local image, code = model(x)
    local reconstruction, divergence = losses(image, code, x)
    local loss = reconstruction + divergence
    loss:backward()
    optimizer:step()
    if i % 4 == 0 then
      print(('epoch %d batch %d reconstruction %.5f divergence %.5f'):format(epoch, i, reconstruction:item() / #x,
        divergence:item() / #x))
    end
  end
  model:eval()
  local reconstruction, divergence = torch.no_grad(function()
    local image, code = model(unseen)
    return losses(image, code, unseen)
  end)
  print(('epoch %d unseen loss %.5f'):format(epoch, (reconstruction + divergence):item() / #unseen))
end

-- Saves eight drawings that the model has not seen, and below them eight new drawings by the model.
local drawn = model:decode(prior:sample{8, args.code}).probs:detach():view(8, 1, args.size, args.size)
local path = os.tmpname()
utils.save_image(torch.cat{unseen[torch.slice(0, 8)], drawn}, path, {format = 'png', nrow = 8})
local saved = io_.read_image(path)
os.remove(path)
print(('saved %d x %d x %d, mean %.3f'):format(saved:size(0), saved:size(1), saved:size(2), saved:double():mean():item()))
