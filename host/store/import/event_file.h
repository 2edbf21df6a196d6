// host/store/import/event_file.h: writes scalars, images, audio, histograms and texts in
// TensorBoard's format: records with checksums, each an Event of its protocol buffers.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/codec/protobuf_message.h"

namespace rtrain::store {

class EventFile {
 public:
  // Writes to `out`, which must outlive this object and whose owner checks it for errors.
  // `began_ms`: time of the first record, which has the file's version.
  EventFile(std::ostream& out, int64_t began_ms);

  // Written as a 32-bit float, TensorBoard's only type.
  void add_scalar(std::string_view tag, int64_t step, int64_t time_ms, double value);

  // A PNG. Error(kArgument) for anything else.
  void add_image(std::string_view tag, int64_t step, int64_t time_ms, std::string_view png);

  // A WAV file. Error(kArgument) for anything else.
  void add_audio(std::string_view tag, int64_t step, int64_t time_ms, std::string_view wav);

  struct Histogram {
    double min = 0;
    double max = 0;
    double num = 0;
    double sum = 0;
    double sum_squares = 0;
    std::vector<double> limits;  // the upper end of each bin
    std::vector<double> counts;
  };
  void add_histogram(std::string_view tag, int64_t step, int64_t time_ms,
                     const Histogram& histogram);
  void add_text(std::string_view tag, int64_t step, int64_t time_ms, std::string_view text);

 private:
  // `value`: the fields of a Summary.Value except its tag.
  void add_value(std::string_view tag, int64_t step, int64_t time_ms, const ProtobufMessage& value);
  void add_record(const std::string& event);

  std::ostream& out_;
};

}  // namespace rtrain::store
