// host/engine/data/images/jpeg.h: JPEG by libjpeg-turbo: pixels from bytes and bytes from pixels.
//
// libjpeg reports errors by longjmp: it only ever crosses functions of this file that own nothing.
#pragma once

#include <memory>

#include "host/engine/data/images/image.h"

namespace rtrain {

class JpegDecoder {
 public:
  // Reads the header. The bytes must stay. Throws Error(kArgument) when they are not JPEG, or are
  // too few for the pixels they promise, when there are more than max_pixels of them, or when the
  // mode asks for transparency, which JPEG does not have.
  JpegDecoder(ImageBytes bytes, ImageMode mode, int64_t max_pixels);
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  ImageSize size() const;  // of what decode() gives
  int64_t channels() const;
  int orientation() const;  // 1 to 8, from its Exif data

  // Halves height and width, up to three times, as long as neither falls below `least`: a shortcut
  // of the decoder that leaves out the high frequencies. The divisor, 1 to 8; sides are rounded up.
  int shrink_towards(ImageSize least);

  // (height, width, channels), contiguous. Once. Throws Error(kArgument) for data that is truncated
  // or damaged beyond what the decoder repairs.
  void decode(uint8_t* out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline bool is_jpeg(ImageBytes bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

// The image (h, w, c) of 1 or 3 channels, contiguous uint8, as a JPEG file's bytes; colours at half
// their resolution (4:2:0). REQUIRES: quality is 1 to 100, each side 1 to 65,500.
at::Tensor encode_jpeg(const at::Tensor& image, int quality);

}  // namespace rtrain
