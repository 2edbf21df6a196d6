#include "host/decide/checkpoints/checkpoint_queries.h"

#include <algorithm>
#include <set>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

// The number of answers that are kept. A rank that asks after that many others gets a new answer.
constexpr size_t kRemembered = 16;

bool is_ready(const CheckpointQuestion& question, const CheckpointProgress& progress) {
  if (progress.complete < question.reports) return false;
  if (!question.validated) return true;
  return !progress.first_pending || *progress.first_pending >= question.reports;
}

std::string reason(const CheckpointQuestion& question, const CheckpointProgress& progress) {
  if (progress.complete < question.reports) {
    return cat("for report ", progress.complete, " to be complete; behind: ", progress.behind);
  }
  return cat("for the validation of the checkpoint of report ",
             progress.first_pending.value_or(question.reports));
}

}  // namespace

std::optional<List> CheckpointQueries::add(const CheckpointQuery& query) {
  for (const auto& [question, checkpoints] : answered_) {
    if (question == query.question) return checkpoints;
  }
  waiting_.push_back({query});
  return std::nullopt;
}

std::vector<CheckpointQuestion> CheckpointQueries::take_due(const CheckpointProgress& progress,
                                                            double now_s) {
  std::vector<CheckpointQuestion> out;
  std::set<CheckpointQuestion> due;  // questions that are due, now or since an earlier call
  for (const Waiting& each : waiting_) {
    if (each.due) due.insert(each.query.question);
  }
  for (const Waiting& each : waiting_) {
    const CheckpointQuery& query = each.query;
    if (due.contains(query.question)) continue;
    const bool enough = query.takes_partial && now_s >= query.asked_s + query.timeout_s;
    if (!enough && !is_ready(query.question, progress)) continue;
    out.push_back(query.question);
    due.insert(query.question);
  }
  for (Waiting& each : waiting_) each.due = due.contains(each.query.question);
  return out;
}

std::vector<CheckpointQuery> CheckpointQueries::answer(const CheckpointQuestion& question,
                                                       const List& checkpoints) {
  answered_.emplace_back(question, checkpoints);
  if (answered_.size() > kRemembered) answered_.pop_front();
  std::vector<CheckpointQuery> out;
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (each.query.question != question) return false;
    out.push_back(each.query);
    return true;
  });
  return out;
}

std::vector<std::pair<CheckpointQuery, Error>> CheckpointQueries::take_late(
    const CheckpointProgress& progress, double now_s) {
  std::vector<std::pair<CheckpointQuery, Error>> out;
  std::erase_if(waiting_, [&](const Waiting& each) {
    const CheckpointQuery& query = each.query;
    if (each.due || query.takes_partial || now_s < query.asked_s + query.timeout_s) return false;
    out.emplace_back(
        query,
        Error(Code::kTimeout,
              cat("get_all_reported_checkpoints(): rank ", query.rank, " has waited ",
                  query.timeout_s, " s (TorchConfig.timeout_s) ", reason(query.question, progress),
                  "; its option timeout_s gives what is there after that time")));
    return true;
  });
  return out;
}

std::optional<double> CheckpointQueries::next_deadline() const {
  std::optional<double> out;
  for (const Waiting& each : waiting_) {
    if (each.due) continue;
    const double at = each.query.asked_s + each.query.timeout_s;
    out = std::min(out.value_or(at), at);
  }
  return out;
}

}  // namespace rtrain::decide
