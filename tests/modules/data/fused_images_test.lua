-- Image batches made in one pass (torch._C.data.gather_images), and random numbers of their samples (draw_samples).
local data = require('torch._C').data
local lu = require 'luaunit'
local torch = require 'torch'

local function levels(channels, dtype)
  return torch.arange(257 * channels):view{channels, 257}:to(dtype or 'float32')
end

-- Computes the batch pixel by pixel, as the header specifies.
local function expected(images, indices, plan)
  local n, c = #indices, images:dim() == 4 and images:size(3) or 1
  local h, w = images:size(1), images:size(2)
  images = images:reshape{images:size(0), h, w, c}
  local pixels, table_of, places = images:tolist(), plan.levels:tolist(), plan.places and plan.places:tolist()
  local out = {}
  for b = 1, n do
    local place = places and places[b] or {0, 1, 0, 1}
    for channel = 1, c do
      for y = 0, plan.height - 1 do
        for x = 0, plan.width - 1 do
          local from_y, from_x = place[1] + y * place[2], place[3] + x * place[4]
          local is_inside = from_y >= 0 and from_y < h and from_x >= 0 and from_x < w
          local byte = is_inside and pixels[indices[b] + 1][from_y + 1][from_x + 1][channel] or 256
          out[#out + 1] = table_of[channel][byte + 1]
        end
      end
    end
  end
  return torch.tensor(out, {dtype = plan.levels.dtype}):view{n, c, plan.height, plan.width}
end

local function check(images, indices, plan)
  local got = data.gather_images(images, torch.tensor(indices, {dtype = 'int64'}), plan)
  lu.assertTrue(torch.equal(got, expected(images, indices, plan)))
end

local function random_images(...) return torch.randint(0, 256, {...}, {dtype = 'uint8'}) end

TestGatherImages = {}

function TestGatherImages:setUp() torch.manual_seed(1) end

function TestGatherImages:test_whole_images()
  check(random_images(5, 4, 7), {4, 0, 0}, {levels = levels(1), height = 4, width = 7})
  check(random_images(5, 4, 7, 3), {1, 2}, {levels = levels(3), height = 4, width = 7})
  check(random_images(5, 9, 11), {3}, {levels = levels(1), height = 5, width = 6})
end

function TestGatherImages:test_places_inside_across_and_outside()
  for _, shape in ipairs{{3, 5, 6}, {3, 5, 6, 3}} do
    local images, indices, places = random_images(unpack(shape)), {}, {}
    for _ = 1, 200 do
      indices[#indices + 1] = math.random(0, 2)
      places[#places + 1] = {math.random(-9, 9), math.random(0, 1) * 2 - 1, math.random(-9, 9), math.random(0, 1) * 2 - 1}
    end
    check(images, indices, {levels = levels(shape[4] or 1), height = 4, width = 9,
                            places = torch.tensor(places, {dtype = 'int64'})})
  end
end

function TestGatherImages:test_any_dtype_and_strides()
  for _, dtype in ipairs{'uint8', 'bfloat16', 'float64', 'int16'} do
    local plan = {levels = torch.arange(257):remainder(100):view{1, 257}:to(dtype), height = 3, width = 3}
    check(random_images(2, 3, 3), {1, 0}, plan)
  end
  local plan = {levels = levels(3), height = 4, width = 5}
  check(random_images(2, 3, 4, 5):permute{0, 2, 3, 1}, {1, 0}, plan)
  check(random_images(4, 8, 5, 3):slice(0, 1, 4, 2):narrow(1, 2, 4), {1, 0}, plan)
end

function TestGatherImages:test_many_samples_on_several_threads()
  local images, threads = random_images(300, 28, 28, 3), torch.get_num_threads()
  local indices, plan = torch.randint(0, 300, {500}), {levels = levels(3), height = 28, width = 28}
  local want = images:index_select(0, indices):permute{0, 3, 1, 2}:float() + torch.tensor{0, 257, 514}:view{1, 3, 1, 1}
  for count = 1, 3 do
    torch.set_num_threads(count)
    lu.assertTrue(torch.equal(data.gather_images(images, indices, plan), want))
    lu.assertErrorMsgContains('is out of range for 300 images', data.gather_images, images, indices + 300, plan)
  end
  torch.set_num_threads(threads)
end

function TestGatherImages:test_no_samples()
  local out = data.gather_images(random_images(2, 3, 3), torch.zeros(0, {dtype = 'int64'}),
    {levels = levels(1), height = 3, width = 3})
  lu.assertEquals(table.concat(out.shape, ' '), '0 1 3 3')
end

local function refused(text, images, indices, plan)
  lu.assertErrorMsgContains(text, data.gather_images, images, torch.tensor(indices, {dtype = 'int64'}), plan)
end

function TestGatherImages:test_refuses_what_is_wrong()
  local images, whole = random_images(2, 3, 3), {levels = levels(1), height = 3, width = 3}
  refused('index 2 is out of range for 2 images', images, {0, 2}, whole)
  refused('index -1 is out of range', images, {-1}, whole)
  refused('expected images uint8', images:float(), {0}, whole)
  refused('expected levels (1, 257)', images, {0}, {levels = levels(3), height = 3, width = 3})
  refused('cannot be larger', images, {0}, {levels = levels(1), height = 4, width = 3})
  refused('cannot give images of 0 x 3', images, {0}, {levels = levels(1), width = 3})
  local function with_place(...)
    return {levels = levels(1), height = 3, width = 3, places = torch.tensor({{...}}, {dtype = 'int64'})}
  end
  refused('step 0 of sample 0', images, {0}, with_place(0, 0, 0, 1))
  refused('step 2 of sample 0', images, {0}, with_place(0, 1, 0, 2))
  refused('too far away', images, {0}, with_place(2 ^ 40, 1, 0, 1))
  refused('expected places int64 (2, 4)', images, {0, 1}, with_place(0, 1, 0, 1))
  refused("did you mean 'levels'", images, {0}, {level = levels(1)})
end

TestDrawSamples = {}

-- Draws the numbers with one operator after the other.
local function drawn_singly(limits, generator)
  local out = {}
  for i, limit in ipairs(limits) do
    out[i] = limit == 0 and torch.rand({1}, {generator = generator}):item()
      or torch.randint(0, limit, {1}, {generator = generator}):item()
  end
  return out
end

function TestDrawSamples.test_equals_single_draws_of_the_default_generator()
  torch.manual_seed(5)
  local rows = data.draw_samples({9, 0, 1, 200000}, 50):tolist()
  local after = torch.rand(3)
  torch.manual_seed(5)
  for i = 1, 50 do lu.assertEquals(rows[i], drawn_singly{9, 0, 1, 200000}) end
  lu.assertTrue(torch.equal(torch.rand(3), after))
end

function TestDrawSamples.test_a_generator_for_each_seed()
  local rows = data.draw_samples({0, 3, 0}, torch.tensor({7, 2 ^ 45 + 1, 7}, {dtype = 'int64'})):tolist()
  for i, seed in ipairs{7, 2 ^ 45 + 1, 7} do
    lu.assertEquals(rows[i], drawn_singly({0, 3, 0}, torch.Generator(seed)))
  end
  local generator = torch.Generator(3)
  lu.assertEquals(data.draw_samples({0, 4}, 1, generator):tolist()[1], drawn_singly({0, 4}, torch.Generator(3)))
end

function TestDrawSamples.test_refuses_what_is_wrong()
  lu.assertErrorMsgContains('a limit is 0 or more', data.draw_samples, {-1}, 3)
  lu.assertErrorMsgContains('limits: expected a list of integers', data.draw_samples, 3, 3)
  lu.assertErrorMsgContains('expected a number of samples', data.draw_samples, {0}, 'x')
  lu.assertErrorMsgContains('expected seeds int64 (samples)', data.draw_samples, {0}, torch.zeros(2))
end

os.exit(lu.LuaUnit.run(), true)
