// tests/sim/worlds/retention_world.h: simulated checkpoints with scores, around
// host/decide/checkpoints/retention.h.
//
// Each checkpoint has metrics in which the score may be missing or NaN; some checkpoints wait for a
// validation that may change the score. After each change the dropped checkpoints are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "host/decide/checkpoints/retention.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class RetentionWorld : public World {
 public:
  explicit RetentionWorld(Draws& draws);
  void live() override;

 private:
  struct Checkpoint {
    Value metrics;
    std::optional<double> score;  // larger is better; no score is the worst
    bool is_pinned = false;
  };

  static decide::RetentionPolicy make_policy(Draws& draws);
  Value make_metrics(std::optional<double>& score);
  void add();
  void end_validation();
  void look();
  void check_order(const std::vector<size_t>& order) const;
  void check_drop(const std::vector<size_t>& order, const std::vector<size_t>& drop) const;
  std::vector<Value> all_metrics() const;

  Draws& draws_;
  decide::RetentionPolicy policy_;
  std::vector<Checkpoint> kept_;
};

}  // namespace rtrain::sim
