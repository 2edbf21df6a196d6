// host/base/codec/protobuf_message.h: writes a message of protocol buffers, field by field. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

// Adds the number's bytes, the lowest first.
template <class Number>
void add_little_endian(std::string& out, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}

class ProtobufMessage {
 public:
  // An integer, a boolean or the number of an enumeration.
  ProtobufMessage& add_number(int field, uint64_t number);
  ProtobufMessage& add_float(int field, float number);
  ProtobufMessage& add_double(int field, double number);
  ProtobufMessage& add_doubles(int field, const std::vector<double>& numbers);
  // A string, bytes or another message.
  ProtobufMessage& add_bytes(int field, std::string_view bytes);
  ProtobufMessage& add(int field, const ProtobufMessage& message) {
    return add_bytes(field, message.bytes_);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace rtrain
