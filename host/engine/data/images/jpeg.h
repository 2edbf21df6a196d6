// host/engine/data/images/jpeg.h: JPEG by libjpeg-turbo: pixels from bytes and bytes from pixels.
//
// libjpeg reports errors by longjmp, which only crosses functions of jpeg.cpp that own nothing.
#pragma once

#include <memory>

#include "host/engine/data/images/image.h"

namespace rtrain::engine {

class JpegDecoder {
 public:
  // Reads the header. The bytes must stay alive. Throws Error(kArgument) if they are not JPEG, are
  // too few for the number of pixels in the header, have more than max_pixels pixels, or if the
  // mode needs transparency, which JPEG does not have.
  JpegDecoder(ImageBytes bytes, ImageMode mode, int64_t max_pixels);
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  ImageSize size() const;  // of decode()'s result
  int64_t channels() const;
  int orientation() const;  // 1 to 8, from its Exif data

  // Halves height and width up to three times while both stay at least `least`. The decoder does
  // this cheaply, by leaving out high frequencies. Returns the divisor, 1 to 8; sides are rounded
  // up.
  int shrink_towards(ImageSize least);

  // Writes (height, width, channels), contiguous. Call it once. Throws Error(kArgument) for
  // truncated data and for damage that the decoder cannot repair.
  void decode(uint8_t* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline bool is_jpeg(ImageBytes bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

// Encodes an image (h, w, c) of 1 or 3 channels, contiguous uint8, as JPEG; colours at half
// resolution (4:2:0). REQUIRES: quality is 1 to 100, each side 1 to 65,500.
at::Tensor encode_jpeg(const at::Tensor& image, int quality);

}  // namespace rtrain::engine
