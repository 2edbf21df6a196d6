#include "host/train/group/worker_output.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/test_run.h"

namespace rtrain::train {
namespace {

class WorkerOutputTest : public testing::Test {
 protected:
  WorkerOutputTest() {
    run_.open();
    writer_.emplace(run_.loop, *run_.io, [] {});
    output_.emplace(*writer_, *run_.events, 1, 2);
  }

  std::string log(int rank) {
    writer_->flush();
    run_.settle();
    std::ifstream file(run_.record->run_path() + "/logs/attempt-1/rank-" + std::to_string(rank) +
                       ".log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TestRun run_;
  std::optional<RecordWriter> writer_;
  std::optional<WorkerOutput> output_;
};

TEST_F(WorkerOutputTest, EveryRankHasALogOfItsOwnWithItsErrorAtTheEnd) {
  output_->add(0, node::OutputStream::kStdout, "one\n");
  output_->add(1, node::OutputStream::kStderr, "other\n");
  output_->add(0, Error(Code::kUser, "it failed", "train.lua:7"));
  EXPECT_EQ(log(0), "one\nit failed\ntrain.lua:7\n");
  EXPECT_EQ(log(1), "other\n");
}

TEST_F(WorkerOutputTest, LinesAreShownWithTheirRankAndStream) {
  output_->add(1, node::OutputStream::kStderr, "careful\n");
  output_->add(0, node::OutputStream::kStdout, "10 %\r50 %");
  const auto events = run_.take_events("output");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["rank"].as_int(), 1);
  EXPECT_EQ(events[0]["stream"].as_string(), "stderr");
  EXPECT_EQ(events[0]["text"].as_string(), "careful");
  EXPECT_TRUE(events[1]["is_progress"].as_bool());
}

TEST_F(WorkerOutputTest, TheLastWordsAreTheBeginningOfTheLastLineOnStderrThatSaysSomething) {
  EXPECT_EQ(output_->last_words(0), "");
  output_->add(0, node::OutputStream::kStderr, std::string(2000, 'x') + "\n \t\n");
  output_->add(0, node::OutputStream::kStdout, "bye\n");
  EXPECT_EQ(output_->last_words(0), std::string(500, 'x'));
  EXPECT_EQ(output_->last_words(1), "");
}

TEST_F(WorkerOutputTest, ALineWithoutAnEndIsShownWhenTheRankPrintsNoMore) {
  output_->add(0, node::OutputStream::kStderr, "Abort");
  EXPECT_TRUE(run_.take_events("output").empty());
  output_->finish(0);
  EXPECT_EQ(run_.take_events("output").at(0)["text"].as_string(), "Abort");
  EXPECT_EQ(output_->last_words(0), "Abort");
}

}  // namespace
}  // namespace rtrain::train
