// host/dash/event_stream.h: the server-sent events for one viewer, as they happen.
#pragma once

#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain::dash {

class EventStream {
 public:
  virtual ~EventStream() = default;
  // The events since the last call; empty: none. Called on one thread, several times a second; not
  // while the viewer is behind.
  virtual std::string next() = 0;
  // Nothing comes any more: the viewer's connection may end.
  virtual bool is_over() const { return false; }
};

// "event: NAME\ndata: JSON\n\n".
std::string event_text(std::string_view name, const Value& data);

}  // namespace rtrain::dash
