-- Batches of Fashion-MNIST without training. Prints "name<TAB>number" lines. Twin of peers/loader.py: change both.
--
--   loader.lua FOLDER quick|full
local clock = require 'events'
local torch = require 'torch'
local T = require 'vision.transforms'
local FashionMNIST = require('vision.datasets').FashionMNIST
local data = torch.utils.data

torch.set_num_threads(1)
torch.manual_seed(0)
local folder, quick = arg[1], arg[2] == 'quick'
local BATCH = 128

local function dataset(list)
  list[#list + 1] = T.ToTensor()
  list[#list + 1] = T.Normalize({0.2860}, {0.3530})
  local set = FashionMNIST(folder, {transform = T.Compose(list)})
  return quick and data.Subset(set, torch.arange(1000)) or set
end

local function median(values)
  table.sort(values)
  return values[math.ceil(#values / 2)]
end

-- Returns nanoseconds per sample, the median of the epochs.
local function epochs(loader, count)
  local times = {}
  for i = 1, count do
    local start, samples = clock.now(), 0
    for _, labels in loader do samples = samples + labels:size(0) end
    times[i] = (clock.now() - start) * 1e9 / samples
  end
  return median(times)
end

local function loader_of(set, options)
  options.batch_size, options.shuffle = BATCH, true
  return data.DataLoader(set, options)
end

local function first_batch(set)
  local times = {}
  for i = 1, quick and 1 or 9 do
    local start = clock.now()
    loader_of(set, {}):iter()()
    times[i] = (clock.now() - start) * 1e3
  end
  return median(times)
end

local function print_number(name, value) io.write(('%s\t%.6f\n'):format(name, value)) end

local count = quick and 1 or 5
local set = dataset{}
print_number('first_batch', first_batch(set))
print_number('sample', epochs(loader_of(set, {}), count))
print_number('workers_2', epochs(loader_of(set, {num_workers = 2, persistent_workers = true}), count))
local augmented = dataset{T.RandomCrop(28, {padding = 2}), T.RandomHorizontalFlip()}
print_number('augmented', epochs(loader_of(augmented, {}), quick and 1 or 2))
