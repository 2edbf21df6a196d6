#include "host/engine/data/gunzip.h"

#include <libdeflate.h>

#include <memory>

namespace rtrain::engine {

bool gunzip(std::span<const uint8_t> file, std::span<uint8_t> out) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>
      decompressor(libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (decompressor == nullptr) return false;
  while (!file.empty()) {
    size_t taken = 0;
    size_t written = 0;
    const libdeflate_result result = libdeflate_gzip_decompress_ex(
        decompressor.get(), file.data(), file.size(), out.data(), out.size(), &taken, &written);
    if (result != LIBDEFLATE_SUCCESS) return false;
    file = file.subspan(taken);
    out = out.subspan(written);
  }
  return out.empty();
}

}  // namespace rtrain::engine
