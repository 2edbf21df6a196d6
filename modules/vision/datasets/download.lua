-- vision/datasets/download.lua: downloads the files of a data set from the mirror in $RTRAIN_DATA_URL.
--
-- Several workers may ask at the same time: one downloads, the others wait for it (flock). A file gets its name when it
-- is complete and has the MD5 that torchvision specifies.

local errors = require 'base.errors'
local location = require 'vision.datasets.location'
local system = require 'base._system'

local download = {}

-- Arguments: folder, file, address, MD5, action ('keep' or 'unpack': a .tar.gz). Prints the outcome at the end.
local SCRIPT = [[
folder=$1; file=$2; url=$3; md5=$4; then=$5
mkdir -p "$folder" || { echo "rtrain: folder"; exit; }
exec 9>"$folder/.download.lock" || { echo "rtrain: folder"; exit; }
flock 9
[ -e "$folder/$file" ] && { echo "rtrain: done"; exit; }
[ "$then" = unpack ] && [ -e "$folder/.$file.done" ] && { echo "rtrain: done"; exit; }
part="$folder/.$file.part"
trap 'rm -f "$part"' EXIT
command -v curl >/dev/null || { echo "rtrain: curl"; exit; }
curl -fsSL --connect-timeout 30 --speed-limit 1000 --speed-time 60 -o "$part" "$url" || { echo "rtrain: fetch"; exit; }
sum=$(md5sum <"$part"); sum=${sum%% *}
[ "$sum" = "$md5" ] || { echo "rtrain: md5 $sum"; exit; }
if [ "$then" = unpack ]; then
  tar -xzf "$part" -C "$folder" && touch "$folder/.$file.done" || { echo "rtrain: unpack"; exit; }
else
  mv "$part" "$folder/$file" || { echo "rtrain: folder"; exit; }
fi
echo "rtrain: done"
]]

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Returns the outcome that the script printed: 'done', 'fetch', 'md5 …'.
local function run(...)
  local words = {'sh -c', quoted(SCRIPT), 'download'}
  for _, word in ipairs {...} do words[#words + 1] = quoted(word) end
  local pipe = assert(io.popen(table.concat(words, ' ') .. ' 2>&1'))
  local text = pipe:read '*a'
  pipe:close()
  return text:match 'rtrain: ([^\n]*)' or 'stopped', (text:gsub('rtrain: [^\n]*\n?', ''):gsub('%s+$', ''))
end

local TEXTS = {
  curl = 'the program curl is not on this machine: install it, or fetch the file yourself',
  folder = 'it cannot be written',
  unpack = 'tar cannot unpack it',
  stopped = 'it was interrupted',
}

local function refuse(name, url, how, said, archive)
  local md5 = how:match '^md5 (%x*)$'
  local text = TEXTS[how] or md5 and ('it has the MD5 %s, and not %s: it is damaged, or another file'):format(md5, archive.md5)
    or 'it cannot be fetched'
  errors.raise('environment', ('%s: %s: %s%s'):format(name, url, text, said ~= '' and ': ' .. said or ''))
end

local function mirror(name)
  local url = os.getenv 'RTRAIN_DATA_URL'
  if url and url ~= '' then return (url:gsub('/+$', '')) end
  errors.raise('argument', name .. ': download = true takes the files from a mirror of your own: set RTRAIN_DATA_URL to the '
    .. 'address below which it has them, or fetch them yourself and pass {root = …} or set RTRAIN_DATA')
end

-- Returns the folder for the files: below the root, else below $RTRAIN_DATA.
local function target(name, root, folder)
  local base = root or os.getenv 'RTRAIN_DATA'
  if base and base ~= '' then return location.expand_home(base) .. '/' .. folder end
  errors.raise('argument', name .. ': download = true: say where to: pass {root = …}, or set RTRAIN_DATA')
end

---Fetches missing files. `$RTRAIN_DATA_URL/FOLDER/FILE` is an archive's address.
---@param name string the data set, for messages
---@param folder string its name below the root: 'mnist'
---@param root? string as given to the data set; default $RTRAIN_DATA
---@param archives {file: string, md5: string, holds: string[]?, unpack: boolean?}[] holds: the archive is not fetched
---  if one of these files exists; default: the archive itself
---Raises code 'argument' without RTRAIN_DATA_URL or a folder, 'environment' for a file that cannot be fetched or has
---the wrong MD5.
function download.fetch(name, folder, root, archives)
  local to = target(name, root, folder)
  for _, archive in ipairs(archives) do
    local is_here = location.is_file(to .. '/' .. archive.file)
    for _, file in ipairs(archive.holds or {}) do is_here = is_here or location.is_file(to .. '/' .. file) end
    if not is_here then
      local url = ('%s/%s/%s'):format(mirror(name), folder, archive.file)
      local how, said = run(to, archive.file, url, archive.md5, archive.unpack and 'unpack' or 'keep')
      if how ~= 'done' then refuse(name, system.path_kind(to) == 'file' and to or url, how, said, archive) end
    end
  end
end

return download
