// host/train/record/run_events.h: the events of a run for the thread that called fit(), and lines
// in its record.
//
// Belongs to the control thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "host/base/value.h"
#include "host/train/record/io_calls.h"
#include "host/train/run/event_queue.h"

namespace rtrain::train {

// The names of metrics in order, because a Lua table does not keep it.
List metric_names(const Value& metrics);

class RunEvents {
 public:
  RunEvents(EventQueue& queue, IoCalls& io) : queue_(queue), io_(io) {}

  // Sets the attempt of later events and lines.
  void set_attempt(int attempt) { attempt_ = attempt; }

  void emit(std::string_view type, Map fields);
  // Emits a line printed by a worker or a validation, or a report: see EventQueue.
  void emit_output(Map fields);
  void emit_report(Map fields);
  size_t waiting_bytes() const { return queue_.waiting_bytes(); }
  // Adds a line to the run's record.
  void record(std::string_view level, const std::string& text);
  // Adds a line to the record and shows it.
  void notice(std::string_view level, const std::string& text);
  // The same, but only once in the run, whatever the attempt. `key` identifies the notice.
  void notice_once(const std::string& key, std::string_view level, const std::string& text);

 private:
  Map with_origin(std::string_view type, Map fields) const;

  EventQueue& queue_;
  IoCalls& io_;
  int attempt_ = 0;
  std::set<std::string> noticed_;  // keys of notice_once
};

}  // namespace rtrain::train
