// tests/unit/test_run.h: a run with a store, a loop and an io thread, for the classes of host/train
// that serve one.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/store/db/database.h"
#include "host/train/record/run_context.h"
#include "host/train/run/event_queue.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/test_spec.h"

namespace rtrain {

class TestRun {
 public:
  // Until open() begins the run and its first attempt, a test may change the spec.
  TestRun() { spec.storage_path = folder / "results"; }
  ~TestRun() { wait_for_io(); }
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;

  void open() {
    record = std::make_unique<train::RunRecord>(spec);
    io.emplace(io_thread, loop, *record,
               [this](const Error& error) { write_errors.push_back(error.message()); });
    events.emplace(queue, *io);
    context.emplace(train::RunContext{.spec = spec,
                                      .loop = loop,
                                      .io = *io,
                                      .events = *events,
                                      .calls = calls,
                                      .run_id = record->run_id(),
                                      .run_path = record->run_path()});
    attempt = record->begin_attempt(1, 2);
  }

  // Returns a report of `rank` that brings one staged file.
  Report staged_report(int64_t index, int rank, const std::string& text) {
    const std::string name = std::to_string(rank) + ".txt";
    const std::string source = "source-" + std::to_string(index) + "-" + std::to_string(rank);
    folder.write(source + "/" + name, text);
    StagedRank staged = record->checkpoints().files().stage({1, attempt.nonce, index}, rank,
                                                            folder / source, false);
    Report out;
    out.rank = rank;
    out.index = index;
    out.metrics = Map{{"acc", 0.5}};
    out.upload = Upload::kStaged;
    out.has_checkpoint = true;
    out.staged = std::move(staged);
    return out;
  }

  // Commits a checkpoint of one rank, as the io thread would.
  store::CheckpointRow commit(int64_t index, std::optional<ValidationRequest> validation = {}) {
    Report report = staged_report(index, 0, "weights");
    report.validation = std::move(validation);
    auto committed = record->commit(1, {report});
    record->checkpoints().drop(committed.dropped);
    return committed.checkpoint;
  }

  void run_until(const std::function<bool()>& condition) { rtrain::run_until(loop, condition); }
  // Runs the loop until the io thread has finished all posted tasks and the short chains of calls
  // that follow from them.
  void settle() {
    for (int round = 0; round < 8; ++round) {
      io_thread.post([this] { loop.post([this] { loop.stop(); }); });
      loop.run();
    }
  }

  // Returns the events of this type that have arrived since the last call.
  std::vector<Value> take_events(std::string_view type) {
    while (auto event = queue.next(0)) seen_.push_back(std::move(*event));
    std::vector<Value> out;
    std::erase_if(seen_, [&](const Value& event) {
      if (event["type"].as_string() != type) return false;
      out.push_back(event);
      return true;
    });
    return out;
  }
  std::vector<std::string> take_notices() {
    std::vector<std::string> out;
    for (const Value& event : take_events("notice")) out.push_back(event["text"].as_string());
    return out;
  }

  // Reads a cell of the database as another process would.
  std::string cell(const std::string& sql) const {
    auto reader = store::Database::open_read_only(folder / "results/rtrain.db");
    store::Statement query = reader->prepare(sql);
    return query.next() ? query.text(0) : "(no row)";
  }

  TempFolder folder;
  train::RunSpec spec = test_spec("run");
  loop::Loop loop;
  train::EventQueue queue;
  train::ScriptCalls calls{queue};
  std::unique_ptr<train::RunRecord> record;
  train::RunRecord::AttemptStart attempt;
  std::optional<train::IoCalls> io;
  std::optional<train::RunEvents> events;
  std::optional<train::RunContext> context;
  std::vector<std::string> write_errors;
  loop::TaskThread io_thread{"io"};  // last: its tasks use the members above

 private:
  void wait_for_io() {
    std::promise<void> idle;
    io_thread.post([&idle] { idle.set_value(); });
    idle.get_future().wait();
  }

  std::vector<Value> seen_;
};

}  // namespace rtrain
