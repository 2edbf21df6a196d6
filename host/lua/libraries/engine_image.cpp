#include "host/lua/libraries/engine_image.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "host/machine/libraries/libtorch.h"

// packaging/cmake/Embed.cmake assembles these.
extern "C" {
extern const rtrain::lua::EngineImage rtrain_engine_images[];
extern const uint64_t rtrain_engine_image_count;
}

namespace rtrain::lua {

const EngineImage* find_engine(std::string_view minor) {
  const std::span<const EngineImage> images(rtrain_engine_images, rtrain_engine_image_count);
  const auto found = std::ranges::find(images, minor, &EngineImage::minor);
  return found == images.end() ? nullptr : &*found;
}

const EngineImage* engine_in_use() {
  static const EngineImage* const image = [] {
    const auto libtorch = machine::find_libtorch().found;
    return libtorch ? find_engine(libtorch->minor) : nullptr;
  }();
  return image;
}

}  // namespace rtrain::lua
