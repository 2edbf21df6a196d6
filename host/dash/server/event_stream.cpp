#include "host/dash/server/event_stream.h"

#include "host/base/codec/json.h"
#include "host/base/text/text.h"

namespace rtrain::dash {

std::string event_text(std::string_view name, const Value& data) {
  return cat("event: ", name, "\ndata: ", to_json(data), "\n\n");
}

}  // namespace rtrain::dash
