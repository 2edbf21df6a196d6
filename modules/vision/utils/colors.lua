-- vision/utils/colors.lua: parses colours: names, '#rrggbb', or three numbers.

local class = require 'base.class'
local errors = require 'base.errors'

local colors = {}

-- CSS colour names.
local NAMES = [[
  aliceblue=f0f8ff antiquewhite=faebd7 aqua=00ffff aquamarine=7fffd4 azure=f0ffff beige=f5f5dc bisque=ffe4c4
  black=000000 blanchedalmond=ffebcd blue=0000ff blueviolet=8a2be2 brown=a52a2a burlywood=deb887 cadetblue=5f9ea0
  chartreuse=7fff00 chocolate=d2691e coral=ff7f50 cornflowerblue=6495ed cornsilk=fff8dc crimson=dc143c cyan=00ffff
  darkblue=00008b darkcyan=008b8b darkgoldenrod=b8860b darkgray=a9a9a9 darkgreen=006400 darkgrey=a9a9a9
  darkkhaki=bdb76b darkmagenta=8b008b darkolivegreen=556b2f darkorange=ff8c00 darkorchid=9932cc darkred=8b0000
  darksalmon=e9967a darkseagreen=8fbc8f darkslateblue=483d8b darkslategray=2f4f4f darkslategrey=2f4f4f
  darkturquoise=00ced1 darkviolet=9400d3 deeppink=ff1493 deepskyblue=00bfff dimgray=696969 dimgrey=696969
  dodgerblue=1e90ff firebrick=b22222 floralwhite=fffaf0 forestgreen=228b22 fuchsia=ff00ff gainsboro=dcdcdc
  ghostwhite=f8f8ff gold=ffd700 goldenrod=daa520 gray=808080 green=008000 greenyellow=adff2f grey=808080
  honeydew=f0fff0 hotpink=ff69b4 indianred=cd5c5c indigo=4b0082 ivory=fffff0 khaki=f0e68c lavender=e6e6fa
  lavenderblush=fff0f5 lawngreen=7cfc00 lemonchiffon=fffacd lightblue=add8e6 lightcoral=f08080 lightcyan=e0ffff
  lightgoldenrodyellow=fafad2 lightgray=d3d3d3 lightgreen=90ee90 lightgrey=d3d3d3 lightpink=ffb6c1 lightsalmon=ffa07a
  lightseagreen=20b2aa lightskyblue=87cefa lightslategray=778899 lightslategrey=778899 lightsteelblue=b0c4de
  lightyellow=ffffe0 lime=00ff00 limegreen=32cd32 linen=faf0e6 magenta=ff00ff maroon=800000 mediumaquamarine=66cdaa
  mediumblue=0000cd mediumorchid=ba55d3 mediumpurple=9370db mediumseagreen=3cb371 mediumslateblue=7b68ee
  mediumspringgreen=00fa9a mediumturquoise=48d1cc mediumvioletred=c71585 midnightblue=191970 mintcream=f5fffa
  mistyrose=ffe4e1 moccasin=ffe4b5 navajowhite=ffdead navy=000080 oldlace=fdf5e6 olive=808000 olivedrab=6b8e23
  orange=ffa500 orangered=ff4500 orchid=da70d6 palegoldenrod=eee8aa palegreen=98fb98 paleturquoise=afeeee
  palevioletred=db7093 papayawhip=ffefd5 peachpuff=ffdab9 peru=cd853f pink=ffc0cb plum=dda0dd powderblue=b0e0e6
  purple=800080 rebeccapurple=663399 red=ff0000 rosybrown=bc8f8f royalblue=4169e1 saddlebrown=8b4513 salmon=fa8072
  sandybrown=f4a460 seagreen=2e8b57 seashell=fff5ee sienna=a0522d silver=c0c0c0 skyblue=87ceeb slateblue=6a5acd
  slategray=708090 slategrey=708090 snow=fffafa springgreen=00ff7f steelblue=4682b4 tan=d2b48c teal=008080
  thistle=d8bfd8 tomato=ff6347 turquoise=40e0d0 violet=ee82ee wheat=f5deb3 white=ffffff whitesmoke=f5f5f5
  yellow=ffff00 yellowgreen=9acd32]]

local by_name = {}
for name, digits in NAMES:gmatch '(%w+)=(%x+)' do by_name[name] = digits end

-- Expands 'f80' to 'ff8800'.
local function six_digits(text)
  local short = text:match '^#(%x%x%x)$'
  if short then return (short:gsub('%x', '%0%0')) end
  return text:match '^#(%x%x%x%x%x%x)$' or by_name[text]
end

local function bytes_of(digits)
  local rgb = {}
  for pair in digits:gmatch '%x%x' do rgb[#rgb + 1] = tonumber(pair, 16) end
  return rgb
end

-- Recognizes {r, g, b}, also as a tensor's row.
local function is_triple(value)
  if type(value) ~= 'table' or class.of(value) or #value ~= 3 then return false end
  for i = 1, 3 do
    local part = value[i]
    if type(part) ~= 'number' or part % 1 ~= 0 or part < 0 or part > 255 then return false end
  end
  return true
end

local function parse(owner, value)
  if is_triple(value) then return value end
  local digits = type(value) == 'string' and six_digits(value:lower())
  if digits then return bytes_of(digits) end
  errors.raise('argument', ("%s: %s is not a colour: write a name such as 'red', '#ff0000', or {255, 0, 0}"):format(
    owner, type(value) == 'string' and "'" .. value .. "'" or 'a ' .. type(value)))
end

-- Returns a different colour for each object, the same in each call.
local function palette(count)
  local out = {}
  for i = 0, count - 1 do out[i + 1] = {i * (2 ^ 25 - 1) % 255, i * (2 ^ 15 - 1) % 255, i * (2 ^ 21 - 1) % 255} end
  return out
end

---Returns the colours of some objects.
---@param owner string the function, for messages
---@param given any nil: a palette; one colour for all; or a list with a colour for each object
---@param count integer number of objects
---@return integer[][] rgb count lists of three numbers from 0 to 255
---Errors: 'argument' for a value that is not a colour, and for a list that is too short.
function colors.of_objects(owner, given, count)
  if given == nil then return palette(count) end
  local is_list = type(given) == 'table' and not is_triple(given)
  if is_list and #given < count then
    errors.raise('argument', ('%s: %d colours for %d objects: give one for each'):format(owner, #given, count))
  end
  local out = {}
  for i = 1, count do
    if is_list then out[i] = parse(owner, given[i]) else out[i] = parse(owner, given) end
  end
  return out
end

return colors
