// host/base/codec/protobuf.h: reads the fields of a protocol buffers message.
#pragma once

#include <cstdint>
#include <string_view>

namespace rtrain {

// The first bytes as a little-endian number, which may also be a part of other formats. REQUIRES:
// bytes.size() >= sizeof(Number).
template <class Number>
Number little_endian(std::string_view bytes) {
  Number out = 0;
  for (size_t i = 0; i < sizeof(Number); ++i) {
    out |= static_cast<Number>(static_cast<Number>(static_cast<uint8_t>(bytes[i])) << (8 * i));
  }
  return out;
}

// Iterates over the fields in the order of the bytes:
//
//     for (ProtobufFields fields(bytes, "a record is not an event"); fields.next();) …
//
// Safe for untrusted bytes: anything but a message throws Error(kArgument) with the text `failure`.
class ProtobufFields {
 public:
  enum class Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  // Both must outlive the object.
  ProtobufFields(std::string_view bytes, std::string_view failure)
      : bytes_(bytes), failure_(failure) {}

  // Goes to the next field; false at the end.
  bool next();

  uint64_t number() const { return number_; }
  Type type() const { return type_; }
  // For a varint.
  int64_t integer() const { return static_cast<int64_t>(value_); }
  // For the other types. Empty for a varint.
  std::string_view data() const { return data_; }

  // Reads packed numbers, which have no field numbers: at_end(), then varint().
  bool at_end() const { return bytes_.empty(); }
  uint64_t varint();

  [[noreturn]] void fail() const;

 private:
  std::string_view take(uint64_t size);

  std::string_view bytes_;
  std::string_view failure_;
  uint64_t number_ = 0;
  Type type_ = Type::kVarint;
  uint64_t value_ = 0;
  std::string_view data_;
};

}  // namespace rtrain
