#include "host/store/checkpoints/checkpoint_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "host/base/fault.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

class CheckpointFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(temp / "run"); }

  std::string source(const std::string& name, const std::string& file, const std::string& text) {
    temp.write(name + "/" + file, text);
    return temp / name;
  }

  Manifest manifest(const std::string& name, int64_t attempt = 1) {
    Manifest out;
    out.run = "run";
    out.run_id = "id";
    out.attempt = attempt;
    out.owner_epoch = 1;
    out.name = name;
    out.metrics = Map{{"loss", 1.5}};
    return out;
  }

  CommittedCheckpoint commit(const std::string& name, const std::string& text,
                             int64_t attempt = 1) {
    const StageKey key{attempt, "n", next_index++};
    const StagedRank staged = files.stage(key, 0, source("src-" + name, "model.pt", text), false);
    return files.commit(key, manifest(name, attempt), {&staged, 1});
  }

  // Returns the error of staging a folder that cannot be a checkpoint.
  std::string refusal(const std::string& from) {
    try {
      files.stage({1, "n", next_index++}, 0, from, false);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kCheckpoint);
      return e.message();
    }
    return "none";
  }

  TempFolder temp;
  CheckpointFiles files{temp / "run"};
  int64_t next_index = 0;
};

TEST_F(CheckpointFilesTest, CommitsWhatWasStaged) {
  const std::string from = source("src", "deep/er/model.pt", "weights");
  temp.write("src/empty", "");
  fs::create_directories(temp / "src/nothing");
  fs::create_symlink("deep/er/model.pt", temp / "src/latest");
  const StageKey key{1, "n", 0};
  const StagedRank staged = files.stage(key, 0, from, false);
  const CommittedCheckpoint done = files.commit(key, manifest("first"), {&staged, 1});

  EXPECT_EQ(done.path, temp / "run/checkpoints/first");
  EXPECT_EQ(read_text(done.path + "/deep/er/model.pt"), "weights");
  EXPECT_TRUE(fs::is_symlink(done.path + "/latest"));
  EXPECT_TRUE(fs::is_directory(done.path + "/nothing"));
  const Manifest verified = CheckpointFiles::verify(done.path);
  EXPECT_EQ(verified.files.size(), 3u);
  EXPECT_EQ(verified.size_bytes(), 7);
  EXPECT_TRUE(fs::exists(temp / "src/empty")) << "the source is the user's";
  EXPECT_TRUE(folder_entries(temp / "run/staging").empty());
}

TEST_F(CheckpointFilesTest, ATemporarySourceIsMoved) {
  const std::string from = files.make_tempdir(1, "n");
  std::ofstream(from + "/model.pt") << "weights";
  const StageKey key{1, "n", 0};
  const StagedRank staged = files.stage(key, 0, from, true);
  EXPECT_FALSE(fs::exists(from));
  files.commit(key, manifest("first"), {&staged, 1});
  EXPECT_EQ(CheckpointFiles::verify(temp / "run/checkpoints/first").files[0].size_bytes, 7);
}

TEST_F(CheckpointFilesTest, MergesRanksAndTheLowestWins) {
  const StageKey key{1, "n", 0};
  std::vector<StagedRank> ranks;
  for (const int rank : {1, 0}) {
    const std::string name = cat("src", rank);
    source(name, "same.pt", "the same");
    source(name, cat("shards/rank-", rank, ".pt"), cat("shard ", rank));
    ranks.push_back(files.stage(key, rank, source(name, "model.pt", cat("of ", rank)), false));
  }
  const CommittedCheckpoint done = files.commit(key, manifest("merged"), ranks);
  EXPECT_EQ(read_text(done.path + "/model.pt"), "of 0");
  EXPECT_EQ(read_text(done.path + "/shards/rank-1.pt"), "shard 1");
  ASSERT_EQ(done.warnings.size(), 1u);
  EXPECT_NE(done.warnings[0].find("model.pt"), std::string::npos);
  EXPECT_EQ(CheckpointFiles::verify(done.path).files.size(), 4u);
}

TEST_F(CheckpointFilesTest, AFileWhereAnotherRankHasAFolderIsLeftOut) {
  const StageKey key{1, "n", 0};
  std::vector<StagedRank> ranks;
  ranks.push_back(files.stage(key, 0, source("src0", "state", "a file"), false));
  ranks.push_back(files.stage(key, 1, source("src1", "state/x.pt", "in a folder"), false));
  const CommittedCheckpoint done = files.commit(key, manifest("merged"), ranks);
  EXPECT_EQ(done.warnings.size(), 1u);
  EXPECT_EQ(CheckpointFiles::verify(done.path).files.size(), 1u);
}

TEST_F(CheckpointFilesTest, RefusesWhatIsNoFile) {
  const std::string from = source("src", "model.pt", "x");
  ASSERT_EQ(mkfifo((from + "/pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal(from).find("pipe is a FIFO"), std::string::npos) << refusal(from);
  EXPECT_TRUE(folder_entries(temp / "run/staging/1-n-0").empty());
  EXPECT_THROW(files.stage({1, "n", 1}, 0, temp / "absent", false), Error);
}

TEST_F(CheckpointFilesTest, RefusesNamesThatAreNotUtf8) {
  for (const char* name : {"caf\xe9.txt", "sub/caf\xe9.txt", "caf\xe9/model.pt", "caf\xe9/"}) {
    const std::string from = source("src", "model.pt", "x");
    if (std::string(name).ends_with('/')) {
      fs::create_directories(temp / cat("src/", name));
    } else {
      temp.write(cat("src/", name), "x");
    }
    EXPECT_NE(refusal(from).find("caf\\xe9"), std::string::npos) << refusal(from);
    fs::remove_all(from);
  }
  const std::string from = source("src", "model.pt", "x");
  fs::create_symlink("model.pt", temp / "src/caf\xe9");
  EXPECT_NE(refusal(from).find("is not UTF-8"), std::string::npos) << refusal(from);
}

TEST_F(CheckpointFilesTest, LinksLeadToTheSameFileOfTheCopy) {
  for (const bool temporary : {false, true}) {
    const std::string from = source("src", "deep/er/model.pt", "weights");
    fs::create_symlink(from + "/deep/er/model.pt", temp / "src/deep/absolute");
    fs::create_symlink("../src/deep", temp / "src/by_outside");
    fs::create_symlink("deep/absolute", temp / "src/chain");
    fs::create_symlink("not_yet", temp / "src/waits");
    const StageKey key{1, "n", next_index++};
    const StagedRank staged = files.stage(key, 0, from, temporary);
    fs::remove_all(from);
    const std::string at =
        files.commit(key, manifest(cat("a", temporary ? 1 : 0)), {&staged, 1}).path;
    for (const char* link : {"deep/absolute", "by_outside/er/model.pt", "chain"}) {
      EXPECT_EQ(read_text(cat(at, "/", link)), "weights") << link;
    }
    EXPECT_EQ(fs::read_symlink(at + "/deep/absolute"), "er/model.pt");
    EXPECT_EQ(fs::read_symlink(at + "/chain"), "deep/absolute") << "it stayed within";
    CheckpointFiles::verify(at);
  }
}

TEST_F(CheckpointFilesTest, AFileOutsideIsCopiedForItsLink) {
  for (const bool temporary : {false, true}) {
    const std::string from = source("src", "model.pt", "weights");
    const std::string outside = temp.write("blobs/vocabulary", "words");
    fs::create_symlink("../blobs/vocabulary", temp / "src/relative");
    fs::create_symlink(outside, temp / "src/absolute");
    const StageKey key{1, "n", next_index++};
    const StagedRank staged = files.stage(key, 0, from, temporary);
    fs::remove_all(from);
    fs::remove_all(temp / "blobs");
    const std::string at =
        files.commit(key, manifest(cat("a", temporary ? 1 : 0)), {&staged, 1}).path;
    for (const char* name : {"/relative", "/absolute"}) {
      EXPECT_FALSE(fs::is_symlink(at + name));
      EXPECT_EQ(read_text(at + name), "words");
    }
    EXPECT_EQ(CheckpointFiles::verify(at).size_bytes(), 17);
  }
}

TEST_F(CheckpointFilesTest, RefusesLinksToWhatTheCopyWouldNotHave) {
  fs::create_directories(temp / "folder");
  for (const auto& [text, what] : std::vector<std::array<std::string, 2>>{
           {temp / "absent", "No such file"}, {"../folder", "is not a file"}, {"a", "levels"}}) {
    const std::string from = source("src", "model.pt", "x");
    fs::create_symlink(text == "a" ? from + "/a" : text, temp / "src/a");
    EXPECT_NE(refusal(from).find(what), std::string::npos) << refusal(from);
    fs::remove_all(from);
  }
}

TEST_F(CheckpointFilesTest, StoppedAnywhereItLeavesNothingOrAWholeCheckpoint) {
  if (!kHasFaultPoints) GTEST_SKIP() << "built without fault points";
  const std::string from = source("src", "a/model.pt", "weights");
  temp.write("src/b/optimizer.pt", "state");
  int steps = 0;
  for (bool stopped = true; stopped; ++steps) {
    fs::remove_all(temp / "run");
    fs::create_directories(temp / "run");
    set_fault_plan(cat("ckpt.*:", steps + 1, ":throw"));
    try {
      const StageKey key{1, "n", 0};
      const StagedRank staged = files.stage(key, 0, from, false);
      const StagedRank other = files.stage(key, 1, from, false);
      const std::vector<StagedRank> both{staged, other};
      files.commit(key, manifest("c"), both);
      files.drop(std::vector<std::string>{"c"});
      stopped = false;
    } catch (const Error& e) {
      ASSERT_NE(e.message().find("fault point ckpt."), std::string::npos) << e.message();
    }
    for (const std::string& name : files.committed_names()) {
      EXPECT_EQ(CheckpointFiles::verify(files.checkpoint_path(name)).files.size(), 2u)
          << "stopped at point " << steps + 1;
    }
  }
  set_fault_plan("");
  EXPECT_GE(steps, 12);
  EXPECT_TRUE(files.committed_names().empty());
}

TEST_F(CheckpointFilesTest, ANameUsedTwiceInAnAttemptIsRefused) {
  commit("c", "one");
  EXPECT_THROW(commit("c", "two"), Error);
  EXPECT_EQ(read_text(temp / "run/checkpoints/c/model.pt"), "one");
}

TEST_F(CheckpointFilesTest, ANameOfAnOlderAttemptIsReplaced) {
  commit("c", "one");
  const CommittedCheckpoint done = commit("c", "two", 2);
  EXPECT_TRUE(done.replaced);
  EXPECT_EQ(read_text(temp / "run/checkpoints/c/model.pt"), "two");
  EXPECT_EQ(CheckpointFiles::verify(done.path).attempt, 2);
  EXPECT_TRUE(folder_entries(temp / "run/staging").empty());
}

TEST_F(CheckpointFilesTest, WhatCannotBeToldIsSetAside) {
  const std::string place = "run/checkpoints/c/";
  for (const char* manifest : {"", "{", "removed"}) {
    commit("c", "one", 1);
    temp.write(place + kManifestName, manifest);
    if (manifest == std::string("removed")) fs::remove(temp / (place + kManifestName));
    const CommittedCheckpoint done = commit("c", "two", 1);
    EXPECT_EQ(done.manifest.name, "c");
    ASSERT_EQ(done.warnings.size(), 1u);
    EXPECT_NE(done.warnings[0].find("moved to " + temp.path() + "/run/damaged/c"),
              std::string::npos)
        << done.warnings[0];
    EXPECT_EQ(read_text(temp / "run/checkpoints/c/model.pt"), "two");
    EXPECT_EQ(read_text(temp / "run/damaged/c/model.pt"), "one");
    fs::remove_all(temp / "run/checkpoints");
  }
  EXPECT_EQ(folder_entries(temp / "run/damaged").size(), 3u) << "none takes another's place";
}

TEST_F(CheckpointFilesTest, ADropThatWaitsDoesNotTakeTheNextOneOfThatName) {
  const std::vector<std::string> names{"c"};
  const CommittedCheckpoint old = commit("c", "one");
  {
    DirectoryLease lease(old.path);
    files.drop(names);
  }
  commit("c", "two", 2);
  files.drop({});
  EXPECT_EQ(read_text(temp / "run/checkpoints/c/model.pt"), "two");
}

TEST_F(CheckpointFilesTest, AReaderKeepsItsDirectory) {
  const CommittedCheckpoint old = commit("c", "one");
  const std::vector<std::string> names{"c"};
  {
    DirectoryLease lease(old.path);
    files.drop(names);
    EXPECT_TRUE(fs::exists(old.path));
    const CommittedCheckpoint done = commit("c", "two", 2);
    EXPECT_EQ(done.manifest.name, "c~2");
    EXPECT_EQ(CheckpointFiles::verify(done.path).name, "c~2");
    EXPECT_EQ(read_text(old.path + "/model.pt"), "one");
  }
  files.drop({});
  EXPECT_FALSE(fs::exists(old.path));
  EXPECT_THROW(DirectoryLease{old.path}, Error);
}

TEST_F(CheckpointFilesTest, TheLastReaderDeletesWhatARunLeft) {
  const std::vector<std::string> names{"c", "d"};
  const CommittedCheckpoint c = commit("c", "one");
  const CommittedCheckpoint d = commit("d", "one");
  {
    const DirectoryLease last(c.path);
    {
      const DirectoryLease lease(c.path);
      const DirectoryLease of_another(d.path);
      files.drop(names);
      files.clear_staging();
      files.leave_drops_to_readers();
    }
    EXPECT_TRUE(fs::exists(c.path)) << "somebody still reads it";
    EXPECT_FALSE(fs::exists(d.path));
  }
  EXPECT_FALSE(fs::exists(c.path));
  EXPECT_TRUE(folder_entries(temp / "run/staging").empty());
}

TEST_F(CheckpointFilesTest, AFolderThatWasMovedDoesNotComeBack) {
  const std::string from = source("src", "model.pt", "weights");
  fs::rename(temp / "run", temp / "moved");
  EXPECT_THROW(files.stage({1, "n", 0}, 0, from, false), Error);
  EXPECT_THROW(files.make_tempdir(1, "n"), Error);
  EXPECT_FALSE(fs::exists(temp / "run"));
}

TEST_F(CheckpointFilesTest, VerifyNamesTheDamagedFile) {
  const CommittedCheckpoint done = commit("c", "weights");
  const auto expect_damage = [&](const std::string& word) {
    try {
      CheckpointFiles::verify(done.path);
      FAIL() << "verified a damaged checkpoint: " << word;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kCheckpoint);
      EXPECT_NE(e.message().find("model.pt"), std::string::npos) << e.message();
      EXPECT_NE(e.message().find(word), std::string::npos) << e.message();
    }
  };
  std::ofstream(done.path + "/model.pt") << "weighty";
  expect_damage("hash");
  std::ofstream(done.path + "/model.pt") << "weight";
  expect_damage("6 bytes");
  fs::remove(done.path + "/model.pt");
  expect_damage("missing");
}

TEST_F(CheckpointFilesTest, MetadataTravelsWithTheFolder) {
  const std::string from = source("src", "model.pt", "x");
  set_checkpoint_metadata(from, Map{{"epoch", 3}});
  const StageKey key{1, "n", 0};
  const StagedRank staged =
      from_value<StagedRank>(rtrain::to_value(files.stage(key, 0, from, false)));
  const CommittedCheckpoint done = files.commit(key, manifest("c"), {&staged, 1});
  EXPECT_EQ(get_checkpoint_metadata(done.path), Value(Map{{"epoch", 3}}));
  EXPECT_EQ(CheckpointFiles::verify(done.path).files.size(), 1u);
}

TEST_F(CheckpointFilesTest, ClearsOneAttempt) {
  const std::string from = source("src", "model.pt", "x");
  files.stage({1, "n", 0}, 0, from, false);
  files.make_tempdir(1, "n");
  files.stage({2, "m", 0}, 0, from, false);
  files.clear_attempt(1, "n");
  EXPECT_EQ(folder_entries(temp / "run/staging"), std::vector<std::string>{"2-m-0"});
  files.clear_staging();
  EXPECT_FALSE(fs::exists(temp / "run/staging"));
}

TEST(CheckpointName, IsOneFolder) {
  EXPECT_EQ(CheckpointFiles::default_name(12), "checkpoint_000012");
  CheckpointFiles::check_name("epoch_3");
  const std::string with_zero("epoch\0", 6);
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("a/b"), std::string(".hidden"),
        std::string("a\nb"), std::string("\x1b[2J"), with_zero, std::string(201, 'a')}) {
    EXPECT_THROW(CheckpointFiles::check_name(name), Error) << name;
  }
}

}  // namespace
}  // namespace rtrain::store
