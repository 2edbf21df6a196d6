#include "host/worker/checkpoint_client.h"

#include <chrono>

#include "host/base/codec/codec.h"
#include "host/worker/report/controller_lost.h"
#include "host/worker/report/replies.h"
#include "host/worker/worker_process.h"

namespace rtrain::worker {

List CheckpointClient::reported(bool validated, std::optional<double> timeout_s) {
  const loop::WorkerContext& context = worker_.context();
  const int64_t reports = context.first_index + worker_.reporter().num_reports();
  const std::pair question(reports, validated);
  repeat_ = question == question_ ? repeat_ + 1 : 0;
  question_ = question;
  const std::chrono::duration<double> limit(timeout_s.value_or(context.timeout_s));
  const int64_t id = worker_.request(message::Checkpoints{.reports = reports,
                                                          .validated = validated,
                                                          .repeat = repeat_,
                                                          .timeout_s = limit.count(),
                                                          .partial = timeout_s.has_value()});
  const WaitScope waits(worker_.progress(), WaitKind::kBounded, "get_all_reported_checkpoints()");
  const auto answer =
      worker_.wait_reply(id, std::chrono::ceil<std::chrono::milliseconds>(limit) + kAnswerGrace);
  std::string bytes;
  {
    const std::lock_guard lock(mutex_);
    auto parts = parts_.extract(id);
    if (!parts.empty()) bytes = std::move(parts.mapped());
  }
  if (!answer) {
    throw controller_silent("get_all_reported_checkpoints()", limit.count());
  }
  List checkpoints = decode(bytes).as_list();
  for (Value& each : checkpoints) {
    each.as_map().set("path", worker_.far_paths().here(each["path"].as_string()));
  }
  return checkpoints;
}

void CheckpointClient::set_damaged(const std::string& path, const std::string& problem) {
  worker_.tell(message::Damaged{.path = worker_.far_paths().there(path), .problem = problem});
}

void CheckpointClient::on_part(const message::Part& part) {
  const std::lock_guard lock(mutex_);
  parts_[part.id] += part.bytes;
}

}  // namespace rtrain::worker
