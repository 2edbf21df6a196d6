#include "tests/sim/worlds/sync_world.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostRanks = 4;
constexpr int kMostRounds = 6;
constexpr int kMostWild = 60;
constexpr int kMostCalm = 400;

}  // namespace

SyncWorld::SyncWorld(Draws& draws)
    : draws_(draws),
      faults_{draws.chance(0.2), draws.chance(0.2), draws.chance(0.1), draws.chance(0.1),
              draws.chance(0.3)},
      settings_{.timeout_s = 100, .warn_interval_s = draws.chance(0.5) ? 200.0 : 30.0},
      ranks_(static_cast<size_t>(1 + draws.below(kMostRanks))),
      board_(static_cast<int>(ranks_.size()), settings_),
      num_rounds_(1 + draws.below(kMostRounds)) {}

void SyncWorld::live() {
  const int num_wild = draws_.below(kMostWild);
  for (int i = 0; i < num_wild; ++i) step_on();
  is_calm_ = true;
  const auto is_done = [](const Rank& rank) { return rank.has_left; };
  for (int i = 0; i < kMostCalm && !std::ranges::all_of(ranks_, is_done); ++i) step_on();
  demand(std::ranges::all_of(ranks_, is_done), "a rank waits for ever");
  demand(open_.empty(), "a wait was not answered");
}

bool SyncWorld::is_anybody_waiting() const { return num_waiting() > 0; }

int SyncWorld::num_waiting() const {
  return static_cast<int>(
      std::ranges::count_if(ranks_, [](const Rank& rank) { return rank.waits.has_value(); }));
}

bool SyncWorld::is_anybody_left() const {
  return std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.has_left; });
}

bool SyncWorld::do_waits_differ() const {
  std::set<std::pair<std::string, int64_t>> calls;
  for (const Rank& rank : ranks_) {
    if (rank.waits) calls.insert({rank.waits->collective, rank.waits->sequence});
  }
  return calls.size() > 1;
}

void SyncWorld::step_on() {
  const int num_actors = static_cast<int>(ranks_.size()) + 1;
  const int actor = is_calm_ ? turn_++ % num_actors : draws_.below(num_actors);
  if (actor + 1 == num_actors) return pass_time();
  Rank& rank = ranks_[static_cast<size_t>(actor)];
  if (rank.has_left) return;
  if (rank.waits && (is_calm_ || !faults_.thread || !draws_.chance(0.2))) return;
  const bool is_early = !is_calm_ && faults_.leave && draws_.chance(0.1);
  if (!rank.waits && (rank.sequence == num_rounds_ || is_early)) return leave(actor);
  arrive(actor);
}

void SyncWorld::arrive(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  decide::SyncArrival arrival{.rank = number,
                              .id = ++last_id_,
                              .sequence = rank.sequence,
                              .world_size = static_cast<int>(ranks_.size()),
                              .collective = "barrier()",
                              .caller = "train.lua:1",
                              .data = number == 0 ? cat("data ", last_id_) : "of another rank"};
  if (!is_calm_ && faults_.mismatch && draws_.chance(0.1)) {
    draws_.chance(0.5) ? void(arrival.collective = "broadcast()") : void(++arrival.sequence);
  }
  if (!is_calm_ && faults_.size && draws_.chance(0.1)) ++arrival.world_size;
  tell([&] {
    return cat("board.arrive({", number, ", ", arrival.id, ", ", arrival.sequence, ", ",
               arrival.world_size, ", \"", arrival.collective, "\"}, ", now_s_, ");");
  });
  const bool is_refused = rank.waits || arrival.world_size != static_cast<int>(ranks_.size());
  if (is_refused) return refuse(board_.arrive(arrival, now_s_), number, arrival.id);
  if (!is_anybody_waiting()) {
    deadline_s_ = now_s_ + settings_.timeout_s;
    quiet_s_ = now_s_ + settings_.warn_interval_s;
  }
  rank.waits = arrival;
  ++rank.sequence;
  open_.insert(arrival.id);
  const bool differs = do_waits_differ();
  const bool is_complete = num_waiting() == static_cast<int>(ranks_.size());
  take(board_.arrive(arrival, now_s_));
  demand(!differs || !is_anybody_waiting(), "ranks in different collectives wait for each other");
  demand(!is_complete || !is_anybody_waiting(), "all ranks are there, and they wait");
  demand(!is_anybody_left() || !is_anybody_waiting(), "a rank waits for one that has returned");
}

// Expects an error for this call alone: the waiting ranks are not affected.
void SyncWorld::refuse(const std::vector<decide::SyncBoard::Answer>& answers, int rank,
                       int64_t id) {
  demand(answers.size() == 1 && answers[0].rank == rank && answers[0].id == id && answers[0].error,
         "a call that cannot be is not refused, or others are");
  demand(answers[0].error->code() == Code::kArgument, "a wrong argument is another error");
  mark("a call was refused");
}

void SyncWorld::leave(int rank) {
  tell([&] { return cat("board.leave(", rank, ");"); });
  ranks_[static_cast<size_t>(rank)].has_left = true;
  take(board_.leave(rank));
  demand(!is_anybody_waiting(), "a rank waits for one that has returned");
}

// Stands for the owner's timer. A deadline passes only if this life allows it.
void SyncWorld::pass_time() {
  const std::optional<double> due = board_.next_due();
  demand(due.has_value() == is_anybody_waiting(), "the timer runs for nobody, or not");
  if (!due) return;
  demand(*due == std::min(deadline_s_, quiet_s_), "the timer is set for another time");
  const bool is_warning = *due < deadline_s_;
  const bool may_pass = !is_calm_ && draws_.chance(0.5) && (faults_.deadline || is_warning);
  now_s_ = may_pass ? *due : now_s_ + (*due - now_s_) / 2;
  if (!is_calm_ && draws_.chance(0.1)) {
    tell([&] { return cat("board.postpone(", now_s_, ");"); });
    board_.postpone(now_s_);
    deadline_s_ = now_s_ + settings_.timeout_s;
  }
  look();
}

void SyncWorld::look() {
  tell([&] { return cat("board.expire(", now_s_, "), board.warning(", now_s_, ");"); });
  const bool is_late = now_s_ >= deadline_s_;
  take(board_.expire(now_s_));
  demand(!is_late || !is_anybody_waiting(), "a deadline has passed, and ranks wait");
  const bool warns = board_.warning(now_s_).has_value();
  demand(warns == (is_anybody_waiting() && now_s_ >= quiet_s_), "a warning at the wrong time");
  if (!warns) return;
  quiet_s_ = now_s_ + settings_.warn_interval_s;
  mark("warned");
}

void SyncWorld::take(const std::vector<decide::SyncBoard::Answer>& answers) {
  if (answers.empty()) return;
  if (!answers[0].error) return take_data(answers);
  demand(static_cast<int>(answers.size()) == num_waiting(),
         "some who wait get an error, others wait");
  const Code code = answers[0].error->code();
  demand(code != Code::kTimeout || now_s_ >= deadline_s_, "a time-out before the time");
  demand(code != Code::kUser || do_waits_differ() || is_anybody_left(),
         "an error of ranks that call the same");
  mark(cat("an error: ", code_name(code)));
  for (const decide::SyncBoard::Answer& answer : answers) take_error(answer);
}

void SyncWorld::take_data(const std::vector<decide::SyncBoard::Answer>& answers) {
  demand(answers.size() == ranks_.size(), "a collective ends without a rank");
  demand(!do_waits_differ(), "ranks in different collectives get data");
  const std::string data = ranks_.front().waits ? ranks_.front().waits->data : "";
  for (const decide::SyncBoard::Answer& answer : answers) {
    demand(answer.data == data, "a rank gets other data than rank 0's");
    take_error(answer);
  }
  mark("all had come");
}

void SyncWorld::take_error(const decide::SyncBoard::Answer& answer) {
  std::optional<decide::SyncArrival>& waits = ranks_.at(static_cast<size_t>(answer.rank)).waits;
  demand(waits && waits->id == answer.id, "an answer to a rank that does not wait");
  demand(open_.erase(answer.id) == 1, "a wait ends twice");
  waits.reset();
}

}  // namespace rtrain::sim
