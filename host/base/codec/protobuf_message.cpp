#include "host/base/codec/protobuf_message.h"

#include <bit>

namespace rtrain {
namespace {

enum class WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void add_varint(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

void add_tag(std::string& out, int field, WireType type) {
  add_varint(out, static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type));
}

}  // namespace

ProtobufMessage& ProtobufMessage::add_number(int field, uint64_t number) {
  add_tag(bytes_, field, WireType::kVarint);
  add_varint(bytes_, number);
  return *this;
}

ProtobufMessage& ProtobufMessage::add_float(int field, float number) {
  add_tag(bytes_, field, WireType::kFixed32);
  add_little_endian(bytes_, std::bit_cast<uint32_t>(number));
  return *this;
}

ProtobufMessage& ProtobufMessage::add_double(int field, double number) {
  add_tag(bytes_, field, WireType::kFixed64);
  add_little_endian(bytes_, std::bit_cast<uint64_t>(number));
  return *this;
}

ProtobufMessage& ProtobufMessage::add_doubles(int field, const std::vector<double>& numbers) {
  std::string packed;
  for (const double number : numbers) add_little_endian(packed, std::bit_cast<uint64_t>(number));
  return add_bytes(field, packed);
}

ProtobufMessage& ProtobufMessage::add_bytes(int field, std::string_view bytes) {
  add_tag(bytes_, field, WireType::kBytes);
  add_varint(bytes_, bytes.size());
  bytes_ += bytes;
  return *this;
}

}  // namespace rtrain
