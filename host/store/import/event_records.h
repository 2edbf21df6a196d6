// host/store/import/event_records.h: reads the scalars of TensorBoard's event files: records with
// checksums, each an Event of its protocol buffers.
//
// Safe for untrusted bytes: any content gives scalars or an Error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rtrain::store {

struct EventScalar {
  std::string tag;
  int64_t step = 0;
  int64_t time_ms = 0;  // since 1970
  double value = 0;
};

struct EventRecords {
  std::vector<EventScalar> scalars;  // in file order
  bool is_cut = false;               // its last record is not whole: somebody still writes it
};

// Ignores other values (images, histograms, texts). Throws Error(kArgument) if a record's checksum
// or content is wrong.
EventRecords read_event_records(std::string_view bytes);

}  // namespace rtrain::store
