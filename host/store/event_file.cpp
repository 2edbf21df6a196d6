#include "host/store/event_file.h"

#include <bit>

#include "host/base/masked_crc.h"

namespace rtrain {
namespace {

template <class Number>
void add_fixed(std::string& out, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}

void add_varint(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

// Fields of protocol buffers: number and wire type, then the value.
void add_bytes(std::string& out, int field, std::string_view bytes) {
  add_varint(out, static_cast<uint64_t>(field) << 3 | 2);
  add_varint(out, bytes.size());
  out += bytes;
}

std::string event_at(int64_t time_ms) {
  std::string event;
  add_varint(event, 1 << 3 | 1);  // wall_time, a double
  add_fixed(event, std::bit_cast<uint64_t>(static_cast<double>(time_ms) / 1000));
  return event;
}

}  // namespace

EventFile::EventFile(std::ostream& out, int64_t began_ms) : out_(out) {
  std::string event = event_at(began_ms);
  add_bytes(event, 3, "brain.Event:2");  // file_version
  add_record(event);
}

void EventFile::add_scalar(std::string_view tag, int64_t step, int64_t time_ms, double value) {
  std::string scalar;
  add_bytes(scalar, 1, tag);
  add_varint(scalar, 2 << 3 | 5);  // simple_value, a float
  add_fixed(scalar, std::bit_cast<uint32_t>(static_cast<float>(value)));
  std::string summary;
  add_bytes(summary, 1, scalar);
  std::string event = event_at(time_ms);
  add_varint(event, 2 << 3);  // step
  add_varint(event, static_cast<uint64_t>(step));
  add_bytes(event, 5, summary);
  add_record(event);
}

void EventFile::add_record(const std::string& event) {
  std::string record;
  add_fixed(record, static_cast<uint64_t>(event.size()));
  add_fixed(record, masked_crc(record));
  record += event;
  add_fixed(record, masked_crc(event));
  out_ << record;
}

}  // namespace rtrain
