#include "host/train/checkpoints/checkpoint_coordinator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "host/base/codec/codec.h"
#include "host/base/text/text.h"
#include "tests/unit/test_run.h"
#include "tests/unit/test_worker.h"

namespace rtrain::train {
namespace {

using Texts = std::vector<std::string>;

class FakeDelegate : public CheckpointCoordinatorDelegate {
 public:
  void send(int rank, message::ToWorker message) override {
    if (const auto* part = std::get_if<message::Part>(&message)) {
      EXPECT_EQ(rank, part->id) << "the tests' ranks number their questions so";
      ++num_parts;
      bytes += part->bytes;
      return;
    }
    const auto& reply = std::get<message::Reply>(message);
    EXPECT_EQ(rank, reply.id);
    std::string text = cat("to rank ", rank, ":");
    if (reply.error) text += cat(" ", reply.error->message());
    if (!bytes.empty()) {
      const Value checkpoints = decode(std::exchange(bytes, ""));
      for (const Value& each : checkpoints.as_list()) text += cat(" ", each["name"].as_string());
    }
    replies.push_back(text);
  }
  void add_validation_log(const store::CheckpointRow& checkpoint, std::string_view text) override {
    log += cat(checkpoint.name, ": ", text);
  }
  decide::CheckpointProgress progress() const override { return now; }
  void on_storage_error(const Error& error) override { ADD_FAILURE() << error.message(); }

  Texts replies;
  std::string bytes;
  int num_parts = 0;
  std::string log;
  decide::CheckpointProgress now;
};

class CheckpointCoordinatorTest : public testing::Test {
 protected:
  ~CheckpointCoordinatorTest() override { unsetenv(kTestWorker); }

  void open() {
    run_.open();
    make();
  }
  void make() { coordinator_.emplace(*run_.context, delegate_); }
  // Opens the run; its validations are test workers that do `what`.
  void open_with_validations(const char* what) {
    setenv(kTestWorker, what, 1);
    if (!run_.spec.validation_config) run_.spec.validation_config.emplace();
    open();
  }

  void ask(int rank, int64_t reports, message::Checkpoints asked = {.timeout_s = 1000}) {
    asked.id = rank;
    asked.reports = reports;
    coordinator_->ask(rank, asked);
  }
  // Marks the reports below this number as complete.
  void complete(int64_t reports) {
    delegate_.now.complete = reports;
    coordinator_->progressed();
  }
  store::CheckpointRow commit_to_validate(int64_t index, ValidationRequest how = {}) {
    const store::CheckpointRow out = run_.commit(index, std::move(how));
    coordinator_->committed(out);
    return out;
  }
  Value next_validated() {
    std::vector<Value> events;
    run_.run_until([&] {
      events = run_.take_events("validated");
      return !events.empty();
    });
    return events.empty() ? Value(Map{}) : events[0];
  }
  void drain() {
    coordinator_->drain([this] { is_drained_ = true; });
  }
  void run_until_drained() {
    run_.run_until([this] { return is_drained_; });
  }

  TestRun run_;
  FakeDelegate delegate_;
  std::optional<CheckpointCoordinator> coordinator_;
  bool is_drained_ = false;
};

TEST_F(CheckpointCoordinatorTest, AnAnswerWaitsForTheReportsThatItIsAbout) {
  open();
  run_.commit(0);
  run_.commit(1);
  ask(0, 1);
  run_.settle();
  EXPECT_TRUE(delegate_.replies.empty()) << "another rank may still be in report 0";
  complete(2);
  run_.settle();
  EXPECT_EQ(delegate_.replies, Texts{"to rank 0: checkpoint_000000"});
}

TEST_F(CheckpointCoordinatorTest, RanksThatAskTheSameGetTheSameAnswer) {
  run_.spec.checkpoint_config = Map{{"num_to_keep", 1}};
  open();
  run_.commit(0);
  delegate_.now.complete = 1;
  ask(0, 1);
  run_.settle();
  run_.commit(1);
  ask(1, 1);
  ask(2, 1, {.repeat = 1, .timeout_s = 1000});
  run_.settle();
  EXPECT_EQ(delegate_.replies,
            (Texts{"to rank 0: checkpoint_000000", "to rank 1: checkpoint_000000", "to rank 2:"}))
      << "the question of rank 2 is another one: its checkpoint was dropped meanwhile";
}

TEST_F(CheckpointCoordinatorTest, ATimeOutNamesTheRanksThatAreBehind) {
  open();
  delegate_.now.behind = "rank 1 (0 reports)";
  ask(0, 1, {.timeout_s = 0.001});
  run_.run_until([this] { return !delegate_.replies.empty(); });
  EXPECT_NE(delegate_.replies[0].find("behind: rank 1 (0 reports)"), std::string::npos)
      << delegate_.replies[0];
}

TEST_F(CheckpointCoordinatorTest, WhoTakesAPartGetsWhatIsThereAfterItsTime) {
  open();
  run_.commit(0);
  ask(0, 5, {.timeout_s = 0.001, .partial = true});
  run_.run_until([this] { return !delegate_.replies.empty(); });
  EXPECT_EQ(delegate_.replies, Texts{"to rank 0: checkpoint_000000"});
}

TEST_F(CheckpointCoordinatorTest, QuestionsOfAnEndedAttemptAreForgotten) {
  open();
  run_.commit(0);
  ask(0, 1);
  coordinator_->begin_attempt();
  complete(1);
  run_.settle();
  EXPECT_TRUE(delegate_.replies.empty());
}

TEST_F(CheckpointCoordinatorTest, ALongAnswerComesInParts) {
  open();
  Report report = run_.staged_report(0, 0, "weights");
  report.metrics = Map{{"text", std::string(size_t{600} << 10, 'x')}};
  run_.record->commit(1, {report});
  delegate_.now.complete = 1;
  ask(0, 1);
  run_.run_until([this] { return !delegate_.replies.empty(); });
  EXPECT_EQ(delegate_.replies, Texts{"to rank 0: checkpoint_000000"});
  EXPECT_EQ(delegate_.num_parts, 3);
}

TEST_F(CheckpointCoordinatorTest, AValidationIsAProcessWhoseMetricsJoinTheCheckpoints) {
  open_with_validations("validate");
  commit_to_validate(0);
  const Value event = next_validated();
  EXPECT_EQ(event["checkpoint"].as_string(), "checkpoint_000000");
  EXPECT_EQ(event["status"].as_string(), "VALIDATED");
  EXPECT_EQ(event["metrics"]["acc"].as_float(), 0.75);
  EXPECT_EQ(delegate_.log, "checkpoint_000000: validating\n");
  run_.settle();
  EXPECT_EQ(run_.record->checkpoints().kept().at(0).metrics["acc"].as_float(), 0.75);
}

TEST_F(CheckpointCoordinatorTest, WhoAsksForValidatedOnesWaitsForTheValidation) {
  open_with_validations("validate");
  delegate_.now.complete = 1;
  commit_to_validate(0);
  ask(0, 1, {.validated = true, .timeout_s = 1000});
  EXPECT_EQ(delegate_.now.first_pending, std::nullopt) << "the coordinator's own part";
  run_.run_until([this] { return !delegate_.replies.empty(); });
  EXPECT_EQ(run_.take_events("validated").size(), 1U) << "before the answer";
}

TEST_F(CheckpointCoordinatorTest, ARunEndsAfterItsValidations) {
  open_with_validations("validate");
  drain();
  EXPECT_TRUE(is_drained_) << "there is none";
  is_drained_ = false;
  commit_to_validate(0);
  commit_to_validate(1);
  drain();
  EXPECT_FALSE(is_drained_);
  EXPECT_TRUE(coordinator_->is_draining());
  EXPECT_EQ(run_.take_events("draining").at(0)["validations"].as_int(), 2);
  run_until_drained();
  EXPECT_EQ(run_.take_events("validated").size(), 2U);
}

TEST_F(CheckpointCoordinatorTest, ARunDoesNotWaitForItsValidationsForEver) {
  run_.spec.validation_config = ValidationSpec{.validation_drain_timeout_s = 0.01};
  open_with_validations("hang");
  commit_to_validate(0);
  drain();
  run_until_drained();
  EXPECT_EQ(next_validated()["status"].as_string(), "VALIDATION_TIMEOUT");
  EXPECT_NE(run_.take_notices().at(0).find("validation_drain_timeout_s"), std::string::npos);
}

TEST_F(CheckpointCoordinatorTest, AValidationHasATimeOfItsOwn) {
  open_with_validations("hang");
  commit_to_validate(0, {.timeout_s = 0.01});
  EXPECT_EQ(next_validated()["status"].as_string(), "VALIDATION_TIMEOUT");
  EXPECT_NE(run_.take_notices().at(0).find("ValidationTaskConfig.timeout_s"), std::string::npos);
}

TEST_F(CheckpointCoordinatorTest, AValidationThatDiesKeepsTheMetricsOfTheReport) {
  open_with_validations("nonsense");
  commit_to_validate(0);
  EXPECT_EQ(next_validated()["status"].as_string(), "VALIDATION_FAILED");
  run_.settle();
  EXPECT_EQ(run_.record->checkpoints().kept().at(0).metrics["acc"].as_float(), 0.5);
}

TEST_F(CheckpointCoordinatorTest, CancelledValidationsAreDoneByTheNextController) {
  open_with_validations("hang");
  commit_to_validate(0);
  drain();
  coordinator_->cancel();
  EXPECT_TRUE(is_drained_);
  EXPECT_NE(run_.take_notices().at(0).find("1 validation was cancelled"), std::string::npos);
  run_.settle();
  setenv(kTestWorker, "validate", 1);
  make();
  coordinator_->begin_run();
  EXPECT_EQ(next_validated()["status"].as_string(), "VALIDATED");
}

TEST_F(CheckpointCoordinatorTest, AResumedRunWithoutAFunctionFailsTheValidationsThatWait) {
  open();
  commit_to_validate(0);
  EXPECT_EQ(next_validated()["status"].as_string(), "VALIDATION_FAILED");
  EXPECT_NE(run_.take_notices().at(0).find("no validation_config"), std::string::npos);
}

}  // namespace
}  // namespace rtrain::train
