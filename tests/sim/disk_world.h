// tests/sim/disk_world.h: the checkpoints of a run on a disk that loses what was not synced,
// simulated, around host/decide/checkpoints/commit_plan.h, sweep_verdict.h and retention.h.
//
// Controllers follow each other. Each looks at what is there (CheckpointStore::sweep), begins from
// the newest checkpoint and commits further ones, step by step as the plan says. Between any two
// operations of the disk all may end, and the disk then has any part of what was not synced. People
// put folders of their own among the checkpoints, and a controller that had lost its run may leave
// one. After each start every row names a whole checkpoint, what report() returned for is there,
// and nothing of other people's is gone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/decide/checkpoints/commit_plan.h"
#include "host/decide/checkpoints/retention.h"
#include "host/decide/checkpoints/sweep_verdict.h"
#include "tests/sim/disk_model.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class DiskWorld : public World {
 public:
  explicit DiskWorld(Draws& draws);
  void live() override;

 private:
  struct Crash {};
  enum class State { kKept, kDropped, kSuperseded, kMissing };
  struct Row {
    std::string name;
    int64_t attempt = 0;
    int64_t index = 0;
    int score = 0;
    State state = State::kKept;
  };
  struct Attempt {
    int64_t number;
    int64_t resumed_index;  // -1: it began from nothing
  };
  // What stands in a manifest, which the disk has as a text.
  struct Manifest {
    bool is_of_run = true;
    Row row;
    std::map<std::string, std::string> files;
  };
  // A checkpoint on its way.
  struct Commit {
    Row row;
    std::string staging, merged;
    std::map<std::string, std::string> files;
    std::vector<std::string> dropped;
  };

  void run_controller();
  void begin_attempt();
  void report();
  Commit stage();
  bool perform(CommitStep step, Commit& commit);  // false: the checkpoint needs another name
  void merge(Commit& commit);
  void write_manifest(const Commit& commit);
  bool take_name(Commit& commit);
  void clear_name(const std::string& name);
  void drop(const std::vector<std::string>& names);
  void remove_tree(const std::string& path);
  void tick(const std::string& what);

  void sweep();
  void judge(const std::string& name, std::vector<Row>& rows, std::vector<std::string>& drop);
  FoundRows rows_of(const std::string& name, const Manifest* manifest) const;
  static void insert(std::vector<Row>& rows, const Row& row);
  std::vector<std::string> apply_retention(std::vector<Row>& rows) const;

  void put_foreign_folder();
  void leave_late_folder();
  void put_folder(const std::string& name, const Manifest& manifest);

  void check_start() const;
  void check_foreign() const;
  const Row* newest(const std::vector<Row>& rows) const;
  const Manifest* manifest_at(const std::string& folder) const;
  bool is_whole(const std::string& folder, const Manifest& manifest) const;
  std::string add_manifest(const Manifest& manifest);

  Draws& draws_;
  DiskModel disk_;
  RetentionPolicy policy_;
  double crash_rate_;
  int num_ranks_;
  std::map<std::string, Manifest> manifests_;  // by text
  // The store: transactions are whole and safe.
  std::vector<Row> rows_;
  std::vector<Attempt> attempts_;
  // Of a controller.
  std::vector<std::string> pending_drops_;
  int64_t next_index_ = 0;
  // What the world knows.
  std::vector<Row> answered_;         // report() has returned for them
  std::vector<std::string> foreign_;  // what is in people's own folders
  int num_made_ = 0;                  // names that are used once
  bool is_calm_ = false;              // no crash comes any more
};

}  // namespace rtrain::sim
