// host/engine/data/images/png.h: PNG by libpng: pixels from bytes and bytes from pixels.
//
// libpng reports errors by longjmp: it only ever crosses functions of this file that own nothing.
#pragma once

#include <memory>

#include "host/engine/data/images/image.h"

namespace rtrain {

class PngDecoder {
 public:
  // Reads all that lies before the pixels. The bytes must stay. Palettes become colours (and
  // transparency, where they have it), fewer than 8 bits become 8. Throws Error(kArgument) when
  // they are not PNG, or are too few for the pixels they promise, or when there are more than
  // max_pixels of them.
  PngDecoder(ImageBytes bytes, const ImageOptions& options);
  ~PngDecoder();
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  ImageSize size() const;
  int64_t channels() const;
  bool has_16_bits() const;  // of what decode() gives
  int orientation() const;   // 1 to 8, from its Exif data

  // (height, width, channels), contiguous, one or two bytes a value. Once. Throws Error(kArgument)
  // for data that is truncated or damaged.
  void decode(uint8_t* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

bool is_png(ImageBytes bytes);

// The image (h, w, c) of 1 to 4 channels, contiguous uint8, as a PNG file's bytes. REQUIRES:
// compression_level is 0 to 9, neither side is 0.
at::Tensor encode_png(const at::Tensor& image, int compression_level);

}  // namespace rtrain
