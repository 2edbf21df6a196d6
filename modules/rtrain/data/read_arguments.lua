-- rtrain/data/read_arguments.lua: arguments that the read_… functions share.

local args = require 'base.args'
local checks = require 'rtrain.data.dataset.checks'
local errors = require 'base.errors'
local images = require 'rtrain.data.columns.images'
local paths = require 'rtrain.data.files.paths'

local read_arguments = {}

---Returns the signature of a function that reads files, with further parameters.
---@param name string
---@param ... table further parameters, see args.signature
---@return table signature
function read_arguments.signature(name, ...)
  return args.signature(name, {'paths', {'include_paths', false}, {'file_extensions'}, {'ignore_missing_paths', false},
                               {'shuffle'}, ...})
end

---Returns the files that the arguments name, by default those with the extensions of the format.
---@param owner string the function, for messages
---@param a table the bound arguments
---@param extensions? string[]
---@param options? {is_local: boolean?, with_packed: boolean?} see paths.expand
---@return string[]
function read_arguments.files(owner, a, extensions, options)
  options = options or {}
  return paths.expand(owner, a.paths, {
    file_extensions = a.file_extensions or extensions, ignore_missing_paths = a.ignore_missing_paths,
    is_local = options.is_local, with_packed = options.with_packed and not a.file_extensions})
end

---Checks a size of images.
---@param owner string
---@param name string of the argument
---@param size any
function read_arguments.check_size(owner, name, size)
  if size == nil then return end
  if type(size) ~= 'table' or #size ~= 2 then
    errors.raise('argument', ('%s: %s is {height, width}'):format(owner, name))
  end
  for _, value in ipairs(size) do checks.count(owner, name, value, 1) end
end

local MODES = {'L', 'LA', 'RGB', 'RGBA', 'UNCHANGED', 'GRAY', 'GRAY_ALPHA', 'RGB_ALPHA'}

---Checks a mode of images.
---@param owner string
---@param name string of the argument
---@param mode any
---@return string the decoder's name of the mode
function read_arguments.check_mode(owner, name, mode)
  if mode ~= nil then args.one_of(('%s: %s'):format(owner, name), mode, MODES) end
  return images.mode(mode)
end

---Checks the arguments of a function that reads columns and images.
---@param owner string
---@param a table the bound arguments: columns, image_size, image_mode
function read_arguments.check_columns(owner, a)
  read_arguments.check_size(owner, 'image_size', a.image_size)
  read_arguments.check_mode(owner, 'image_mode', a.image_mode)
  if a.columns ~= nil and (type(a.columns) ~= 'table' or #a.columns == 0) then
    errors.raise('argument', ('%s: columns is a list of names, got %s'):format(owner,
      type(a.columns) == 'table' and 'an empty one' or 'a ' .. type(a.columns)))
  end
end

return read_arguments
