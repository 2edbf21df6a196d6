#include "host/store/checkpoints/checkpoint_table.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "host/base/text/text.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/files/file.h"
#include "host/store/read/checkpoint_rows.h"
#include "host/store/read/run_document.h"
#include "host/store/runs/run_store.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class CheckpointTableTest : public ::testing::Test {
 protected:
  void create(const decide::RetentionPolicy& policy) {
    NewRun run;
    run.name = "x";
    run.storage_path = temp / "results";
    Map config;
    if (policy.num_to_keep) config.set("num_to_keep", *policy.num_to_keep);
    config.set("checkpoint_score_attribute", policy.score_attribute);
    config.set("checkpoint_score_order", policy.maximize ? "max" : "min");
    run.checkpoint_config = config;
    store = RunStore::open(run);
    rows.emplace(store->claim(), policy);
  }

  CheckpointRow row(const std::string& name, int64_t index, double accuracy) {
    CheckpointRow out;
    out.name = name;
    out.attempt = 1;
    out.index = index;
    out.metrics = Map{{"acc", accuracy}};
    out.size_bytes = 10;
    out.created_at_ms = 1000 + index;
    return out;
  }

  CheckpointRow pending(const std::string& name, int64_t index, double accuracy) {
    CheckpointRow out = row(name, index, accuracy);
    out.status = CheckpointStatus::kPendingValidation;
    out.validation = ValidationRequest();
    return out;
  }

  Names kept() {
    Names out;
    for (const CheckpointRow& each : rows->kept()) out.push_back(each.name);
    return out;
  }

  std::string cell(const std::string& sql) {
    auto reader = Database::open_read_only(temp / "results/rtrain.db");
    Statement query = reader->prepare(sql);
    return query.next() ? query.text(0) : "(no row)";
  }

  TempFolder temp;
  std::unique_ptr<RunStore> store;
  std::optional<CheckpointTable> rows;
};

ValidationResult validated(double accuracy) {
  return {CheckpointStatus::kValidated, Map{{"acc", accuracy}}, ""};
}

TEST_F(CheckpointTableTest, RetentionIsMarkedWithTheRow) {
  create({1, "acc", true});
  EXPECT_EQ(rows->add(row("a", 0, 0.9)), Names{});
  EXPECT_EQ(rows->add(row("b", 1, 0.5)), Names{});
  EXPECT_EQ(rows->add(row("c", 2, 0.6)), Names{"b"});
  EXPECT_EQ(kept(), (Names{"a", "c"}));
}

// behaviour: validation rescues a checkpoint
TEST_F(CheckpointTableTest, AValidationRescuesALowScore) {
  create({1, "acc", true});
  rows->add(pending("low", 0, 0.1));
  rows->add(row("high", 1, 0.9));
  EXPECT_EQ(rows->add(row("last", 2, 0.2)), Names{}) << "pending ones are kept";
  EXPECT_EQ(rows->end_validation("low", 1, validated(0.95)), Names{"high"});
  EXPECT_EQ(kept(), (Names{"low", "last"}));
  EXPECT_EQ(cell("SELECT status FROM checkpoints WHERE name = 'low'"), "VALIDATED");
}

// behaviour: ties go by report number
TEST_F(CheckpointTableTest, TiesGoByReportAlsoAfterALateValidation) {
  create({1, "acc", true});
  rows->add(pending("first", 0, 0.1));
  rows->add(pending("second", 1, 0.1));
  rows->add(row("last", 2, 0.0));
  EXPECT_EQ(rows->end_validation("second", 1, validated(0.5)), Names{});
  EXPECT_EQ(rows->end_validation("first", 1, validated(0.5)), Names{"first"})
      << "validated later, but reported earlier";
}

// behaviour: validated metrics re-rank
TEST_F(CheckpointTableTest, ValidatedMetricsOverwriteEqualKeys) {
  create({});
  CheckpointRow first = pending("a", 0, 0.1);
  first.metrics = Map{{"acc", 0.1}, {"loss", 2.0}};
  rows->add(first);
  rows->end_validation("a", 1, {CheckpointStatus::kValidated, Map{{"acc", 0.7}, {"f1", 1.0}}, ""});
  EXPECT_EQ(rows->kept()[0].metrics, Value(Map{{"acc", 0.7}, {"loss", 2.0}, {"f1", 1.0}}));
}

TEST_F(CheckpointTableTest, AFailedValidationKeepsTheMetricsAndSaysWhy) {
  create({1, "acc", true});
  rows->add(pending("a", 0, 0.9));
  rows->add(pending("b", 1, 0.1));
  rows->end_validation("a", 1, {CheckpointStatus::kValidationFailed, {}, "no data"});
  rows->end_validation("b", 1, {CheckpointStatus::kValidationTimeout, {}, "too long"});
  EXPECT_EQ(kept(), (Names{"a", "b"}));
  EXPECT_EQ(rows->kept()[0].metrics, Value(Map{{"acc", 0.9}}));
  EXPECT_EQ(cell("SELECT group_concat(status || ' ' || problem) FROM checkpoints"),
            "VALIDATION_FAILED no data,VALIDATION_TIMEOUT too long");
}

// behaviour: validation of an unknown checkpoint, or one that is not pending
TEST_F(CheckpointTableTest, UnknownCheckpointsAreBugsAndEndedOnesAreNot) {
  create({});
  rows->add(row("a", 0, 0.1));
  try {
    rows->end_validation("nobody", 1, validated(1));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kInternal);
    EXPECT_NE(e.message().find("nobody"), std::string::npos);
  }
  EXPECT_FALSE(rows->end_validation("a", 1, validated(1)));
  EXPECT_EQ(rows->kept()[0].metrics, Value(Map{{"acc", 0.1}}));
}

// After each change, another process reads the same registry that this process holds.
// behaviour: the registry read back is the same
TEST_F(CheckpointTableTest, TheRegistryReloadsAsItWasSaved) {
  create({2, "acc", true});
  const auto same = [&] {
    OpenRun open = open_run(temp / "results", "x");
    const List read = checkpoint_rows(open.store, open.ref, false);
    const auto known = rows->kept();
    ASSERT_EQ(read.size(), known.size());
    for (size_t i = 0; i < known.size(); ++i) {
      EXPECT_EQ(read[i]["name"].as_string(), known[i].name);
      EXPECT_EQ(read[i]["index"].as_int(), known[i].index);
      EXPECT_EQ(read[i]["metrics"], known[i].metrics);
      EXPECT_EQ(read[i]["status"].as_string(), status_name(known[i].status));
      EXPECT_EQ(read[i]["latest"].as_bool(), i + 1 == known.size());
    }
    EXPECT_EQ(
        read_details(open.store.database(), open.ref.run_id)["checkpoint_config"]["num_to_keep"],
        Value(2));
  };
  const std::vector<double> scores{0.3, 0.9, 0.1, 0.9, 0.2};
  for (size_t i = 0; i < scores.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    const auto index = static_cast<int64_t>(i);
    make_folders(temp / ("results/x/checkpoints/" + name));
    rows->add(i == 2 ? pending(name, index, scores[i]) : row(name, index, scores[i]));
    same();
  }
  rows->end_validation("c", 1, validated(1.0));
  same();
  EXPECT_EQ(kept(), (Names{"c", "d", "e"}));
}

TEST_F(CheckpointTableTest, KnowsWhatTheMirrorStillHolds) {
  create({1, "", true});
  rows->add(row("a", 0, 0));
  rows->set_mirrored("a", 1, true);
  EXPECT_TRUE(rows->kept()[0].mirrored);
  EXPECT_TRUE(rows->mirrored_leftovers().empty());
  rows->add(row("b", 1, 0));
  ASSERT_EQ(rows->mirrored_leftovers().size(), 1u);
  EXPECT_EQ(rows->mirrored_leftovers()[0].name, "a");
  rows->set_mirrored("a", 1, false);
  EXPECT_TRUE(rows->mirrored_leftovers().empty());
}

TEST_F(CheckpointTableTest, SweepMakesRowsAndDirectoriesAgree) {
  create({});
  CheckpointFiles files(store->run_path());
  const auto commit = [&](const std::string& name, int64_t index) {
    temp.write("src/model.pt", name);
    const StageKey key{1, "n", index};
    const StagedRank staged = files.stage(key, 0, temp / "src", false);
    Manifest manifest;
    manifest.run = "x";
    manifest.run_id = store->run_id();
    manifest.attempt = 1;
    manifest.owner_epoch = 1;
    manifest.index = index;
    manifest.name = name;
    manifest.metrics = Map{{"acc", 0.5}};
    if (name == "adopted") manifest.validation = {.timeout_s = 5};
    files.commit(key, manifest, {&staged, 1});
  };
  commit("kept", 0);
  commit("gone", 1);
  commit("tombstone", 2);
  commit("adopted", 3);
  commit("torn", 4);
  commit("blank", 5);
  for (const char* name : {"kept", "gone", "tombstone", "blank"}) rows->add(row(name, 0, 0.5));
  rows->add(row("elsewhere", 0, 0.5));
  rows->set_mirrored("elsewhere", 1, true);
  fs::remove_all(files.checkpoint_path("gone"));
  fs::remove(files.checkpoint_path("torn") + "/model.pt");
  temp.write(cat("results/x/checkpoints/blank/", kManifestName), "");
  Database::open(temp / "results/rtrain.db")
      .run("UPDATE checkpoints SET state = 'dropped' WHERE name = 'tombstone'");
  temp.write("results/x/staging/1-n-9/rank-0/half.pt", "x");

  EXPECT_EQ(rows->sweep(files).size(), 5u);
  EXPECT_EQ(kept(), (Names{"kept", "elsewhere", "adopted"}));
  EXPECT_EQ(rows->kept()[2].status, CheckpointStatus::kPendingValidation);
  EXPECT_EQ(rows->kept()[2].validation, ValidationRequest{.timeout_s = 5});
  EXPECT_EQ(cell("SELECT validation FROM checkpoints WHERE name = 'adopted'"),
            R"({"fn_kwargs":{},"timeout_s":5})");
  EXPECT_EQ(files.committed_names(), (Names{"adopted", "kept", "torn"}));
  EXPECT_FALSE(fs::exists(temp / "results/x/staging/1-n-9"));
  EXPECT_EQ(cell("SELECT state || ': ' || problem FROM checkpoints WHERE name = 'gone'"),
            "missing: its folder is gone");
  EXPECT_EQ(cell("SELECT state FROM checkpoints WHERE name = 'blank'"), "missing");
  EXPECT_TRUE(fs::exists(temp / "results/x/damaged/blank/model.pt"));
  EXPECT_EQ(rows->sweep(files).size(), 1u) << "only the torn one is still named";
}

}  // namespace
}  // namespace rtrain::store
