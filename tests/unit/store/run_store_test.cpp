#include "host/store/runs/run_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/files/file.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

namespace fs = std::filesystem;

class RunStoreTest : public ::testing::Test {
 protected:
  NewRun new_run(const std::string& name) {
    NewRun run;
    run.name = name;
    run.storage_path = temp / "results";
    run.num_workers = 2;
    run.script = "train.lua";
    run.config = Map{{"lr", 0.1}};
    return run;
  }

  std::string cell(const std::string& sql) {
    auto reader = Database::open_read_only(temp / "results/rtrain.db");
    Statement query = reader->prepare(sql);
    return query.next() ? query.text(0) : "(no row)";
  }

  Error failure_of_open(const NewRun& run) {
    try {
      RunStore::open(run);
    } catch (const Error& e) {
      return e;
    }
    return Error(Code::kInternal, "nothing was thrown");
  }

  TempFolder temp;
};

TEST_F(RunStoreTest, RecordsARun) {
  auto store = RunStore::open(new_run("first"));
  EXPECT_EQ(cell("SELECT status FROM runs"), "INITIALIZING");
  store->begin_attempt(1, 2, std::nullopt);
  const std::vector<WorkerRow> workers{{0, 100, "host", "cpu", {}, {}},
                                       {1, 101, "host", "cpu", {}, {}}};
  store->set_workers(1, workers);
  store->set_status("RUNNING");
  const std::vector<Report> reports{{1, 0, 0, 5, Map{{"loss", std::nan("")}}},
                                    {1, 0, 1, 5, Map{{"loss", 0.5}}}};
  store->add_reports(reports);
  store->set_workers(1, std::vector<WorkerRow>{{0, 100, "host", "cpu", 0, {}}});
  store->end_attempt(1, "FINISHED", {});
  store->add_event(1, "info", "done");
  store->end_run("FINISHED", {});
  EXPECT_EQ(cell("SELECT status FROM runs"), "FINISHED");
  EXPECT_EQ(cell("SELECT json_extract(metrics, '$.loss') IS NULL FROM reports WHERE rank = 0"),
            "1");
  EXPECT_EQ(cell("SELECT nonfinite FROM reports WHERE rank = 0"), "{\"loss\":\"NaN\"}");
  EXPECT_EQ(cell("SELECT avg(json_extract(metrics, '$.loss')) FROM reports"), "0.5");
  EXPECT_EQ(cell("SELECT exit_code FROM workers WHERE rank = 0"), "0");
}

TEST_F(RunStoreTest, LateReportsAreAddedOnceToTheirAttempt) {
  auto store = RunStore::open(new_run("late"));
  store->begin_attempt(1, 2, std::nullopt);
  store->add_reports(std::vector<Report>{{1, 0, 1, 5, Map{{"loss", 0.5}}}});
  store->begin_attempt(2, 2, 1);
  const std::vector<Report> late{{1, 0, 1, 5, Map{{"loss", 9}}},
                                 {1, 1, 1, 6, Map{{"loss", 0.4}}},
                                 {1, 2, 1, 7, Map{{"loss", 0.3}}},
                                 {7, 0, 1, 7, Map{{"loss", 0.1}}}};
  EXPECT_EQ(store->add_late_reports(late), 2);
  EXPECT_EQ(store->add_late_reports(late), 0);
  EXPECT_EQ(cell("SELECT group_concat(attempt || ' ' || idx || ' ' || superseded || ' ' || "
                 "json_extract(metrics, '$.loss'), ', ') FROM reports"),
            "1 0 0 0.5, 1 1 0 0.4, 1 2 1 0.3")
      << "report 1 is the last that attempt 2 goes on from";
}

TEST_F(RunStoreTest, ARanksOwnReportReplacesALateOne) {
  auto store = RunStore::open(new_run("late"));
  store->begin_attempt(1, 2, std::nullopt);
  EXPECT_EQ(store->add_late_reports(std::vector<Report>{{1, 0, 1, 5, Map{{"loss", 9}}}}), 1);
  store->add_reports(std::vector<Report>{{1, 0, 1, 5, Map{{"loss", 0.5}}}});
  EXPECT_EQ(cell("SELECT group_concat(json_extract(metrics, '$.loss')) FROM reports"), "0.5");
}

TEST_F(RunStoreTest, ATakenNameIsRefusedWithBothWaysOut) {
  { RunStore::open(new_run("same"))->end_run("FINISHED", {}); }
  const Error refused = failure_of_open(new_run("same"));
  EXPECT_EQ(refused.code(), Code::kConfig);
  EXPECT_NE(refused.message().find("--name"), std::string::npos);
  EXPECT_NE(refused.message().find("resume"), std::string::npos);
  EXPECT_EQ(cell("SELECT count(*) FROM runs"), "1");
}

TEST_F(RunStoreTest, AForeignFolderIsNotTaken) {
  temp.write("results/mine/notes.txt", "x");
  EXPECT_EQ(failure_of_open(new_run("mine")).code(), Code::kConfig);
  EXPECT_TRUE(fs::exists(temp / "results/mine/notes.txt"));
}

TEST_F(RunStoreTest, UnusableNamesAreRefused) {
  for (const char* name : {"", ".", "..", "a/b", "last", "rtrain.db", "-n"}) {
    EXPECT_EQ(failure_of_open(new_run(name)).code(), Code::kConfig) << name;
  }
}

TEST_F(RunStoreTest, AStorageBelowAFileIsAnErrorWithThePath) {
  NewRun run = new_run("x");
  run.storage_path = temp.write("file", "") + "/below";
  const Error refused = failure_of_open(run);
  EXPECT_EQ(refused.code(), Code::kEnvironment);
  EXPECT_NE(refused.message().find(temp / "file"), std::string::npos) << refused.message();
}

TEST_F(RunStoreTest, HoldsTheRunsLockWhileItLives) {
  auto store = RunStore::open(new_run("x"));
  EXPECT_TRUE(RunLock::is_held(store->run_path()));
  const std::string path = store->run_path();
  EXPECT_FALSE(RunLock::try_take(path));
  store.reset();
  EXPECT_FALSE(RunLock::is_held(path));
}

TEST_F(RunStoreTest, TwoRunsWriteSideBySide) {
  auto a = RunStore::open(new_run("a"));
  auto b = RunStore::open(new_run("b"));
  for (auto* store : {a.get(), b.get()}) store->begin_attempt(1, 2, std::nullopt);
  for (int64_t index = 0; index < 50; ++index) {
    const Report row{1, index, 0, index, Map{{"i", index}}};
    a->add_reports({&row, 1});
    b->add_reports({&row, 1});
  }
  EXPECT_EQ(cell("SELECT count(*) FROM reports"), "100");
}

TEST_F(RunStoreTest, AFencedControllerWritesNothing) {
  auto store = RunStore::open(new_run("x"));
  Database::open(temp / "results/rtrain.db")
      .run("UPDATE runs SET owner_epoch = 2, owner = '{\"pid\": 71, \"host\": \"gpu-3\"}'");
  try {
    store->end_run("FINISHED", {});
    FAIL() << "written by a controller that lost the run";
  } catch (const Error& e) {
    EXPECT_EQ(exit_code(e.code()), 4);
    EXPECT_NE(e.message().find("taken over by pid 71 on gpu-3"), std::string::npos) << e.message();
  }
  EXPECT_THROW(store->claim().check(), Error);
  EXPECT_THROW(store->begin_attempt(1, 2, std::nullopt), Error);
  EXPECT_EQ(cell("SELECT status FROM runs"), "INITIALIZING");
  EXPECT_EQ(cell("SELECT count(*) FROM attempts"), "0");
}

TEST_F(RunStoreTest, AFolderThatIsGoneIsNoticedAndWhereItIs) {
  auto store = RunStore::open(new_run("x"));
  fs::rename(temp / "results", temp / "elsewhere");
  const auto failure = [&]() -> std::string {
    try {
      store->set_status("RUNNING");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kEnvironment);
      return e.message();
    }
    return "nothing was thrown";
  };
  EXPECT_NE(failure().find("was moved to " + temp.path() + "/elsewhere/x"), std::string::npos)
      << failure();
  EXPECT_FALSE(fs::exists(temp / "results"));
  fs::create_directories(temp / "results/x");
  EXPECT_NE(failure().find("was moved to"), std::string::npos) << "another folder of that name";
  fs::remove_all(temp / "elsewhere");
  EXPECT_NE(failure().find("was removed"), std::string::npos) << failure();
  EXPECT_THROW(store->claim().check(), Error);
}

TEST_F(RunStoreTest, AStoreThatWasRemovedIsWrittenAgain) {
  RunStore::open(new_run("earlier"))->end_run("FINISHED", {});
  auto a = RunStore::open(new_run("a"));
  auto b = RunStore::open(new_run("b"));
  int restored = 0;
  for (auto* store : {a.get(), b.get()}) store->claim().on_restored = [&] { ++restored; };
  const auto report = [](RunStore& store, int64_t index) {
    const Report row{1, index, 0, index, Map{{"i", index}}};
    store.add_reports({&row, 1});
  };
  for (auto* store : {a.get(), b.get()}) store->begin_attempt(1, 1, std::nullopt);
  int64_t index = 0;
  for (const char* part : {"", "-wal", "all"}) {
    report(*a, index);
    report(*b, index++);
    for (const char* suffix : {"", "-wal", "-shm"}) {
      if (part == std::string(suffix) || part == std::string("all")) {
        fs::remove(temp / (std::string("results/rtrain.db") + suffix));
      }
    }
    report(*a, index);
    report(*b, index++);
    EXPECT_EQ(cell("SELECT count(*) FROM reports"), std::to_string(2 * index)) << part;
  }
  EXPECT_EQ(restored, 6);
  EXPECT_EQ(cell("SELECT count(*) FROM runs"), "3");
  EXPECT_EQ(cell("PRAGMA quick_check"), "ok");
}

TEST_F(RunStoreTest, AStoreThatWasCutShortIsDamaged) {
  auto store = RunStore::open(new_run("x"));
  store->begin_attempt(1, 1, std::nullopt);
  store->claim().database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  store->set_status("RUNNING");
  store->claim().database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  store->set_status("RUNNING");
  fs::resize_file(temp / "results/rtrain.db", fs::file_size(temp / "results/rtrain.db") / 2);
  try {
    store->set_status("RUNNING");
    FAIL() << "written into half a file";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("is damaged"), std::string::npos) << e.message();
  }
}

TEST_F(RunStoreTest, AnEndThatCouldNotBeWrittenIsEnteredByTheNextController) {
  {
    auto store = RunStore::open(new_run("x"));
    store->begin_attempt(1, 1, std::nullopt);
    EXPECT_TRUE(store->keep_end("ERRORED", Map{{"code", "environment"}, {"message", "disk full"}}));
    RunStore::open(new_run("meanwhile"))->end_run("FINISHED", {});
    EXPECT_EQ(cell("SELECT status FROM runs WHERE name = 'x'"), "INITIALIZING") << "it lives";
  }
  RunStore::open(new_run("y"))->end_run("FINISHED", {});
  EXPECT_EQ(cell("SELECT status || (error ->> 'message') FROM runs WHERE name = 'x'"),
            "ERROREDdisk full");
  EXPECT_EQ(cell("SELECT count(*) FROM attempts WHERE ended_at IS NULL"), "0");
  for (const char* run : {"x", "y"}) {
    EXPECT_FALSE(fs::exists(fs::path(temp / "results") / run / "end")) << run;
  }
}

TEST_F(RunStoreTest, AnEndOfAnotherOwnersRunIsNotKept) {
  auto store = RunStore::open(new_run("x"));
  Database::open(temp / "results/rtrain.db").run("UPDATE runs SET owner_epoch = 2");
  EXPECT_THROW(store->end_run("FINISHED", {}), Error);
  EXPECT_FALSE(store->keep_end("FINISHED", {}));
}

TEST_F(RunStoreTest, ANewAttemptSupersedesLaterReports) {
  auto store = RunStore::open(new_run("x"));
  EXPECT_NE(store->begin_attempt(1, 2, std::nullopt), "");
  std::vector<Report> rows;
  for (int64_t index = 0; index < 5; ++index) rows.push_back({1, index, 0, 1, Map{}});
  store->add_reports(rows);
  store->begin_attempt(2, 2, 2);
  const Report again{2, 3, 0, 2, Map{}};
  store->add_reports({&again, 1});
  EXPECT_EQ(cell("SELECT group_concat(idx || '.' || attempt) FROM metric_list"), "0.1,1.1,2.1,3.2");
  EXPECT_EQ(cell("SELECT count(*) FROM reports"), "6");
}

}  // namespace
}  // namespace rtrain::store
