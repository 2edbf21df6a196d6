// host/engine/data/images/images.cpp: torch._C.data.decode_images, decode_files, gather_strings,
// decode_image, encode_jpeg, encode_png, encode_apng, read_file and write_file.
#include <array>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/base/files/input_file.h"
#include "host/base/files/new_file.h"
#include "host/base/text/text.h"
#include "host/engine/data/images/apng.h"
#include "host/engine/data/images/byte_rows.h"
#include "host/engine/data/images/image_batch.h"
#include "host/engine/data/images/jpeg.h"
#include "host/engine/data/images/png.h"
#include "host/engine/files/file_storage.h"
#include "host/engine/runtime/checks.h"
#include "host/engine/runtime/guard.h"
#include "host/engine/runtime/open.h"
#include "host/engine/tensor/tensor.h"
#include "host/lua/options.h"

namespace rtrain::engine {
namespace {

constexpr int64_t kMaxSide = 1 << 24;
constexpr int64_t kMaxJpegSide = 65500;

// Reads {height, width} at the index.
ImageSize check_size(lua_State* L, int index, const char* what) {
  std::array<int64_t, 2> sides{};
  bool right = lua_type(L, index) == LUA_TTABLE && lua_objlen(L, index) == sides.size();
  for (size_t i = 0; right && i < sides.size(); ++i) {
    lua_rawgeti(L, index, static_cast<int>(i) + 1);
    const double side = lua_tonumber(L, -1);
    right =
        side >= 1 && side <= kMaxSide && side == static_cast<double>(static_cast<int64_t>(side));
    if (right) sides[i] = static_cast<int64_t>(side);
    lua_pop(L, 1);
  }
  if (!right) {
    throw Error(Code::kArgument,
                cat(what, ": size: expected {height, width}, got ", describe_value(L, index)));
  }
  return {sides[0], sides[1]};
}

ImageOptions image_options(lua_State* L, int index, const char* what, const char* mode) {
  const lua::Options given(L, index, what,
                           {"mode", "size", "apply_exif_orientation", "max_pixels"});
  ImageOptions out;
  out.mode = parse_image_mode(given.text("mode", mode));
  out.apply_exif_orientation = given.boolean("apply_exif_orientation", false);
  out.max_pixels = given.integer("max_pixels", ImageOptions::kMaxPixels);
  given.push("size");
  if (!lua_isnil(L, -1)) out.size = check_size(L, lua_gettop(L), what);
  lua_pop(L, 1);
  return out;
}

ImageBytes bytes_of(const at::Tensor& tensor, std::string_view what) {
  const bool right = tensor.dim() == 1 && tensor.scalar_type() == at::kByte && tensor.is_cpu() &&
                     tensor.is_contiguous();
  if (!right) {
    throw Error(Code::kArgument, cat(what,
                                     ": expected a contiguous uint8 tensor of one dimension "
                                     "on the CPU, got ",
                                     describe(tensor)));
  }
  return {tensor.const_data_ptr<uint8_t>(), static_cast<size_t>(tensor.numel())};
}

// Pushes one tensor (n, h, w, c), or a list of (h, w, c) if sizes differ.
int push_images(lua_State* L, const std::vector<at::Tensor>& images) {
  if (at::Tensor batch = stacked(images); batch.defined()) {
    push_tensor(L, std::move(batch));
    return 1;
  }
  push_tensors(L, images);
  return 1;
}

// (offsets, bytes, options) → images
int decode_images(lua_State* L) {
  const ByteRows rows(check_tensor(L, 1), check_tensor(L, 2));
  return push_images(L, decode_rows(rows, image_options(L, 3, "decode_images", "RGB")));
}

// (list of paths, options) → images
int decode_image_files(lua_State* L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  const ImageOptions options = image_options(L, 2, "decode_files", "RGB");
  std::vector<std::string> paths(lua_objlen(L, 1));
  for (size_t i = 0; i < paths.size(); ++i) {
    lua_rawgeti(L, 1, static_cast<int>(i) + 1);
    paths[i] = check_text(L, -1, "decode_files: path");
    lua_pop(L, 1);
  }
  return push_images(L, decode_files(paths, options));
}

// (offsets, bytes, indices) → offsets, bytes
int gather_strings(lua_State* L) {
  const ByteRows rows(check_tensor(L, 1), check_tensor(L, 2));
  auto [offsets, bytes] = rows.take(check_tensor(L, 3));
  push_tensor(L, std::move(offsets));
  push_tensor(L, std::move(bytes));
  return 2;
}

// (path or bytes, options, "jpeg", "png" or nil) → (c, h, w), uint8 or uint16
int decode_one(lua_State* L) {
  ImageOptions options = image_options(L, 2, "decode_image", "UNCHANGED");
  options.keep_16_bits = !options.size.has_value();
  const std::string format(lua_isnoneornil(L, 3) ? "" : check_text(L, 3, "decode_image: format"));
  const ImageDecoder decoder = format == "jpeg"  ? &decode_jpeg
                               : format == "png" ? &decode_png
                                                 : &decode_image;
  const at::Tensor image =
      lua_type(L, 1) == LUA_TSTRING
          ? decode_file(lua_tostring(L, 1), options, decoder)
          : decoder(bytes_of(check_tensor(L, 1), "decode_image: input"), options);
  push_tensor(L, image.permute({2, 0, 1}));
  return 1;
}

// Returns the image (c, h, w) at index 1 as contiguous (h, w, c).
at::Tensor check_pixels(lua_State* L, const char* what, std::initializer_list<int64_t> channels) {
  const at::Tensor& image = check_tensor(L, 1);
  bool right = image.dim() == 3 && image.scalar_type() == at::kByte && image.numel() > 0;
  bool known = false;
  for (const int64_t count : channels) known = known || (right && image.size(0) == count);
  if (!known) {
    throw Error(Code::kArgument,
                cat(what, ": expected a uint8 image (c, h, w) of 1 ",
                    channels.size() == 2 ? "or 3" : "to 4", " channels, got ", describe(image)));
  }
  return image.permute({1, 2, 0}).cpu().contiguous();
}

int64_t check_level(lua_State* L, const char* what, int64_t least, int64_t most) {
  const double level = luaL_checknumber(L, 2);
  if (level >= static_cast<double>(least) && level <= static_cast<double>(most)) {
    return static_cast<int64_t>(level);
  }
  throw Error(Code::kArgument, cat(what, " must be ", least, " to ", most, ", not ", level));
}

// (image (c, h, w), quality) → uint8 [n]
int encode_to_jpeg(lua_State* L) {
  const at::Tensor pixels = check_pixels(L, "encode_jpeg", {1, 3});
  if (pixels.size(0) > kMaxJpegSide || pixels.size(1) > kMaxJpegSide) {
    throw Error(Code::kArgument,
                cat("encode_jpeg: a JPEG's sides have at most ", kMaxJpegSide,
                    " pixels, this image is ", pixels.size(1), " × ", pixels.size(0)));
  }
  const int64_t quality = check_level(L, "encode_jpeg: quality", 1, 100);
  push_tensor(L, encode_jpeg(pixels, static_cast<int>(quality)));
  return 1;
}

// (image (c, h, w), compression_level) → uint8 [n]
int encode_to_png(lua_State* L) {
  const at::Tensor pixels = check_pixels(L, "encode_png", {1, 2, 3, 4});
  const int64_t level = check_level(L, "encode_png: compression_level", 0, 9);
  push_tensor(L, encode_png(pixels, static_cast<int>(level)));
  return 1;
}

// (frames (t, c, h, w), frames per second, compression_level) → uint8 [n]. The caller has checked
// them.
int encode_to_apng(lua_State* L) {
  const at::Tensor frames = check_tensor(L, 1).permute({0, 2, 3, 1}).contiguous();
  push_tensor(L, encode_apng(frames, luaL_checknumber(L, 2), luaL_checkint(L, 3)));
  return 1;
}

// (path) → uint8 [n]
int read_file(lua_State* L) {
  const InputFile file(std::string(check_text(L, 1, "read_file: path")), InputFile::Access::kCopy);
  push_tensor(L, host_bytes(file_storage(file, 0, file.size(), 1)));
  return 1;
}

// (path, uint8 [n])
int write_file(lua_State* L) {
  const std::string path(check_text(L, 1, "write_file: filename"));
  const ImageBytes bytes = bytes_of(check_tensor(L, 2), "write_file: data");
  NewFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
  return 0;
}

}  // namespace

void open_images(lua_State* L) {
  static constexpr std::array kFunctions = {torch_method<&decode_images>("decode_images"),
                                            torch_method<&gather_strings>("gather_strings"),
                                            torch_method<&decode_image_files>("decode_files"),
                                            torch_method<&decode_one>("decode_image"),
                                            torch_method<&encode_to_jpeg>("encode_jpeg"),
                                            torch_method<&encode_to_png>("encode_png"),
                                            torch_method<&encode_to_apng>("encode_apng"),
                                            torch_method<&read_file>("read_file"),
                                            torch_method<&write_file>("write_file")};
  lua_getfield(L, -1, "data");
  lua::add_functions(L, kFunctions);
  lua_pop(L, 1);
}

}  // namespace rtrain::engine
