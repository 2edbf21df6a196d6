// tests/sim/worlds/disk_world.h: the checkpoints of a run on a simulated disk that loses unsynced
// changes, around host/decide/checkpoints/commit_plan.h, sweep_verdict.h and retention.h.
//
// Controllers follow each other. Each one sweeps the folder as CheckpointTable::sweep does, resumes
// from the newest checkpoint and commits further ones step by step, as the plan says. The process
// may crash between any two operations of the disk, and the disk then keeps any subset of the
// unsynced changes. Users put their own folders among the checkpoints, and a controller that has
// lost its run may leave a checkpoint. After each start every row must name a complete checkpoint,
// every checkpoint for which report() has returned must exist, and no user's folder may be missing.
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
    int64_t resumed_index;  // -1: the attempt began without a checkpoint
  };
  // The content of a manifest. The disk holds only its text.
  struct Manifest {
    bool is_of_run = true;
    Row row;
    std::map<std::string, std::string> files;
  };
  // A checkpoint that is being committed.
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
  bool perform(decide::CommitStep step,
               Commit& commit);  // false: the checkpoint needs another name
  void merge(Commit& commit);
  void write_manifest(const Commit& commit);
  bool take_name(Commit& commit);
  void clear_name(const std::string& name);
  void drop(const std::vector<std::string>& names);
  void remove_tree(const std::string& path);
  void tick(const std::string& what);

  void sweep();
  void judge(const std::string& name, std::vector<Row>& rows, std::vector<std::string>& drop);
  decide::FoundRows rows_of(const std::string& name, const Manifest* manifest) const;
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
  decide::RetentionPolicy policy_;
  double crash_rate_;
  int num_ranks_;
  std::map<std::string, Manifest> manifests_;  // the parsed manifest of each text
  // The store: its transactions are atomic and durable.
  std::vector<Row> rows_;
  std::vector<Attempt> attempts_;
  // The state of the current controller.
  std::vector<std::string> pending_drops_;
  int64_t next_index_ = 0;
  // The world's knowledge, for its checks.
  std::vector<Row> answered_;         // checkpoints for which report() has returned
  std::vector<std::string> foreign_;  // the contents of users' folders
  int num_made_ = 0;                  // counts generated names, to keep them unique
  bool is_calm_ = false;              // no further crash happens
};

}  // namespace rtrain::sim
