-- Prefetching batches to a GPU while it computes, and datasets that stay on the GPU.
local lu = require 'luaunit'
local torch = require 'torch'
local data = torch.utils.data
local prepare = require 'rtrain.torch.prepare_loader'

local ALONE = {world_size = 1, world_rank = 0}

-- Keeps the device busy for some milliseconds.
local function work(matrix)
  local x = matrix
  for _ = 1, 20 do x = x:mm(matrix):mul_(1e-3) end
  return x
end

TestPrefetch = {}

function TestPrefetch:test_batches_arrive_whole_while_the_gpu_computes()
  local images = torch.arange(4096, {dtype = 'float32'}):view{-1, 1}:expand{-1, 3000}:contiguous()
  local set = data.TensorDataset(images, torch.arange(4096))
  local matrix, checked = torch.randn(2048, 2048):to 'cuda', 0
  for _, workers in ipairs{0, 2} do
    for _, auto_transfer in ipairs{true, false} do
      local loader = prepare(data.DataLoader(set, {batch_size = 256, shuffle = true, num_workers = workers}), ALONE, 'cuda:0',
        {auto_transfer = auto_transfer})
      local wrong = torch.zeros({}, {device = 'cuda'})
      for x, y in loader do
        work(matrix)
        -- Compares on the device, after the work, so that no accidental wait hides an unfinished copy.
        wrong:add_(x:ne(y:float():unsqueeze(1)):sum())
        checked = checked + 1
      end
      lu.assertEquals(wrong:item(), 0)
    end
  end
  lu.assertEquals(checked, 64)
end

function TestPrefetch:test_a_dataset_on_the_gpu()
  local images = torch.randint(0, 256, {1000, 3, 8, 8}, {dtype = 'uint8', device = 'cuda'})
  local labels = torch.arange(1000, {device = 'cuda'})
  local set = data.TensorDataset(images, labels)
  local parts = data.random_split(set, {800, 200})
  for _, case in ipairs{{set, 1000}, {parts[1], 800}} do
    local seen, count = torch.zeros({1000}, {device = 'cuda', dtype = 'int64'}), 0
    for x, y in data.DataLoader(case[1], {batch_size = 64, shuffle = true}) do
      lu.assertTrue(torch.equal(x, images:index_select(0, y)))
      seen:index_add_(0, y, torch.ones_like(y))
      count = count + y:size(0)
    end
    lu.assertEquals({count, seen:max():item()}, {case[2], 1})
  end
end

function TestPrefetch:test_augmentation_is_that_of_the_cpu()
  local augmentation = require 'vision.augmentation'
  local images = torch.randint(0, 256, {64, 3, 32, 32}, {dtype = 'uint8'})
  local steps = {augmentation.RandomHorizontalFlip(1), augmentation.RandomCrop(32), augmentation.Normalize(0.5, 0.25),
                 augmentation.RandomVerticalFlip(0)}
  local here, there = images, images:to 'cuda'
  for _, step in ipairs(steps) do here, there = step(here), step(there) end
  lu.assertTrue(torch.allclose(there:cpu(), here, {atol = 1e-5}))
  -- The crop positions are random on the device: each crop is a part of the image.
  local crop = augmentation.RandomCrop(30, {padding = 2, padding_mode = 'reflect'})
  local ramp = torch.arange(32, {dtype = 'float32', device = 'cuda'}):view{1, 1, 1, 32}:expand{256, 1, 32, 32}
  local firsts = crop(ramp):select(1, 0):select(1, 0):select(1, 0)
  lu.assertTrue(firsts:unique():size(0) > 3)
end

os.exit(lu.LuaUnit.run(), true)
