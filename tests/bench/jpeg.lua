-- JPEG files as normalised float batches, without training. Prints "name<TAB>number" lines. Twin of peers/jpeg.py: change
-- both.
--
--   jpeg.lua FOLDER quick|full
local clock = require 'events'
local torch = require 'torch'
local T = require 'vision.transforms'
local ImageFolder = require('vision.datasets').ImageFolder
local data = torch.utils.data

torch.set_num_threads(1)
torch.manual_seed(0)
local folder, quick = arg[1], arg[2] == 'quick'
local SIZE, BATCH = {224, 224}, 32

local function normalised(list)
  list[#list + 1] = T.ToTensor()
  list[#list + 1] = T.Normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225})
  return T.Compose(list)
end

local function median(values)
  table.sort(values)
  return values[math.ceil(#values / 2)]
end

-- Returns microseconds per image, the median of the epochs.
local function epochs(set)
  local times = {}
  local loader = data.DataLoader(set, {batch_size = BATCH, shuffle = true})
  for i = 1, quick and 1 or 5 do
    local start, samples = clock.now(), 0
    for _, labels in loader do samples = samples + labels:size(0) end
    times[i] = (clock.now() - start) * 1e6 / samples
  end
  return median(times)
end

local function print_number(name, set) io.write(('%s\t%.6f\n'):format(name, epochs(set))) end

print_number('image', ImageFolder(folder .. '/small', {transform = normalised{}, size = SIZE}))
print_number('large', ImageFolder(folder .. '/large', {transform = normalised{}, size = SIZE}))
print_number('resized', ImageFolder(folder .. '/small', {transform = normalised{T.Resize(SIZE)}}))
