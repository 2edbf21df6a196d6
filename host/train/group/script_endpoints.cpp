#include "host/train/group/script_endpoints.h"

namespace rtrain::train {
namespace {

constexpr size_t kMaxText = 16384;

}  // namespace

ScriptEndpoints::ScriptEndpoints(loop::Loop& loop, RunEvents& events, const RunSpec& spec)
    : events_(events) {
  if (!spec.join) return;
  joins_.emplace(
      loop, node::JoinSpec{
                .socket = spec.join->socket, .num_ranks = spec.join->num_ranks, .first_joined = 1});
  joins_->begin(spec.join->fit);
}

void ScriptEndpoints::offer(int local_rank, int fd) {
  if (local_rank > 0) return joins_->offer(local_rank, fd);
  events_.emit("local_worker", {{"fd", fd}});
}

void ScriptEndpoints::withdraw() {
  if (joins_) joins_->withdraw();
}

void ScriptEndpoints::end(const message::Ended& ended) {
  if (joins_) joins_->end(ended);
}

message::Ended ended_message(const Map& finished) {
  message::Ended out{.path = finished["path"].string_or("")};
  if (const Value& value = finished["error"]; !value.is_nil()) {
    const Error error = error_from_value(value);
    out.error = Error(error.code(), error.message().substr(0, kMaxText),
                      error.traceback().substr(0, kMaxText));
  }
  return out;
}

}  // namespace rtrain::train
