-- vision/models/init.lua: models of images, as torchvision.models. Each file is read when its first model is used.

local files = {{'vision.models.registry', 'get_model', 'list_models'}}
for i, file in ipairs(require 'vision.models.files') do files[i + 1] = file end

return require 'base.namespace'('vision.models', {files = files})
