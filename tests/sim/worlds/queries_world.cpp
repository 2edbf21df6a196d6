#include "tests/sim/worlds/queries_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostRanks = 3;
constexpr int kMostReports = 4;
constexpr int kMostWild = 120;
constexpr int kMostCalm = 200;
constexpr int kRemembered = 16;  // the number of answers that CheckpointQueries keeps

}  // namespace

QueriesWorld::QueriesWorld(Draws& draws)
    : draws_(draws),
      may_be_late_(draws.chance(0.4)),
      ranks_(static_cast<size_t>(1 + draws.below(kMostRanks))) {}

void QueriesWorld::live() {
  const int num_wild = draws_.below(kMostWild);
  for (int i = 0; i < num_wild; ++i) step_on();
  is_calm_ = true;
  for (int i = 0; i < kMostCalm && !queries_.is_empty(); ++i) step_on();
  demand(queries_.is_empty(), "a rank waits for ever");
  demand(std::ranges::none_of(ranks_, [](const Rank& rank) { return rank.waits.has_value(); }),
         "a question is forgotten");
}

void QueriesWorld::step_on() {
  const int num_ranks = static_cast<int>(ranks_.size());
  const int actor = is_calm_ ? turn_++ % (num_ranks + 4) : draws_.below(num_ranks + 4);
  if (actor == num_ranks) return complete();
  if (actor == num_ranks + 1) return validate();
  if (actor == num_ranks + 2) return look();
  if (actor == num_ranks + 3) {
    if (asked_for_.empty()) return;
    const decide::CheckpointQuestion question = asked_for_.front();
    asked_for_.erase(asked_for_.begin());
    return answer(question);
  }
  Rank& rank = ranks_[static_cast<size_t>(actor)];
  if (rank.waits) return;
  if (rank.reports < kMostReports && (is_calm_ || draws_.chance(0.5))) {
    ++rank.reports;
  } else if (!is_calm_) {
    ask(actor);
  }
}

void QueriesWorld::ask(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  decide::CheckpointQuery query{
      .rank = number, .call = ++last_call_, .question = {}, .asked_s = now_s_};
  query.question = {.reports = rank.reports, .validated = draws_.chance(0.5)};
  query.question.repeat = rank.asked[{rank.reports, query.question.validated}]++;
  query.takes_partial = may_be_late_ && draws_.chance(0.5);
  query.timeout_s = may_be_late_ && draws_.chance(0.5) ? 10 : 1e9;
  tell([&] {
    return cat("queries.add({", number, ", ", query.call, ", {", query.question.reports, ", ",
               int{query.question.validated}, ", ", query.question.repeat, "}, ", now_s_, ", ",
               query.timeout_s, ", ", int{query.takes_partial}, "});");
  });
  const auto known = queries_.add(query);
  const auto given = answers_.find(query.question);
  if (!known) {
    // The answer may be forgotten if many other questions were answered since.
    const bool is_old = given != answers_.end() && last_answer_ - given->second >= kRemembered;
    demand(given == answers_.end() || is_old, "an answer is forgotten at once");
    rank.waits = query;
    return;
  }
  demand(given != answers_.end(), "a question is answered before anybody knows");
  demand(known->size() == 1 && known->front() == Value(given->second),
         "a rank gets another answer than those before");
  mark("answered as before");
}

void QueriesWorld::complete() {
  const auto least = std::ranges::min_element(ranks_, {}, &Rank::reports);
  if (complete_ >= least->reports) return;
  if (!is_calm_ && draws_.chance(0.5)) validating_.insert(complete_);
  tell([&] { return cat("progress.complete = ", complete_ + 1, ";"); });
  ++complete_;
}

void QueriesWorld::validate() {
  if (validating_.empty()) return;
  const auto it =
      std::next(validating_.begin(), draws_.below(static_cast<int>(validating_.size())));
  tell([&] { return cat("the checkpoint of report ", *it, " is validated"); });
  validating_.erase(it);
}

decide::CheckpointProgress QueriesWorld::progress() const {
  decide::CheckpointProgress out{.complete = complete_};
  if (!validating_.empty()) out.first_pending = *validating_.begin();
  return out;
}

bool QueriesWorld::is_ready(const decide::CheckpointQuestion& question) const {
  const bool is_pending =
      std::ranges::any_of(validating_, [&](int64_t report) { return report < question.reports; });
  return complete_ >= question.reports && !(question.validated && is_pending);
}

// The owner calls this after each change and when its timer expires.
void QueriesWorld::look() {
  const std::optional<double> due = queries_.next_deadline();
  if (due && may_be_late_ && draws_.chance(0.3)) now_s_ = std::max(now_s_, *due);
  for (const Rank& rank : ranks_) {
    if (!rank.waits || std::ranges::count(asked_for_, rank.waits->question)) continue;
    demand(due && *due <= rank.waits->asked_s + rank.waits->timeout_s,
           "the timer is set behind a deadline");
  }
  tell([&] { return cat("queries.take_due(progress, ", now_s_, ");"); });
  for (const decide::CheckpointQuestion& question : queries_.take_due(progress(), now_s_)) {
    const bool is_partial = std::ranges::any_of(ranks_, [&](const Rank& rank) {
      return rank.waits && rank.waits->question == question && rank.waits->takes_partial &&
             now_s_ >= rank.waits->asked_s + rank.waits->timeout_s;
    });
    demand(is_partial || is_ready(question), "an answer is due before its checkpoints are there");
    demand(!std::ranges::count(asked_for_, question), "a question is looked up twice");
    asked_for_.push_back(question);
  }
  for (const Rank& rank : ranks_) {
    if (rank.waits && is_ready(rank.waits->question))
      demand(std::ranges::count(asked_for_, rank.waits->question) == 1,
             "an answer is not due, and its checkpoints are there");
  }
  for (const auto& [query, error] : queries_.take_late(progress(), now_s_)) {
    demand(now_s_ >= query.asked_s + query.timeout_s && !query.takes_partial,
           "a wait ends before its time");
    demand(error.code() == Code::kTimeout, "a wait that took too long ends in another error");
    take(query, "a wait took too long");
  }
}

void QueriesWorld::answer(const decide::CheckpointQuestion& question) {
  answers_[question] = ++last_answer_;
  tell([&] { return cat("queries.answer({", question.reports, ", …}, {", last_answer_, "});"); });
  for (const decide::CheckpointQuery& query : queries_.answer(question, {Value(last_answer_)})) {
    demand(query.question == question, "a rank gets the answer to another question");
    take(query, "answered");
  }
}

void QueriesWorld::take(const decide::CheckpointQuery& query, const char* how) {
  std::optional<decide::CheckpointQuery>& waits = ranks_.at(static_cast<size_t>(query.rank)).waits;
  demand(waits && waits->call == query.call, "a rank that does not wait gets an answer");
  waits.reset();
  mark(how);
}

}  // namespace rtrain::sim
