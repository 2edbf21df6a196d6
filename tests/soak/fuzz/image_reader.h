// tests/soak/fuzz/image_reader.h: decodes bytes in all modes that run different code.
#pragma once

#include "host/engine/data/images/image.h"
#include "tests/soak/fuzz/run_reader.h"
#include "tests/soak/fuzz/touch.h"

namespace rtrain {

template <class Decoder>
int run_image_decoder(const uint8_t* data, size_t size, const Decoder& decoder) {
  engine::ImageOptions whole;
  whole.max_pixels = 1 << 18;
  whole.keep_16_bits = true;
  engine::ImageOptions scaled = whole;
  scaled.keep_16_bits = false;
  scaled.apply_exif_orientation = true;
  scaled.size = {5, 3};
  for (engine::ImageOptions options : {whole, scaled}) {
    for (const engine::ImageMode mode :
         {engine::ImageMode::kUnchanged, engine::ImageMode::kGray, engine::ImageMode::kRgbAlpha}) {
      options.mode = mode;
      run_reader([&] { touch(decoder(engine::ImageBytes(data, size), options)); });
    }
  }
  return 0;
}

}  // namespace rtrain
