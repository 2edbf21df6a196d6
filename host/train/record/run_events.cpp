#include "host/train/record/run_events.h"

#include <utility>

#include "host/base/clock.h"

namespace rtrain::train {

List metric_names(const Value& metrics) {
  List out;
  if (!metrics.is_map()) return out;
  for (const auto& [key, value] : metrics.as_map()) {
    if (const auto* name = std::get_if<std::string>(&key)) out.emplace_back(*name);
  }
  return out;
}

Map RunEvents::with_origin(std::string_view type, Map fields) const {
  fields.set("type", type);
  fields.set("attempt", attempt_);
  fields.set("time", now_ms());
  return fields;
}

void RunEvents::emit(std::string_view type, Map fields) {
  queue_.add(with_origin(type, std::move(fields)));
}

void RunEvents::emit_output(Map fields) {
  queue_.add_output(with_origin("output", std::move(fields)));
}

void RunEvents::emit_report(Map fields) {
  queue_.add_report(with_origin("report", std::move(fields)));
}

void RunEvents::record(std::string_view level, const std::string& text) {
  io_.write([attempt = attempt_, level = std::string(level), text](RunRecord& record) {
    record.add_event(attempt, level, text);
  });
}

void RunEvents::notice_once(const std::string& key, std::string_view level,
                            const std::string& text) {
  if (noticed_.insert(key).second) notice(level, text);
}

void RunEvents::notice(std::string_view level, const std::string& text) {
  emit("notice", {{"level", level}, {"text", text}});
  record(level, text);
}

}  // namespace rtrain::train
