// The sweep at a run's start, stopped at each of its fault points and started again.
#include <gtest/gtest.h>

#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/checkpoint_table.h"
#include "host/store/files/file.h"
#include "host/store/runs/run_store.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

using Names = std::vector<std::string>;

const std::string kRun = "x";

class SweepFaults : public ::testing::Test {
 protected:
  SweepFaults() {
    NewRun run;
    run.name = kRun;
    run.storage_path = temp / "results";
    run.checkpoint_config = Map{{"num_to_keep", 1}};
    store = RunStore::open(run);
    decide::RetentionPolicy policy;
    policy.num_to_keep = 1;
    rows.emplace(store->claim(), policy);
    files.emplace(temp / ("results/" + kRun));
  }
  ~SweepFaults() override { set_fault_plan(""); }

  CheckpointRow commit(const std::string& name, int64_t index) {
    temp.write("src/model.pt", name);
    const StageKey key{1, "n", index};
    const StagedRank staged = files->stage(key, 0, temp / "src", false);
    Manifest manifest;
    manifest.run = kRun;
    manifest.run_id = store->run_id();
    manifest.attempt = 1;
    manifest.owner_epoch = 1;
    manifest.index = index;
    manifest.name = name;
    files->commit(key, manifest, {&staged, 1});
    CheckpointRow row;
    row.name = name;
    row.attempt = 1;
    row.index = index;
    return row;
  }

  // Creates what a controller that was killed twice leaves: `old` is dropped by a committed row but
  // not yet moved away, `new` is in place without a row, and one folder is half staged.
  void leave_a_mess() {
    rows->add(commit("old", 0));
    rows->add(commit("kept", 1));
    commit("new", 2);
    temp.write("results/x/staging/1-n-9/rank-0/half.pt", "x");
  }

  Names kept() {
    Names out;
    for (const CheckpointRow& each : rows->kept()) out.push_back(each.name);
    return out;
  }

  TempFolder temp;
  std::unique_ptr<RunStore> store;
  std::optional<CheckpointTable> rows;
  std::optional<CheckpointFiles> files;
};

// fault: kill during retention
TEST_F(SweepFaults, StoppedAnywhereItEndsTheSameTheNextTime) {
  if (!kHasFaultPoints) GTEST_SKIP() << "built without fault points";
  for (const char* point : {"sweep.begin", "sweep.adopt", "sweep.clear", "ckpt.drop", "ckpt.delete",
                            "db.begin", "db.commit", "db.committed"}) {
    leave_a_mess();
    set_fault_plan(cat(point, ":1:throw"));
    EXPECT_THROW(rows->sweep(*files), Error) << point;
    set_fault_plan("");
    EXPECT_TRUE(path_exists(files->checkpoint_path("new"))) << point << ": the newest is lost";
    rows->sweep(*files);
    EXPECT_EQ(kept(), Names{"new"}) << point;
    EXPECT_EQ(files->committed_names(), Names{"new"}) << point;
    EXPECT_EQ(CheckpointFiles::verify(files->checkpoint_path("new")).index, 2) << point;
    EXPECT_TRUE(folder_entries(temp / "results/x/staging").empty()) << point;
    // Resets the store, so that the next round can use the same names.
    store->claim().database.run("DELETE FROM checkpoints");
    files->drop(Names{"new"});
  }
}

}  // namespace
}  // namespace rtrain::store
