-- rtrain/data/files/paths.lua: finds the files for the paths of a read_… function: files, folders, patterns.

local errors = require 'base.errors'
local files = require 'rtrain.data.files'
local formats = require 'rtrain.data.files.formats'
local glob = require 'rtrain.data.files.glob'

local paths = {}

local function extension_set(extensions)
  local set = {}
  for _, extension in ipairs(extensions) do set[extension:lower():gsub('^%.', '')] = true end
  return set
end

local function with_extension(list, options)
  if not options.file_extensions then return list end
  local set, out = extension_set(options.file_extensions), {}
  for _, path in ipairs(list) do
    local name = files.name(path):lower()
    if options.with_packed then name = formats.unpacked_name(name) end
    if set[name:match '%.([^.]+)$' or ''] or set[name:match '%.([^.]+%.[^.]+)$' or ''] then out[#out + 1] = path end
  end
  return out
end

local function expand(owner, path, options, out)
  if type(path) ~= 'string' then
    errors.raise('argument', ('%s: a path is a string, got a %s'):format(owner, type(path)))
  end
  if path:match '^%a[%w+.-]*://' and not path:match '^file://' and not files.is_object(path) then
    errors.raise('unsupported', ("%s: '%s': expected a path, or a URI that begins with file://, s3://, gs://, abfs:// or "
      .. 'hdfs://'):format(owner, path))
  end
  if options.is_local and files.is_object(path) then
    errors.raise('unsupported', ("%s: '%s': only files of this machine are read; read_parquet takes such a URI"):format(owner,
      path))
  end
  local absolute = files.absolute(path)
  local is_pattern = glob.is_pattern(absolute)
  local kind = not (is_pattern and files.is_object(absolute)) and files.kind(absolute) or nil
  local found
  if kind == 'file' then
    found = {absolute}
  elseif kind == 'folder' then
    found = with_extension(files.below(absolute), options)
    if #found == 0 and not options.ignore_missing_paths then
      local which = options.file_extensions and (' with the extension ' .. table.concat(options.file_extensions, ', ')) or ''
      errors.raise('not_found', ("%s: no files%s in the folder '%s'"):format(owner, which, path))
    end
  elseif is_pattern then
    found = with_extension(glob.files(absolute), options)
    if #found == 0 and not options.ignore_missing_paths then
      errors.raise('not_found', ("%s: no file matches '%s'%s"):format(owner, path, files.looked_in(path)))
    end
  elseif not options.ignore_missing_paths then
    errors.raise('not_found', ("%s: no such file or folder: '%s'%s"):format(owner, path, files.looked_in(path)))
  end
  for _, file in ipairs(found or {}) do out[#out + 1] = file end
end

---Returns the absolute paths or URIs of the files for `given`, in order: a folder stands for all files below it,
---sorted; a pattern for those that match. Raises code 'not_found' if there are no files.
---@param owner string the function, for messages
---@param given string|string[]
---@param options {file_extensions: string[]?, ignore_missing_paths: boolean?, is_local: boolean?, with_packed:
---  boolean?} `is_local`: refuses URIs; `with_packed`: 'a.csv.gz' has the extension 'csv' too
---@return string[]
function paths.expand(owner, given, options)
  local out = {}
  local list = type(given) == 'table' and given or {given}
  for _, path in ipairs(list) do expand(owner, path, options, out) end
  if #out == 0 then errors.raise('not_found', owner .. ': no files to read') end
  return out
end

return paths
