#include "host/store/import/event_file.h"

#include <bit>

#include "host/base/codec/masked_crc.h"
#include "host/base/codec/wav.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

template <class Number>
void add_fixed(std::string& out, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}

void add_varint(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

// Writes fields of protocol buffers: number and wire type, then the value.
void add_bytes(std::string& out, int field, std::string_view bytes) {
  add_varint(out, static_cast<uint64_t>(field) << 3 | 2);
  add_varint(out, bytes.size());
  out += bytes;
}

void add_number(std::string& out, int field, uint64_t number) {
  add_varint(out, static_cast<uint64_t>(field) << 3);
  add_varint(out, number);
}

void add_double(std::string& out, int field, double number) {
  add_varint(out, static_cast<uint64_t>(field) << 3 | 1);
  add_fixed(out, std::bit_cast<uint64_t>(number));
}

void add_doubles(std::string& out, int field, const std::vector<double>& numbers) {
  std::string packed;
  for (const double number : numbers) add_fixed(packed, std::bit_cast<uint64_t>(number));
  add_bytes(out, field, packed);
}

uint64_t big_endian(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// Channels for a PNG's colour type. Palettes count as colours.
uint64_t channels_of(char colour_type) {
  switch (colour_type) {
    case 0:
      return 1;
    case 4:
      return 2;
    case 6:
      return 4;
    default:
      return 3;
  }
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
  add_varint(scalar, 2 << 3 | 5);  // simple_value, a float
  add_fixed(scalar, std::bit_cast<uint32_t>(static_cast<float>(value)));
  add_value(tag, step, time_ms, scalar);
}

void EventFile::add_image(std::string_view tag, int64_t step, int64_t time_ms,
                          std::string_view png) {
  constexpr size_t kHeaderBytes = 26;
  if (png.size() < kHeaderBytes || !png.starts_with("\x89PNG")) {
    throw Error(Code::kArgument, cat("the image ", tag, " of step ", step, " is not a PNG"));
  }
  std::string image;
  add_number(image, 1, big_endian(png.substr(20, 4)));  // height
  add_number(image, 2, big_endian(png.substr(16, 4)));  // width
  add_number(image, 3, channels_of(png[25]));           // colorspace
  add_bytes(image, 4, png);                             // encoded_image_string
  std::string value;
  add_bytes(value, 4, image);
  add_value(tag, step, time_ms, value);
}

void EventFile::add_audio(std::string_view tag, int64_t step, int64_t time_ms,
                          std::string_view wav) {
  const WavFormat format = read_wav_format(wav);
  std::string audio;
  add_varint(audio, 1 << 3 | 5);  // sample_rate, a float
  add_fixed(audio, std::bit_cast<uint32_t>(static_cast<float>(format.sample_rate)));
  add_number(audio, 2, format.channels);  // num_channels
  add_number(audio, 3, format.frames);    // length_frames
  add_bytes(audio, 4, wav);               // encoded_audio_string
  add_bytes(audio, 5, "audio/wav");       // content_type
  std::string value;
  add_bytes(value, 6, audio);
  add_value(tag, step, time_ms, value);
}

void EventFile::add_histogram(std::string_view tag, int64_t step, int64_t time_ms,
                              const Histogram& histogram) {
  std::string fields;
  add_double(fields, 1, histogram.min);
  add_double(fields, 2, histogram.max);
  add_double(fields, 3, histogram.num);
  add_double(fields, 4, histogram.sum);
  add_double(fields, 5, histogram.sum_squares);
  add_doubles(fields, 6, histogram.limits);
  add_doubles(fields, 7, histogram.counts);
  std::string value;
  add_bytes(value, 5, fields);
  add_value(tag, step, time_ms, value);
}

// Adds a tensor of one string, with the plugin that displays it.
void EventFile::add_text(std::string_view tag, int64_t step, int64_t time_ms,
                         std::string_view text) {
  constexpr uint64_t kString = 7;
  std::string size;
  add_number(size, 1, 1);
  std::string shape;
  add_bytes(shape, 2, size);
  std::string tensor;
  add_number(tensor, 1, kString);
  add_bytes(tensor, 2, shape);
  add_bytes(tensor, 8, text);
  std::string plugin;
  add_bytes(plugin, 1, "text");
  std::string metadata;
  add_bytes(metadata, 1, plugin);
  std::string value;
  add_bytes(value, 8, tensor);
  add_bytes(value, 9, metadata);
  add_value(tag, step, time_ms, value);
}

void EventFile::add_value(std::string_view tag, int64_t step, int64_t time_ms,
                          std::string_view value) {
  std::string tagged;
  add_bytes(tagged, 1, tag);
  tagged += value;
  std::string summary;
  add_bytes(summary, 1, tagged);
  std::string event = event_at(time_ms);
  add_number(event, 2, static_cast<uint64_t>(step));
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

}  // namespace rtrain::store
