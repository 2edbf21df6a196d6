-- vision/datasets/location.lua: finds the files of a data set, and makes the error if they are missing.

local errors = require 'base.errors'
local system = require 'base._system'

local location = {}

---Returns the path with the home folder in place of a leading "~".
---@param path string
---@return string
function location.expand_home(path)
  local home = os.getenv 'HOME'
  return (home and path:gsub('^~', home) or path)
end

---Raises an error for `download = true`.
---@param name string the data set
function location.refuse_download(name)
  errors.raise('argument', name .. ': download = true is not there for this data set: fetch its files yourself and pass '
    .. '{root = …} or set RTRAIN_DATA')
end

---Returns whether there is a file of that path.
---@param path string
---@return boolean
function location.is_file(path) return system.path_kind(path) == 'file' end

---Returns the folders to search, in order. With a root only folders below it: a wrong path must not go unnoticed.
---@param root? string
---@param subfolders string[] searched below the root, in addition to the root itself
---@param places {folders: string[], package_folder?: string} folders below $RTRAIN_DATA, and the folder of a Debian
---  package
---@return string[]
function location.folders(root, subfolders, places)
  local list = {}
  if root ~= nil then
    root = location.expand_home(root)
    list[1] = root
    for _, name in ipairs(subfolders) do list[#list + 1] = root .. '/' .. name end
    return list
  end
  local variable = os.getenv 'RTRAIN_DATA'
  for _, name in ipairs(variable and variable ~= '' and places.folders or {}) do
    list[#list + 1] = location.expand_home(variable) .. '/' .. name
  end
  list[#list + 1] = places.package_folder
  return list
end

---Raises the error that the files were not found.
---@param name string the data set
---@param wanted string description of the files
---@param tried string[]
---@param hint string advice: 'the folder that holds mnist/'
function location.refuse_missing(name, wanted, tried, hint)
  errors.raise('environment', ('%s: no folder with %s\n  looked in: %s\n  set RTRAIN_DATA to %s'):format(name, wanted,
    #tried > 0 and table.concat(tried, ', ') or '(nowhere: RTRAIN_DATA is not set)', hint))
end

return location
