#include "host/store/import/event_file.h"

#include "host/base/codec/masked_crc.h"
#include "host/base/codec/png_header.h"
#include "host/base/codec/protobuf_message.h"
#include "host/base/codec/wav.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

ProtobufMessage event_at(int64_t time_ms) {
  return ProtobufMessage().add_double(1, static_cast<double>(time_ms) / 1000);  // wall_time
}

}  // namespace

EventFile::EventFile(std::ostream& out, int64_t began_ms) : out_(out) {
  add_record(event_at(began_ms).add_bytes(3, "brain.Event:2").bytes());  // file_version
}

void EventFile::add_scalar(std::string_view tag, int64_t step, int64_t time_ms, double value) {
  add_value(tag, step, time_ms, ProtobufMessage().add_float(2, static_cast<float>(value)));
}

void EventFile::add_image(std::string_view tag, int64_t step, int64_t time_ms,
                          std::string_view png) {
  const auto header = read_png_header(png);
  if (!header) {
    throw Error(Code::kArgument, cat("the image ", tag, " of step ", step, " is not a PNG"));
  }
  ProtobufMessage image;
  image.add_number(1, header->height)
      .add_number(2, header->width)
      .add_number(3, static_cast<uint64_t>(header->channels))  // colorspace
      .add_bytes(4, png);                                      // encoded_image_string
  add_value(tag, step, time_ms, ProtobufMessage().add(4, image));
}

void EventFile::add_audio(std::string_view tag, int64_t step, int64_t time_ms,
                          std::string_view wav) {
  const WavFormat format = read_wav_format(wav);
  ProtobufMessage audio;
  audio.add_float(1, static_cast<float>(format.sample_rate))
      .add_number(2, format.channels)  // num_channels
      .add_number(3, format.frames)    // length_frames
      .add_bytes(4, wav)               // encoded_audio_string
      .add_bytes(5, "audio/wav");      // content_type
  add_value(tag, step, time_ms, ProtobufMessage().add(6, audio));
}

void EventFile::add_histogram(std::string_view tag, int64_t step, int64_t time_ms,
                              const Histogram& histogram) {
  ProtobufMessage fields;
  fields.add_double(1, histogram.min)
      .add_double(2, histogram.max)
      .add_double(3, histogram.num)
      .add_double(4, histogram.sum)
      .add_double(5, histogram.sum_squares)
      .add_doubles(6, histogram.limits)
      .add_doubles(7, histogram.counts);
  add_value(tag, step, time_ms, ProtobufMessage().add(5, fields));
}

// Adds a tensor of one string, with the plugin that displays it.
void EventFile::add_text(std::string_view tag, int64_t step, int64_t time_ms,
                         std::string_view text) {
  constexpr uint64_t kString = 7;
  const ProtobufMessage shape = ProtobufMessage().add(2, ProtobufMessage().add_number(1, 1));
  ProtobufMessage tensor;
  tensor.add_number(1, kString).add(2, shape).add_bytes(8, text);
  const ProtobufMessage plugin = ProtobufMessage().add_bytes(1, "text");
  const ProtobufMessage metadata = ProtobufMessage().add(1, plugin);
  add_value(tag, step, time_ms, ProtobufMessage().add(8, tensor).add(9, metadata));
}

void EventFile::add_value(std::string_view tag, int64_t step, int64_t time_ms,
                          const ProtobufMessage& value) {
  std::string tagged = ProtobufMessage().add_bytes(1, tag).bytes();
  tagged += value.bytes();
  const ProtobufMessage summary = ProtobufMessage().add_bytes(1, tagged);
  add_record(event_at(time_ms).add_number(2, static_cast<uint64_t>(step)).add(5, summary).bytes());
}

void EventFile::add_record(const std::string& event) {
  std::string record;
  add_little_endian(record, static_cast<uint64_t>(event.size()));
  add_little_endian(record, masked_crc(record));
  record += event;
  add_little_endian(record, masked_crc(event));
  out_ << record;
}

}  // namespace rtrain::store
