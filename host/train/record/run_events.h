// host/train/record/run_events.h: the messages of a run: events for the thread that called fit(),
// and lines in its record.
//
// Belongs to the control thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "host/base/value.h"
#include "host/train/record/io_calls.h"
#include "host/train/run/event_queue.h"

namespace rtrain {

// The names of metrics in their order, which a table of Lua does not keep.
List metric_names(const Value& metrics);

class RunEvents {
 public:
  RunEvents(EventQueue& queue, IoCalls& io) : queue_(queue), io_(io) {}

  // The attempt that every event and line from here on belongs to.
  void set_attempt(int attempt) { attempt_ = attempt; }

  void emit(std::string_view type, Map fields);
  // A line that a worker or a validation has printed, a report: as EventQueue has it.
  void emit_output(Map fields);
  void emit_report(Map fields);
  size_t waiting_bytes() const { return queue_.waiting_bytes(); }
  // A line in the run's record.
  void record(std::string_view level, const std::string& text);
  // One that is shown as well.
  void notice(std::string_view level, const std::string& text);
  // The same for what a run says once, whatever the attempt. `key` names it.
  void notice_once(const std::string& key, std::string_view level, const std::string& text);

 private:
  Map with_origin(std::string_view type, Map fields) const;

  EventQueue& queue_;
  IoCalls& io_;
  int attempt_ = 0;
  std::set<std::string> noticed_;  // keys of notice_once
};

}  // namespace rtrain
