#include "host/engine/data/images/exif.h"

#include <optional>

namespace rtrain::engine {
namespace {

constexpr uint16_t kOrientationTag = 0x0112;
constexpr uint16_t kShortType = 3;
constexpr size_t kEntryBytes = 12;

// Reads numbers at offsets that the data itself contains.
class Tiff {
 public:
  Tiff(std::span<const uint8_t> bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  std::optional<uint32_t> number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    uint32_t out = 0;
    for (size_t i = 0; i < size; ++i)
      out = out << 8 | bytes_[at + (big_endian_ ? i : size - 1 - i)];
    return out;
  }
  std::optional<uint32_t> u16(size_t at) const { return number(at, 2); }
  std::optional<uint32_t> u32(size_t at) const { return number(at, 4); }

 private:
  std::span<const uint8_t> bytes_;
  bool big_endian_;
};

}  // namespace

int exif_orientation(std::span<const uint8_t> tiff) {
  if (tiff.size() < 8) return 1;
  const bool big_endian = tiff[0] == 'M' && tiff[1] == 'M';
  if (!big_endian && !(tiff[0] == 'I' && tiff[1] == 'I')) return 1;
  const Tiff data(tiff, big_endian);
  const size_t folder = data.u32(4).value_or(0);
  const uint32_t count = data.u16(folder).value_or(0);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = folder + 2 + i * kEntryBytes;
    const std::optional<uint32_t> tag = data.u16(entry);
    if (!tag) return 1;
    if (*tag != kOrientationTag || data.u16(entry + 2) != kShortType) continue;
    const uint32_t value = data.u16(entry + 8).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

at::Tensor upright(const at::Tensor& image, int orientation) {
  constexpr int64_t kHeight = 0, kWidth = 1;
  const at::Tensor turned = swaps_sides(orientation) ? image.transpose(kHeight, kWidth) : image;
  switch (orientation) {
    case 2:
    case 6:
      return turned.flip({kWidth});
    case 3:
    case 7:
      return turned.flip({kHeight, kWidth});
    case 4:
    case 8:
      return turned.flip({kHeight});
    default:
      return turned.contiguous();
  }
}

}  // namespace rtrain::engine
