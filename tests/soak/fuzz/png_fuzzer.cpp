// vision.io.decode_png: headers, Exif data and pixels.
#include "tests/soak/fuzz/image_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return rtrain::run_image_decoder(data, size, rtrain::engine::decode_png);
}
