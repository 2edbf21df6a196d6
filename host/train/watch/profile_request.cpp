#include "host/train/watch/profile_request.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

constexpr double kStartAndWriteS = 60;

}  // namespace

double profile_deadline_s(double recorded_s) { return recorded_s + kStartAndWriteS; }

ProfileRequest::ProfileRequest(Loop& loop, std::function<void(int rank, const Value& message)> send)
    : send_(std::move(send)), deadline_(loop, [this] { finish(); }) {}

void ProfileRequest::start(const ProfilePlan& plan, Done done) {
  if (!ranks_.empty()) {
    throw Error(Code::kUsage, "a profile of this run is under way already: wait until it is done");
  }
  ranks_ = plan.ranks;
  done_ = std::move(done);
  answers_.clear();
  ++id_;
  waits_s_ = profile_deadline_s(plan.steps > 0 ? plan.timeout_s : plan.seconds);
  deadline_.start(to_ms(waits_s_));
  for (const int rank : plan.ranks) {
    send_(rank, Map{{"type", "profile"},
                    {"id", id_},
                    {"seconds", plan.seconds},
                    {"steps", plan.steps},
                    {"timeout_s", plan.timeout_s},
                    {"record_shapes", plan.record_shapes},
                    {"path", cat(plan.stem, "-rank", rank, ".json")}});
  }
}

void ProfileRequest::on_answer(int rank, const Value& message) {
  if (message["id"].as_int() != id_) return;
  Map answer;
  for (const char* key : {"path", "events", "seconds", "reports", "note", "error"}) {
    if (!message[key].is_nil()) answer.set(key, message[key]);
  }
  set_answer(rank, std::move(answer));
}

void ProfileRequest::on_gone(int rank) {
  set_answer(rank, Map{{"error", "it ended before its profile was written"}});
}

void ProfileRequest::set_answer(int rank, Map answer) {
  bool is_asked = false;
  for (const int asked : ranks_) is_asked = is_asked || asked == rank;
  if (!is_asked || answers_.contains(rank)) return;
  answers_.emplace(rank, std::move(answer));
  if (answers_.size() == ranks_.size()) finish();
}

void ProfileRequest::finish() {
  deadline_.stop();
  List out;
  for (const int rank : std::exchange(ranks_, {})) {
    const auto found = answers_.find(rank);
    Map each{{"rank", rank}};
    if (found == answers_.end()) {
      each.set("error", cat("it has not written its profile after ", waits_s_,
                            " s: `rtrain stack` shows where it is"));
    } else {
      for (const auto& [key, value] : found->second) each.set(key, value);
    }
    out.push_back(std::move(each));
  }
  std::exchange(done_, nullptr)(out);
}

}  // namespace rtrain
