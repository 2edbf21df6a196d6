#include "tests/sim/worlds/retention_world.h"

#include <algorithm>
#include <cmath>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kMostSteps = 40;

// An independent version of the order of `score_of`: of equal scores, the newer checkpoint is
// better.
bool is_better(const std::optional<double>& a, size_t a_at, const std::optional<double>& b,
               size_t b_at) {
  if (a.has_value() != b.has_value()) return a.has_value();
  if (a && *a != *b) return *a > *b;
  return a_at > b_at;
}

}  // namespace

decide::RetentionPolicy RetentionWorld::make_policy(Draws& draws) {
  Map config;
  if (draws.chance(0.8)) config.set("num_to_keep", draws.below(4));
  constexpr std::array kNames = {"", "acc", "eval/acc"};
  const char* name = kNames.at(static_cast<size_t>(draws.below(kNames.size())));
  if (*name != '\0') config.set("checkpoint_score_attribute", name);
  if (draws.chance(0.5)) config.set("checkpoint_score_order", "min");
  return decide::RetentionPolicy::from_value(config);
}

RetentionWorld::RetentionWorld(Draws& draws) : draws_(draws), policy_(make_policy(draws)) {}

void RetentionWorld::live() {
  const int num_steps = 1 + draws_.below(kMostSteps);
  for (int i = 0; i < num_steps; ++i) {
    draws_.chance(0.3) ? end_validation() : add();
    look();
  }
}

Value RetentionWorld::make_metrics(std::optional<double>& score) {
  const int value = draws_.below(5);
  const int kind = draws_.below(5);
  score = policy_.maximize ? value : -value;
  Value found = value;
  if (kind == 3) found = std::nan("");
  if (kind >= 3) score.reset();
  if (policy_.score_attribute.empty()) score = 0;
  if (kind == 4) return Map{{"loss", 1}};
  if (policy_.score_attribute == "eval/acc") return Map{{"eval", Map{{"acc", found}}}};
  return Map{{"acc", found}};
}

void RetentionWorld::add() {
  Checkpoint next;
  next.metrics = make_metrics(next.score);
  next.is_pinned = draws_.chance(0.2);
  const bool has_key =
      next.score.has_value() || to_json(next.metrics).find("acc") != std::string::npos;
  tell([&] { return cat("add(", to_json(next.metrics), next.is_pinned ? ", pinned" : "", ");"); });
  decide::check_score(policy_, next.metrics);
  demand(policy_.score_attribute.empty() ||
             decide::missing_score(policy_, next.metrics).empty() == has_key,
         "a score that is missing is not said to be, or another is");
  kept_.push_back(std::move(next));
  if (policy_.score_attribute.empty()) return;
  Map wrong{{"acc", "a text"}};
  if (policy_.score_attribute == "eval/acc") wrong = Map{{"eval", wrong}};
  try {
    decide::check_score(policy_, wrong);
  } catch (const Error& e) {
    return demand(e.code() == Code::kArgument, "a score that is a text is another error");
  }
  demand(false, "a score that is a text is taken");
}

void RetentionWorld::end_validation() {
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i].is_pinned) continue;
    kept_[i].is_pinned = false;
    if (draws_.chance(0.7)) kept_[i].metrics = make_metrics(kept_[i].score);
    tell([&] { return cat("end_validation(", i, ", ", to_json(kept_[i].metrics), ");"); });
    return;
  }
}

std::vector<Value> RetentionWorld::all_metrics() const {
  std::vector<Value> out;
  for (const Checkpoint& each : kept_) out.push_back(each.metrics);
  return out;
}

void RetentionWorld::look() {
  std::set<size_t> pinned;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].is_pinned) pinned.insert(i);
  }
  const std::vector<Value> metrics = all_metrics();
  const std::vector<size_t> order = decide::rank_checkpoints(policy_, metrics);
  check_order(order);
  const std::vector<size_t> drop = decide::checkpoints_to_drop(policy_, metrics, pinned);
  check_drop(order, drop);
  for (auto at = drop.rbegin(); at != drop.rend(); ++at) {
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(*at));
    mark("dropped");
  }
}

void RetentionWorld::check_order(const std::vector<size_t>& order) const {
  demand(order.size() == kept_.size(), "a checkpoint has no rank");
  for (size_t place = 1; place < order.size(); ++place) {
    const size_t a = order[place - 1];
    const size_t b = order[place];
    demand(is_better(kept_[a].score, a, kept_[b].score, b), "a worse checkpoint ranks before");
  }
}

void RetentionWorld::check_drop(const std::vector<size_t>& order,
                                const std::vector<size_t>& drop) const {
  demand(std::ranges::is_sorted(drop), "what is dropped is in no order");
  const std::set<size_t> dropped(drop.begin(), drop.end());
  demand(dropped.size() == drop.size(), "a checkpoint is dropped twice");
  if (!policy_.num_to_keep) return demand(drop.empty(), "a checkpoint is dropped, all are kept");
  const auto keep = static_cast<size_t>(*policy_.num_to_keep);
  for (size_t place = 0; place < order.size(); ++place) {
    const size_t at = order[place];
    const bool stays = place < keep || at + 1 == kept_.size() || kept_[at].is_pinned;
    demand(stays || dropped.contains(at), "a checkpoint is kept that nobody needs");
    demand(!(at + 1 == kept_.size() && dropped.contains(at)), "the last checkpoint is dropped");
    demand(!(kept_[at].is_pinned && dropped.contains(at)),
           "a checkpoint is dropped that waits for its validation");
    demand(!stays || !dropped.contains(at), "one of the best checkpoints is dropped");
  }
}

}  // namespace rtrain::sim
