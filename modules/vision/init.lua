-- vision/init.lua: data sets and transforms of images, as torchvision.

local args = require 'rtrain.args'

local SUBMODULES = {datasets = 'vision.datasets', transforms = 'vision.transforms'}

return setmetatable({}, {
  __index = function(self, name)
    if type(name) ~= 'string' then return nil end
    if not SUBMODULES[name] then args.no_such('vision', name, {'datasets', 'transforms'}, {models = true}) end
    rawset(self, name, require(SUBMODULES[name]))
    return self[name]
  end,
})
