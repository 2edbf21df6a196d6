#include "host/engine/data/images/image.h"

#include <ATen/ops/_upsample_bilinear2d_aa.h>

#include <array>
#include <vector>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/data/images/exif.h"
#include "host/engine/data/images/jpeg.h"
#include "host/engine/data/images/png.h"
#include "host/engine/tensor/empty_tensor.h"

namespace rtrain::engine {
namespace {

using namespace std::string_view_literals;

struct ModeName {
  std::string_view name;
  ImageMode mode;
};

constexpr ModeName kModeNames[] = {
    {"UNCHANGED", ImageMode::kUnchanged},  {"GRAY", ImageMode::kGray},
    {"GRAY_ALPHA", ImageMode::kGrayAlpha}, {"RGB", ImageMode::kRgb},
    {"RGB_ALPHA", ImageMode::kRgbAlpha},   {"RGBA", ImageMode::kRgbAlpha},
};

struct Signature {
  std::string_view bytes;
  size_t at;
  std::string_view format;
};

// Other formats that users may have. The error message names them.
constexpr Signature kOthers[] = {
    {"GIF8"sv, 0, "GIF"},      {"WEBP"sv, 8, "WebP"},    {"BM"sv, 0, "BMP"},
    {"II*\0"sv, 0, "TIFF"},    {"MM\0*"sv, 0, "TIFF"},   {"ftypavif"sv, 4, "AVIF"},
    {"ftypheic"sv, 4, "HEIC"}, {"\0\0\1\0"sv, 0, "ICO"}, {"<svg"sv, 0, "SVG"},
};

bool holds(ImageBytes bytes, const Signature& signature) {
  if (bytes.size() < signature.at + signature.bytes.size()) return false;
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return std::string_view(text + signature.at, signature.bytes.size()) == signature.bytes;
}

// Names the format of the bytes, for an error message.
std::string described(ImageBytes bytes) {
  if (bytes.empty()) return "it is empty";
  if (is_jpeg(bytes)) return "it is a JPEG";
  if (is_png(bytes)) return "it is a PNG";
  for (const Signature& other : kOthers) {
    if (holds(bytes, other)) return cat("it is a ", other.format, " image");
  }
  return "it is not an image";
}

ImageSize turned(ImageSize size, int orientation) {
  return swaps_sides(orientation) ? ImageSize{size.width, size.height} : size;
}

// The decoded image, before it is turned upright and resized.
struct Raw {
  at::Tensor image;
  int orientation = 1;
  int64_t divisor = 1;  // file's size divided by the image's size, before rounding
  ImageSize file_size;
};

// The decoder rounds a side of 187.5 pixels up to 188. The filter must use the exact length, or the
// image is shifted.
double scale_of(int64_t wanted, int64_t file_side, int64_t divisor) {
  return static_cast<double>(wanted * divisor) / static_cast<double>(file_side);
}

at::Tensor resized(const Raw& raw, ImageSize size) {
  const at::Tensor& image = raw.image;
  if (raw.divisor == 1 && size == raw.file_size) return image;
  // (h, w, c) in memory is PyTorch's channels_last, the fast case of this filter.
  const at::Tensor batch = image.permute({2, 0, 1}).unsqueeze(0);
  const std::array<int64_t, 2> wanted{size.height, size.width};
  const at::Tensor out =
      at::_upsample_bilinear2d_aa(batch, wanted, /*align_corners=*/false,
                                  scale_of(size.height, raw.file_size.height, raw.divisor),
                                  scale_of(size.width, raw.file_size.width, raw.divisor));
  return out.squeeze(0).permute({1, 2, 0}).contiguous();
}

at::Tensor empty_image(ImageSize size, int64_t channels, at::ScalarType dtype) {
  return empty_tensor({size.height, size.width, channels}, at::TensorOptions().dtype(dtype));
}

at::Tensor finished(const Raw& raw, const ImageOptions& options) {
  if (!options.size) return upright(raw.image, raw.orientation);
  return upright(resized(raw, turned(*options.size, raw.orientation)), raw.orientation);
}

}  // namespace

ImageMode parse_image_mode(std::string_view name) {
  std::vector<std::string> names;
  for (const ModeName& known : kModeNames) {
    if (known.name == name) return known.mode;
    names.emplace_back(known.name);
  }
  throw Error(Code::kArgument, cat("mode cannot be '", name, "'", suggestion(name, names)));
}

void check_image_size(ImageSize size, int64_t max_pixels) {
  if (size.height < 1 || size.width < 1) throw Error(Code::kArgument, "it has no pixels");
  if (size.height <= max_pixels / size.width) return;
  throw Error(Code::kArgument, cat("it has ", size.width, " × ", size.height,
                                   " pixels, more than max_pixels = ", max_pixels,
                                   ": pass a larger {max_pixels = …} if this is not an attack"));
}

at::Tensor decode_jpeg(ImageBytes bytes, const ImageOptions& options) {
  if (!is_jpeg(bytes)) throw Error(Code::kArgument, cat("no JPEG: ", described(bytes)));
  JpegDecoder decoder(bytes, options.mode, options.max_pixels);
  Raw raw;
  raw.file_size = decoder.size();
  if (options.apply_exif_orientation) raw.orientation = decoder.orientation();
  if (options.size) raw.divisor = decoder.shrink_towards(turned(*options.size, raw.orientation));
  raw.image = empty_image(decoder.size(), decoder.channels(), at::kByte);
  decoder.decode(static_cast<uint8_t*>(raw.image.mutable_data_ptr()));
  return finished(raw, options);
}

at::Tensor decode_png(ImageBytes bytes, const ImageOptions& options) {
  if (!is_png(bytes)) throw Error(Code::kArgument, cat("no PNG: ", described(bytes)));
  PngDecoder decoder(bytes, options);
  Raw raw;
  raw.file_size = decoder.size();
  if (options.apply_exif_orientation) raw.orientation = decoder.orientation();
  raw.image = empty_image(decoder.size(), decoder.channels(),
                          decoder.has_16_bits() ? at::kUInt16 : at::kByte);
  decoder.decode(static_cast<uint8_t*>(raw.image.mutable_data_ptr()));
  return finished(raw, options);
}

at::Tensor decode_image(ImageBytes bytes, const ImageOptions& options) {
  if (is_jpeg(bytes)) return decode_jpeg(bytes, options);
  if (is_png(bytes)) return decode_png(bytes, options);
  throw Error(Code::kArgument, cat(described(bytes), "; JPEG and PNG are read"));
}

}  // namespace rtrain::engine
