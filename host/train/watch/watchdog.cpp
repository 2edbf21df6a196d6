#include "host/train/watch/watchdog.h"

#include <algorithm>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/text/text.h"
#include "host/base/users_line.h"

namespace rtrain::train {
namespace {

const loop::RankStack* stack_of(const std::vector<loop::RankStack>& stacks, int rank) {
  for (const loop::RankStack& stack : stacks) {
    if (stack.rank == rank) return &stack;
  }
  return nullptr;
}

}  // namespace

Watchdog::Watchdog(loop::Loop& loop, int num_ranks, const decide::HangLimits& limits,
                   WatchdogDelegate& delegate, Times times)
    : delegate_(delegate),
      times_(times),
      verdict_(limits, num_ranks),
      stragglers_(num_ranks),
      ranks_(static_cast<size_t>(num_ranks)),
      stacks_(
          loop, [this](int rank) { return delegate_.facts(rank); },
          [this](int rank, auto message) { delegate_.send(rank, std::move(message)); },
          times.stacks),
      timer_(loop, [this] { look(); }) {}

void Watchdog::set_started(int rank) {
  at(rank).is_started = true;
  if (!is_stopped_ && !timer_.is_active()) timer_.start(times_.look);
}

void Watchdog::stop() {
  is_stopped_ = true;
  timer_.stop();
}

void Watchdog::set_gone(int rank) {
  at(rank).is_gone = true;
  stacks_.on_gone(rank);
}

void Watchdog::ask_stacks(StackRequest::Done done, const std::string& folder) {
  std::vector<StackRequest::Target> targets;
  for (int rank = 0; rank < size(); ++rank) {
    if (at(rank).pid != 0 && !at(rank).is_gone) targets.push_back({rank, at(rank).pid});
  }
  stacks_.start(targets, folder, std::move(done));
}

void Watchdog::save_stacks(const std::string& text, std::function<void()> then) {
  const std::string folder = delegate_.diagnosis_folder();
  ask_stacks(
      [this, text, folder, then = std::move(then)](const std::vector<loop::RankStack>& stacks) {
        save(text, stacks, folder);
        then();
      },
      folder);
}

void Watchdog::look() {
  timer_.start(times_.look);
  std::vector<decide::RankFacts> all;
  for (int rank = 0; rank < size(); ++rank) {
    if (at(rank).is_gone) return;  // its end is handled elsewhere
    all.push_back(facts(rank));
  }
  for (const decide::Straggler& found : stragglers_.look(all)) delegate_.on_straggler(found);
  if (const auto work_s = stragglers_.work_s(); !work_s.empty()) delegate_.on_work(work_s);
  for (const decide::HangFinding& finding : verdict_.decide(monotonic_s(), all)) {
    const std::string folder = delegate_.diagnosis_folder();
    ask_stacks([this, finding, folder](const auto& stacks) { tell(finding, stacks, folder); },
               folder);
  }
}

decide::RankFacts Watchdog::facts(int rank) const {
  const Rank& known = ranks_[static_cast<size_t>(rank)];
  decide::RankFacts out = delegate_.facts(rank);
  out.is_started = known.is_started;
  out.has_returned = known.has_returned;
  return out;
}

void Watchdog::tell(const decide::HangFinding& finding, const std::vector<loop::RankStack>& stacks,
                    const std::string& folder) {
  if (is_stopped_) return;
  std::string text = cat("rank ", finding.rank, " (pid ", at(finding.rank).pid, ") ", finding.text);
  const loop::RankStack* odd = stack_of(stacks, finding.rank);
  if (odd != nullptr && finding.kind == decide::HangFinding::Kind::kBusy) {
    if (const std::string line = users_line(odd->lua); !line.empty()) {
      text += cat("; it is at ", line);
    }
  }
  save(text, stacks, folder);
  if (!finding.fatal) return;
  stop();
  delegate_.on_hang(finding.rank, Error(Code::kTimeout, cat("the run hangs: ", text),
                                        odd == nullptr ? "" : stack_text(*odd)));
}

void Watchdog::save(const std::string& text, const std::vector<loop::RankStack>& stacks,
                    const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  std::string all;
  List documents;
  for (const loop::RankStack& stack : stacks) {
    all += stack_text(stack) + "\n";
    documents.push_back(to_value(stack));
  }
  files.emplace_back("verdict.txt", text + "\n");
  files.emplace_back("stacks.txt", all);
  files.emplace_back("stacks.json", to_json(Value(std::move(documents))) + "\n");
  delegate_.save_diagnosis(folder, std::move(files));
  delegate_.warn(cat("watchdog: ", text, " (stacks of all ranks: ", folder, ")"));
}

}  // namespace rtrain::train
