// host/engine/data/images/png.h: PNG by libpng: pixels from bytes and bytes from pixels.
//
// libpng reports errors by longjmp, which only crosses functions of png.cpp that own nothing.
#pragma once

#include <memory>

#include "host/engine/data/images/image.h"

namespace rtrain::engine {

class PngDecoder {
 public:
  // Reads everything before the pixels. The bytes must stay alive. Palettes become colours (with
  // transparency if they have it); fewer than 8 bits become 8. Throws Error(kArgument) if the bytes
  // are not PNG, are too few for the number of pixels in the header, or have more than max_pixels
  // pixels.
  PngDecoder(ImageBytes bytes, const ImageOptions& options);
  ~PngDecoder();
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  ImageSize size() const;
  int64_t channels() const;
  bool has_16_bits() const;  // of decode()'s result
  int orientation() const;   // 1 to 8, from its Exif data

  // Writes (height, width, channels), contiguous, one or two bytes per value. Call it once. Throws
  // Error(kArgument) for truncated or damaged data.
  void decode(uint8_t* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

bool is_png(ImageBytes bytes);

// Encodes an image (h, w, c) of 1 to 4 channels, contiguous uint8, as PNG. REQUIRES:
// compression_level is 0 to 9, neither side is 0.
at::Tensor encode_png(const at::Tensor& image, int compression_level);

}  // namespace rtrain::engine
