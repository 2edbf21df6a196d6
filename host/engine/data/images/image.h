// host/engine/data/images/image.h: a JPEG or PNG image in memory as a tensor, with the modes and
// numbers of torchvision.io.
//
// Every function works on its arguments alone and on the calling thread: any number of threads may
// decode at a time. What is wrong with an image is an Error(kArgument) without a name: the caller
// knows which image it was.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtrain {

using ImageBytes = std::span<const uint8_t>;

// The channels that come out: torchvision's ImageReadMode.
enum class ImageMode { kUnchanged, kGray, kGrayAlpha, kRgb, kRgbAlpha };

struct ImageSize {
  int64_t height;
  int64_t width;
  bool operator==(const ImageSize&) const = default;
};

struct ImageOptions {
  // Pillow's limit for what it calls a decompression bomb.
  static constexpr int64_t kMaxPixels = 178956970;

  ImageMode mode = ImageMode::kUnchanged;
  bool apply_exif_orientation = false;
  int64_t max_pixels = kMaxPixels;  // a header that says more is refused before memory is taken
  bool keep_16_bits = false;        // else the high bytes of a PNG of 16 bits are taken
  std::optional<ImageSize> size;    // of the result
};

// The mode of that name; throws Error(kArgument) with "did you mean".
ImageMode parse_image_mode(std::string_view name);

// Throws Error(kArgument) that names max_pixels when the image is larger, or empty.
void check_image_size(ImageSize size, int64_t max_pixels);

// (h, w, c), uint8, or uint16 for a PNG of 16 bits that keeps them. With `size` the result is
// scaled by the antialiased bilinear filter of Pillow's resize(); a JPEG is first decoded at the
// smallest of 1/2, 1/4 and 1/8 of its size that is not below the wanted one, as Pillow's draft()
// does it. On photographs that stays within 2 levels on average, over 40 dB, of filtering all
// pixels; without it the result is within 2 levels everywhere (tests/e2e/test_images.py).
at::Tensor decode_image(ImageBytes bytes, const ImageOptions& options);
// The same for bytes that have to be of the one format.
at::Tensor decode_jpeg(ImageBytes bytes, const ImageOptions& options);
at::Tensor decode_png(ImageBytes bytes, const ImageOptions& options);

}  // namespace rtrain
