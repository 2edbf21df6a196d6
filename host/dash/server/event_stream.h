// host/dash/server/event_stream.h: server-sent events for one viewer.
#pragma once

#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain::dash {

class EventStream {
 public:
  virtual ~EventStream() = default;
  // Returns the events since the last call, or "". Called on one thread, several times a second,
  // except while the viewer is behind.
  virtual std::string next() = 0;
  // Whether no event will follow: the viewer's connection may end.
  virtual bool is_over() const { return false; }
};

// Formats "event: NAME\ndata: JSON\n\n".
std::string event_text(std::string_view name, const Value& data);

}  // namespace rtrain::dash
