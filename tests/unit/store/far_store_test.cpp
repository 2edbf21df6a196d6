#include "host/store/checkpoints/far_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/files/file.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

// Node 0 in the same process: its run is in the folder `near`.
class NearRun : public FarStore {
 public:
  explicit NearRun(std::string run_path) : files_(std::move(run_path)) { set_far_store(this); }
  ~NearRun() override { set_far_store(nullptr); }

  void put(int64_t index, const StagedRank& staged, const std::string& folder,
           const BytesMoved& moved) override {
    const StageKey key{1, "n", index};
    add_staged_part(files_, key, staged.rank, {});
    for (const CheckpointFile& file : staged.files) {
      StagedPart part{.path = file.path, .link = file.link};
      const std::string text = file.link ? "" : read_text(cat(folder, "/", file.path));
      for (size_t at = 0; !file.link && at + 3 < text.size(); at += 3) {  // in small parts
        part.offset = static_cast<int64_t>(at);
        part.bytes = text.substr(at, 3);
        add_staged_part(files_, key, staged.rank, part);
      }
      part.offset = static_cast<int64_t>(text.size() - std::min<size_t>(text.size(), 3));
      part.bytes = text.substr(static_cast<size_t>(part.offset));
      part.is_last = true;
      add_staged_part(files_, key, staged.rank, part);
      moved(text.size());
    }
  }
  std::string read(const std::string& name, const std::string& path) override {
    ++num_reads;
    return read_committed_part(files_.run_path(), name, path, 0);
  }
  void get_file(const std::string& name, const std::string& path,
                const std::string& target) override {
    std::ofstream(target) << read(name, path);
  }

  CommittedCheckpoint commit(const std::string& name, const StagedRank& staged) {
    Manifest manifest;
    manifest.run = "run";
    manifest.run_id = "id";
    manifest.attempt = 1;
    manifest.owner_epoch = 1;
    manifest.name = name;
    manifest.metrics = Map{};
    return files_.commit({1, "n", 0}, manifest, {&staged, 1});
  }

  int num_reads = 0;

 private:
  CheckpointFiles files_;
};

class FarStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(temp / "near/run");
    EXPECT_EQ(join_far_run(far), "");
  }

  StagedRank stage() {
    temp.write("src/model.pt", "twelve bytes");
    temp.write("src/inner/empty", "");
    EXPECT_EQ(::symlink("model.pt", (temp / "src/link").c_str()), 0);
    return CheckpointFiles(far).stage({1, "n", 0}, 3, temp / "src", false);
  }

  TempFolder temp;
  std::string far = temp / "far/run";
};

TEST_F(FarStoreTest, FilesOfAFarRankAreCommittedOnNode0AndFetchedFromThere) {
  NearRun near(temp / "near/run");
  const StagedRank staged = stage();
  EXPECT_FALSE(path_exists(far + "/staging/1-n-0/rank-3")) << "they are on node 0";
  const std::string there = near.commit("c", staged).path;
  EXPECT_EQ(read_text(there + "/model.pt"), "twelve bytes");
  EXPECT_EQ(fs::read_symlink(there + "/link"), "model.pt");
  {
    const DirectoryLease lease(far + "/checkpoints/c");
    EXPECT_EQ(read_text(far + "/checkpoints/c/model.pt"), "twelve bytes");
    EXPECT_EQ(read_text(far + "/checkpoints/c/inner/empty"), "");
    EXPECT_EQ(fs::read_symlink(far + "/checkpoints/c/link"), "model.pt");
    EXPECT_EQ(CheckpointFiles::verify(far + "/checkpoints/c").name, "c");
  }
  near.num_reads = 0;
  const DirectoryLease again(far + "/checkpoints/c");
  EXPECT_EQ(near.num_reads, 1) << "of the manifest: the copy is that checkpoint";
}

TEST_F(FarStoreTest, ACopyOfAnotherCheckpointOfTheNameIsReplaced) {
  NearRun near(temp / "near/run");
  near.commit("c", stage());
  temp.write("far/run/checkpoints/c/.rtrain-checkpoint.json", "{}");
  temp.write("far/run/checkpoints/c/model.pt", "old");
  const DirectoryLease lease(far + "/checkpoints/c");
  EXPECT_EQ(read_text(far + "/checkpoints/c/model.pt"), "twelve bytes");
}

TEST_F(FarStoreTest, WhatIsNotThereIsAnError) {
  NearRun near(temp / "near/run");
  EXPECT_THROW(DirectoryLease(far + "/checkpoints/none"), Error);
  EXPECT_FALSE(path_exists(far + "/checkpoints/none"));
}

TEST_F(FarStoreTest, AProcessThatIsNoRankCannotAskNode0) {
  try {
    DirectoryLease(far + "/checkpoints/c");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kCheckpoint);
  }
}

TEST_F(FarStoreTest, NamesThatLeadOutOfTheFolderAreRefused) {
  const CheckpointFiles files(temp / "near/run");
  for (const char* path : {"../x", "/x", "a/../../x", "a//b"}) {
    EXPECT_THROW(add_staged_part(files, {1, "n", 0}, 0, {.path = path}), Error) << path;
    EXPECT_THROW(read_committed_part(temp / "near/run", "c", path, 0), Error) << path;
  }
  EXPECT_THROW(read_committed_part(temp / "near/run", "../c", "x", 0), Error);
}

TEST_F(FarStoreTest, NothingIsWrittenThroughALink) {
  const CheckpointFiles files(temp / "near/run");
  temp.write("outside", "kept");
  add_staged_part(files, {1, "n", 0}, 0, {.path = "a", .link = temp / "outside"});
  EXPECT_THROW(add_staged_part(files, {1, "n", 0}, 0, {.path = "a", .bytes = "lost"}), Error);
  EXPECT_EQ(read_text(temp / "outside"), "kept");
}

TEST_F(FarStoreTest, JoiningAgainRemovesWhatAnEarlierStartHasStaged) {
  temp.write("far/run/staging/1-n-0/rank-0/x", "");
  EXPECT_EQ(join_far_run(far), "");
  EXPECT_FALSE(path_exists(far + "/staging"));
  EXPECT_TRUE(is_far_run(far));
  EXPECT_EQ(far_run_path("/home/me/results/run"), far_run_path("/home/me/results/run"));
  EXPECT_NE(far_run_path("/home/me/results/run"), far_run_path("/home/me/other/run"));
}

}  // namespace
}  // namespace rtrain::store
