// host/arrow/readers/flat_table.h: reads fields of a FlatBuffers table, the form of Arrow's
// metadata, of which Arrow's library shows a part only.
//
// Safe for untrusted bytes: a position outside of them throws Error(kArgument).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "host/base/codec/protobuf.h"
#include "host/base/error.h"

namespace rtrain::arrow {

class FlatTable {
 public:
  // The root table.
  explicit FlatTable(std::string_view bytes) : FlatTable(bytes, 0) { at_ = follow(0); }

  // The position of a field, counted from 0 as in the format's schema; nullopt if it has its
  // default value.
  std::optional<size_t> find(size_t field) const {
    const auto back = number<int32_t>(at_);
    const auto vtable = static_cast<size_t>(static_cast<int64_t>(at_) - back);
    const size_t entry = 4 + 2 * field;
    if (entry + 2 > number<uint16_t>(vtable)) return std::nullopt;
    const auto offset = number<uint16_t>(vtable + entry);
    if (offset == 0) return std::nullopt;
    return at_ + offset;
  }

  template <class Number>
  Number get(size_t field, Number fallback) const {
    const auto place = find(field);
    return place ? number<Number>(*place) : fallback;
  }

  // The table that the field refers to; nullopt if it is absent.
  std::optional<FlatTable> table(size_t field) const {
    const auto place = find(field);
    if (!place) return std::nullopt;
    return FlatTable(bytes_, follow(*place));
  }

  // The position of a vector's first item, and how many it has.
  struct Items {
    size_t first = 0;
    size_t count = 0;
  };
  Items items(size_t field) const {
    const auto place = find(field);
    if (!place) return {};
    const size_t vector = follow(*place);
    return {.first = vector + 4, .count = number<uint32_t>(vector)};
  }

  template <class Number>
  Number number(size_t place) const {
    if (place > bytes_.size() || bytes_.size() - place < sizeof(Number)) {
      throw Error(Code::kArgument, "its metadata are damaged");
    }
    using Unsigned = std::make_unsigned_t<Number>;
    return static_cast<Number>(little_endian<Unsigned>(bytes_.substr(place)));
  }

 private:
  FlatTable(std::string_view bytes, size_t at) : bytes_(bytes), at_(at) {}

  size_t follow(size_t place) const { return place + number<uint32_t>(place); }

  std::string_view bytes_;
  size_t at_;
};

}  // namespace rtrain::arrow
