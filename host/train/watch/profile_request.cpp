#include "host/train/watch/profile_request.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/profile/memory_report.h"
#include "host/profile/sampled_stacks.h"

namespace rtrain::train {
namespace {

constexpr double kStartAndWriteS = 60;

}  // namespace

double profile_deadline_s(double recorded_s) { return recorded_s + kStartAndWriteS; }

ProfileRequest::ProfileRequest(loop::Loop& loop,
                               std::function<void(int rank, message::ToWorker message)> send)
    : send_(std::move(send)), deadline_(loop, [this] { finish(); }) {}

void ProfileRequest::start(const ProfilePlan& plan, Done done) {
  if (!ranks_.empty()) {
    throw Error(Code::kUsage, "a profile of this run is under way already: wait until it is done");
  }
  ranks_ = plan.ranks;
  done_ = std::move(done);
  answers_.clear();
  ++id_;
  is_sampled_ = plan.settings.rate > 0;
  waits_s_ = profile_deadline_s(plan.settings.longest_s());
  deadline_.start(to_ms(waits_s_));
  const std::string_view ending = plan.settings.is_memory  ? profile::kMemoryReportEnding
                                  : plan.settings.rate > 0 ? profile::kSamplesEnding
                                                           : ".json";
  for (const int rank : plan.ranks) {
    send_(rank,
          message::AskProfile{
              .id = id_, .path = cat(plan.stem, "-rank", rank, ending), .settings = plan.settings});
  }
}

void ProfileRequest::on_answer(int rank, const message::Profile& profile) {
  if (profile.id != id_) return;
  if (!profile.error.empty()) return set_answer({.rank = rank, .error = profile.error});
  set_answer({.rank = rank,
              .path = profile.path,
              .events = profile.events,
              .seconds = profile.seconds,
              .reports = profile.reports,
              .cost_s = is_sampled_ ? std::optional(profile.cost_s) : std::nullopt,
              .cpu_s = is_sampled_ ? std::optional(profile.cpu_s) : std::nullopt,
              .note = profile.note});
}

void ProfileRequest::on_gone(int rank) {
  set_answer({.rank = rank, .error = "it ended before its profile was written"});
}

void ProfileRequest::set_answer(loop::RankProfile answer) {
  const bool is_asked = std::find(ranks_.begin(), ranks_.end(), answer.rank) != ranks_.end();
  if (!is_asked || !answers_.emplace(answer.rank, answer).second) return;
  if (answers_.size() == ranks_.size()) finish();
}

void ProfileRequest::finish() {
  deadline_.stop();
  std::vector<loop::RankProfile> out;
  for (const int rank : std::exchange(ranks_, {})) {
    const auto found = answers_.find(rank);
    if (found != answers_.end()) {
      out.push_back(found->second);
    } else {
      out.push_back({.rank = rank,
                     .error = cat("it has not written its profile after ", waits_s_,
                                  " s: `rtrain stack` shows where it is")});
    }
  }
  std::exchange(done_, nullptr)(std::move(out));
}

}  // namespace rtrain::train
