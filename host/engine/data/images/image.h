// host/engine/data/images/image.h: a JPEG or PNG image in memory as a tensor, with the modes and
// values of torchvision.io.
//
// The functions use only their arguments and the calling thread: any number of threads may decode
// at once. A bad image gives an Error(kArgument) that does not name the image, because the caller
// knows which one it is.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rtrain::engine {

using ImageBytes = std::span<const uint8_t>;

// Which channels the result has, as torchvision's ImageReadMode.
enum class ImageMode { kUnchanged, kGray, kGrayAlpha, kRgb, kRgbAlpha };

struct ImageSize {
  int64_t height;
  int64_t width;
  bool operator==(const ImageSize&) const = default;
};

struct ImageOptions {
  // The limit of Pillow's check for decompression bombs.
  static constexpr int64_t kMaxPixels = 178956970;

  ImageMode mode = ImageMode::kUnchanged;
  bool apply_exif_orientation = false;
  int64_t max_pixels = kMaxPixels;  // larger images are refused before memory is allocated
  bool keep_16_bits = false;        // else a 16-bit PNG is reduced to its high bytes
  std::optional<ImageSize> size;    // of the result
};

// The mode with that name. Throws Error(kArgument) with "did you mean" for another name.
ImageMode parse_image_mode(std::string_view name);

// Throws Error(kArgument) that names max_pixels if the image is larger or empty.
void check_image_size(ImageSize size, int64_t max_pixels);

// Returns (h, w, c): uint8, or uint16 for a 16-bit PNG with keep_16_bits. With `size` the result is
// resized with the antialiased bilinear filter of Pillow's resize(). A JPEG is first decoded at the
// smallest of 1/2, 1/4 and 1/8 of its size that is not below `size`, as Pillow's draft() does. On
// photographs that differs from filtering all pixels by at most 2 levels on average, over 40 dB;
// without it the result is within 2 levels everywhere (tests/e2e/data/test_images.py).
at::Tensor decode_image(ImageBytes bytes, const ImageOptions& options);
// The same, but the bytes must be in this format.
at::Tensor decode_jpeg(ImageBytes bytes, const ImageOptions& options);
at::Tensor decode_png(ImageBytes bytes, const ImageOptions& options);

}  // namespace rtrain::engine
