#include "host/train/checkpoints/storage_mirror.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "host/base/text/text.h"
#include "tests/unit/test_run.h"

namespace rtrain::train {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// The test answers in place of the script.
class StorageMirrorTest : public testing::Test {
 protected:
  void open() {
    run_.spec.mirrors = true;
    run_.open();
    mirror_.emplace(*run_.context);
  }

  // Returns the next question: its name and the checkpoint, such as "put checkpoint_000000".
  std::string next_question() {
    run_.run_until([this] {
      for (Value& call : run_.take_events("call")) questions_.push_back(std::move(call));
      return !questions_.empty();
    });
    if (questions_.empty()) return "nothing";
    question_ = questions_.front();
    questions_.erase(questions_.begin());
    const std::string remote = question_["argument"]["remote"].as_string();
    EXPECT_TRUE(remote.starts_with("run/checkpoints/")) << remote;
    return cat(question_["name"].as_string().substr(std::string("storage_filesystem.").size()), " ",
               fs::path(remote).filename().string());
  }
  void answer(Value value) { run_.calls.answer(question_["id"].as_int(), std::move(value)); }
  void answer_error(const char* text) {
    run_.calls.answer_error(question_["id"].as_int(), Error(Code::kUser, text));
  }
  bool has_question() {
    run_.settle();
    for (Value& call : run_.take_events("call")) questions_.push_back(std::move(call));
    return !questions_.empty();
  }

  Texts without_a_copy() {
    run_.settle();
    Texts out;
    for (const store::CheckpointRow& each : run_.record->checkpoints().unmirrored()) {
      out.push_back(each.name);
    }
    return out;
  }
  void finish() {
    mirror_->finish([this] { is_done_ = true; });
  }
  void run_until_done() {
    run_.run_until([this] { return is_done_; });
  }

  TestRun run_;
  std::optional<StorageMirror> mirror_;
  std::vector<Value> questions_;
  Value question_;
  bool is_done_ = false;
};

TEST_F(StorageMirrorTest, KeptCheckpointsAreCopiedOneAfterTheOther) {
  open();
  const store::CheckpointRow first = run_.commit(0);
  run_.commit(1);
  mirror_->sync();
  mirror_->sync();
  EXPECT_EQ(next_question(), "put checkpoint_000000");
  EXPECT_EQ(question_["argument"]["path"].as_string(), first.path);
  EXPECT_FALSE(has_question()) << "the script's thread is busy with the first";
  answer(true);
  EXPECT_EQ(next_question(), "put checkpoint_000001");
  EXPECT_EQ(without_a_copy(), Texts{"checkpoint_000001"});
  answer(true);
  EXPECT_FALSE(has_question());
  EXPECT_EQ(without_a_copy(), Texts{});
}

TEST_F(StorageMirrorTest, ACopyThatFailedIsTriedAgainAtTheEndOfTheRunAndNotBefore) {
  open();
  run_.commit(0);
  mirror_->sync();
  next_question();
  answer_error("no bucket");
  EXPECT_FALSE(has_question());
  const Texts notices = run_.take_notices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_NE(notices[0].find("put of the checkpoint checkpoint_000000 failed"), std::string::npos);
  EXPECT_NE(notices[0].find("no bucket"), std::string::npos);
  mirror_->sync();
  EXPECT_FALSE(has_question());
  finish();
  EXPECT_EQ(next_question(), "put checkpoint_000000");
  EXPECT_FALSE(is_done_);
  answer(true);
  run_until_done();
}

TEST_F(StorageMirrorTest, AFailureAtTheEndOfTheRunEndsTheWait) {
  open();
  run_.commit(0);
  finish();
  next_question();
  answer_error("no bucket");
  run_until_done();
  EXPECT_FALSE(has_question());
  EXPECT_FALSE(mirror_->is_finishing());
}

TEST_F(StorageMirrorTest, TheCopyOfADroppedCheckpointIsDeleted) {
  run_.spec.checkpoint_config = Map{{"num_to_keep", 1}};
  open();
  run_.commit(0);
  mirror_->sync();
  next_question();
  run_.commit(1);
  answer(true);
  EXPECT_EQ(next_question(), "put checkpoint_000001") << "the newest is safe before one goes";
  answer(true);
  EXPECT_EQ(next_question(), "delete checkpoint_000000");
  answer(true);
  EXPECT_FALSE(has_question());
}

TEST_F(StorageMirrorTest, OneThatWasDroppedBeforeItsCopyIsNoFailure) {
  run_.spec.checkpoint_config = Map{{"num_to_keep", 1}};
  open();
  run_.commit(0);
  finish();
  next_question();
  run_.commit(1);
  mirror_->sync();
  answer(false);
  EXPECT_EQ(next_question(), "put checkpoint_000001");
  answer(true);
  run_until_done();
  EXPECT_TRUE(run_.take_notices().empty());
}

TEST_F(StorageMirrorTest, CancellingLeavesTheRestToALaterController) {
  open();
  run_.commit(0);
  run_.commit(1);
  finish();
  next_question();
  mirror_->cancel();
  EXPECT_TRUE(is_done_);
  answer(true);
  EXPECT_FALSE(has_question());
}

TEST_F(StorageMirrorTest, WithoutAnybodyToAskItEnds) {
  open();
  run_.commit(0);
  run_.calls.close();
  finish();
  run_until_done();
}

TEST_F(StorageMirrorTest, ALostCheckpointIsBroughtBack) {
  open();
  const store::CheckpointRow lost = run_.commit(0);
  fs::rename(lost.path, run_.folder / "bucket");
  mirror_->fetch(lost, [this] { is_done_ = true; });
  EXPECT_EQ(next_question(), "get checkpoint_000000");
  fs::copy(run_.folder / "bucket", question_["argument"]["path"].as_string(),
           fs::copy_options::recursive);
  EXPECT_FALSE(fs::exists(lost.path)) << "not before it was compared with its commit";
  answer(Value());
  run_until_done();
  EXPECT_TRUE(fs::exists(lost.path + "/0.txt"));
  EXPECT_NE(run_.take_notices().at(0).find("was brought back"), std::string::npos);
}

TEST_F(StorageMirrorTest, AnotherCheckpointThanTheLostOneIsNotTaken) {
  open();
  const store::CheckpointRow lost = run_.commit(0);
  const store::CheckpointRow other = run_.commit(1);
  fs::remove_all(lost.path);
  mirror_->fetch(lost, [this] { is_done_ = true; });
  next_question();
  fs::copy(other.path, question_["argument"]["path"].as_string(), fs::copy_options::recursive);
  answer(Value());
  run_until_done();
  EXPECT_FALSE(fs::exists(lost.path));
  EXPECT_NE(run_.take_notices().at(0).find("storage_filesystem.get failed"), std::string::npos);
}

TEST_F(StorageMirrorTest, OneThatCannotBeFetchedIsGivenUpAndTheRunGoesOn) {
  open();
  const store::CheckpointRow lost = run_.commit(0);
  fs::remove_all(lost.path);
  mirror_->fetch(lost, [this] { is_done_ = true; });
  next_question();
  answer_error("not there either");
  run_until_done();
  EXPECT_NE(run_.take_notices().at(0).find("not there either"), std::string::npos);
  EXPECT_TRUE(run_.record->checkpoints().kept().empty());
}

}  // namespace
}  // namespace rtrain::train
