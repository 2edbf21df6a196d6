#include "host/train/reports/annotation_receiver.h"

#include <utility>

namespace rtrain {
namespace {

constexpr size_t kMaxUnwrittenBytes = size_t{8} << 20;

}  // namespace

void AnnotationReceiver::add(int attempt, int rank, const Value& message) {
  writer_.add(AnnotationRow{attempt, rank, message["time"].as_int(),
                            message["severity"].as_string(), message["text"].as_string()});
  if (message["id"].is_nil()) return;
  asked_.push_back({rank, message["id"].as_int()});
  on_written();
}

void AnnotationReceiver::on_written() {
  if (writer_.unwritten_bytes() > kMaxUnwrittenBytes) return;
  for (const auto& [rank, id] : std::exchange(asked_, {})) {
    send_(rank, Map{{"type", "reply"}, {"id", id}, {"value", true}});
  }
}

}  // namespace rtrain
