#include "host/base/codec/packing.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace rtrain {
namespace {

using namespace std::string_view_literals;

// Also checks for a block or the end marker, because "BZh" alone may begin a text.
bool is_bzip2(std::string_view head) {
  if (head.size() < kPackingBytes || !head.starts_with("BZh")) return false;
  const std::string_view mark = head.substr(4, 6);
  return head[3] >= '1' && head[3] <= '9' && (mark == "1AY&SY"sv || mark == "\x17rE8P\x90"sv);
}

// A frame, or a skippable frame, which parallel packers write first.
bool is_zstandard(std::string_view head) {
  if (head.starts_with("\x28\xb5\x2f\xfd"sv)) return true;
  return head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18"sv;
}

}  // namespace

std::optional<Packing> packing_of(std::string_view head) {
  if (head.starts_with("\x1f\x8b"sv)) return Packing::kGzip;
  if (head.starts_with("\xfd\x37zXZ\0"sv)) return Packing::kXz;
  if (is_zstandard(head)) return Packing::kZstandard;
  if (is_bzip2(head)) return Packing::kBzip2;
  return std::nullopt;
}

std::optional<Packing> packing_of_name(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Packing>, 5> kEnds = {
      {{".gz", Packing::kGzip},
       {".zst", Packing::kZstandard},
       {".zstd", Packing::kZstandard},
       {".bz2", Packing::kBzip2},
       {".xz", Packing::kXz}}};
  std::string lower(name.substr(name.size() - std::min<size_t>(name.size(), 5)));
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [end, packing] : kEnds) {
    if (lower.ends_with(end)) return packing;
  }
  return std::nullopt;
}

std::string_view packing_name(Packing packing) {
  constexpr std::string_view kNames[] = {"gzip", "Zstandard", "bzip2", "xz"};
  return kNames[static_cast<size_t>(packing)];
}

}  // namespace rtrain
