#include "host/base/codec/protobuf.h"

#include <string>

#include "host/base/error.h"

namespace rtrain {

void ProtobufFields::fail() const { throw Error(Code::kArgument, std::string(failure_)); }

bool ProtobufFields::next() {
  if (bytes_.empty()) return false;
  const uint64_t key = varint();
  number_ = key >> 3;
  type_ = static_cast<Type>(key & 7);
  data_ = {};
  switch (type_) {
    case Type::kVarint:
      value_ = varint();
      return true;
    case Type::kFixed64:
      data_ = take(8);
      return true;
    case Type::kBytes:
      data_ = take(varint());
      return true;
    case Type::kFixed32:
      data_ = take(4);
      return true;
  }
  fail();
}

uint64_t ProtobufFields::varint() {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(take(1)[0]);
    out |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return out;
  }
  fail();
}

std::string_view ProtobufFields::take(uint64_t size) {
  if (size > bytes_.size()) fail();
  const std::string_view out = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return out;
}

}  // namespace rtrain
