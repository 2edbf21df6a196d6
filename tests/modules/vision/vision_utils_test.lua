-- vision.utils: image files, and refused input. tests/oracle compares the pixels with torchvision.
local lu = require 'luaunit'
local torch = require 'torch'
local io_, utils = require 'vision.io', require 'vision.utils'

local message_of = require('refusal').message_of

TestSaveImage = {}

function TestSaveImage:setUp() self.path = os.tmpname() end

function TestSaveImage:tearDown() os.remove(self.path) end

function TestSaveImage:test_a_png_has_the_rounded_bytes()
  utils.save_image(torch.tensor{{{0, 0.25, 0.5}, {1, 1.5, -2}}}:unsqueeze(0), self.path, {format = 'png'})
  lu.assertEquals(io_.read_image(self.path)[1]:tolist(), {{0, 64, 128}, {255, 255, 0}})
end

function TestSaveImage:test_the_name_says_the_format()
  local folder = self.path .. '.d'
  os.execute('mkdir ' .. folder)
  for name, magic in next, {['a.png'] = '\137PNG', ['a.jpg'] = '\255\216\255', ['a.JPEG'] = '\255\216\255'} do
    utils.save_image(torch.rand(4, 3, 8, 8), folder .. '/' .. name, {nrow = 2, padding = 1})
    local file = io.open(folder .. '/' .. name, 'rb')
    lu.assertEquals(file:read(#magic), magic)
    file:close()
    local shape = io_.read_image(folder .. '/' .. name).shape
    lu.assertEquals({shape[1], shape[2], shape[3]}, {3, 19, 19})
  end
  os.execute('rm -r ' .. folder)
end

function TestSaveImage:test_the_images_are_left_alone()
  local images = torch.full({2, 3, 2, 2}, 0.5)
  utils.save_image(images, self.path, {format = 'png', normalize = true})
  lu.assertTrue(torch.equal(images, torch.full({2, 3, 2, 2}, 0.5)))
end

function TestSaveImage:test_what_is_refused()
  local image = torch.zeros(3, 2, 2)
  lu.assertStrContains(message_of(utils.save_image, image, '/tmp/a.gif'), "no format 'gif'")
  lu.assertStrContains(message_of(utils.save_image, image, '/tmp/a'), "no format ''")
  lu.assertStrContains(message_of(utils.save_image, image, 7), 'fp: expected a path')
  lu.assertStrContains(message_of(utils.save_image, image, self.path, {nrows = 2}), "did you mean 'nrow'")
  local _, err = message_of(utils.save_image, image, '/nowhere/a.png')
  lu.assertEquals(err.code, 'environment')
end

TestGrid = {}

function TestGrid.test_a_list_of_images()
  local a, b = torch.zeros(1, 2, 2), torch.ones(1, 2, 2)
  lu.assertTrue(torch.equal(utils.make_grid{a, b}, utils.make_grid(torch.stack{a, b})))
end

function TestGrid.test_what_is_refused()
  lu.assertStrContains(message_of(utils.make_grid, 'x'), 'expected a tensor or a list of tensors')
  lu.assertStrContains(message_of(utils.make_grid, torch.ones(2)), 'expected images')
  lu.assertStrContains(message_of(utils.make_grid, torch.ones(2, 3, 2, 2), {nrow = 0}), 'nrow: at least 1')
  lu.assertStrContains(message_of(utils.make_grid, torch.ones(2, 3, 2, 2), {normalize = true, value_range = 3}),
    'value_range: expected {min, max}')
end

TestBoxes = {}

local image, box = torch.zeros(3, 6, 6, {dtype = 'uint8'}), torch.tensor{{1, 1, 3, 3}}

function TestBoxes.test_the_image_is_left_alone()
  utils.draw_bounding_boxes(image, box, {colors = 'red', fill = true})
  lu.assertEquals(image:sum():item(), 0)
  lu.assertTrue(torch.equal(utils.draw_bounding_boxes(image, torch.zeros(0, 4)), image))
end

function TestBoxes.test_what_is_refused()
  local draw = utils.draw_bounding_boxes
  lu.assertStrContains(message_of(draw, image, box, {colors = 'rde'}), "'rde' is not a colour")
  lu.assertStrContains(message_of(draw, image, box, {colors = {1, 2, 300}}), 'is not a colour')
  lu.assertStrContains(message_of(draw, image, box:expand(2, 4), {colors = {'red'}}), '1 colours for 2 objects')
  lu.assertStrContains(message_of(draw, image, torch.tensor{{3, 3, 1, 1}}), 'a minimum above its maximum')
  lu.assertStrContains(message_of(draw, image:int(), box), 'uint8 or floats')
  lu.assertStrContains(message_of(draw, image:unsqueeze(0), box), 'one image')
  lu.assertStrContains(message_of(draw, image, torch.ones(4)), 'boxes: expected a tensor (n, 4)')
  local _, err = message_of(draw, image, box, {labels = {'cat'}})
  lu.assertEquals(err.code, 'unsupported')
end

os.exit(lu.LuaUnit.run(), true)
