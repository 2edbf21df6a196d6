// scale_test.cpp: a run over many nodes with a complete controller: the real Run, its store,
// NodeServer and connections. Agents and their workers are simulated (sim_agents.h); node 0's
// workers are processes that simulate workers in the same way (sim_worker.h).
//
// Without an argument the run is small: its behaviour is checked, but figures are only printed.
// With --full, as scripts/test --soak scale runs it, 1,000 workers on 128 agents have to keep the
// limits.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/loop/processes/group_guard.h"
#include "host/node/node_server.h"
#include "host/store/db/database.h"
#include "host/train/run.h"
#include "tests/soak/scale/sim_agents.h"
#include "tests/soak/scale/sim_board.h"
#include "tests/soak/scale/sim_worker.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/test_spec.h"

namespace rtrain {
namespace {

bool is_full_size = false;

// Limits hold only at full size, because small runs share their machine with other tests.
void expect_at_most(const char* what, double value, double limit, const char* unit) {
  std::printf("%s: %.3g %s (at most %.3g)\n", what, value, unit, limit);
  if (is_full_size) {
    EXPECT_LE(value, limit) << what;
  }
}

double cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class ScaleTest : public ::testing::Test {
 protected:
  ScaleTest() {
    ::setenv("RTRAIN_RENDEZVOUS", (folder_ / "rendezvous").c_str(), 1);
    ::setenv("RTRAIN_RUNTIME_DIR", (folder_ / "runtime").c_str(), 1);
    job_.num_tasks = num_agents() + 1;
    job_.id = "scale";
    // Forks before any thread exists.
    agents_ = ::fork();
    if (agents_ == 0) {
      run_sim_agents(job_, num_agents() / 2);
      ::_exit(0);
    }
    node::set_node_server(std::make_unique<node::NodeServer>(job_));
    train::RunSpec spec = test_spec("scale");
    spec.storage_path = folder_ / "results";
    spec.min_workers = spec.max_workers = num_workers();
    spec.oversubscribe = true;
    spec.gpu_sample_s = 0;
    spec.host_sample_s = 0;
    spec.failure_config.max_failures = 1;
    spec.functions = "none";
    run_.emplace(std::move(spec));
  }
  ~ScaleTest() override {
    run_.reset();
    if (node::node_server() != nullptr) node::node_server()->leave(0);
    node::set_node_server(nullptr);
    ::kill(agents_, SIGKILL);
    ::waitpid(agents_, nullptr, 0);
    ::unlink(std::getenv("SIM_BOARD"));
  }

  static int num_agents() { return is_full_size ? 128 : 8; }
  static int num_workers() { return is_full_size ? 1000 : 64; }

  // Reads events until an event of this type, with this value of the field, arrives.
  Value wait_for(std::string_view type, const char* field = "type", std::string_view value = {}) {
    const double until_s = monotonic_s() + 60;
    while (monotonic_s() < until_s) {
      const auto event = run_->next_event(1);
      if (!event) continue;
      if ((*event)["type"] == Value("attempt_failed")) ++num_failures_;
      if ((*event)["type"] == Value("finished")) finished_ = *event;
      const bool is_it = (*event)["type"] == Value(std::string(type));
      if (is_it && (value.empty() || (*event)[field] == Value(std::string(value)))) return *event;
      if (finished_) break;
    }
    ADD_FAILURE() << "no event " << type << " " << value
                  << (finished_ ? to_json(*finished_) : std::string());
    return Value(Map{});
  }
  // Waits until the shared memory fulfils the condition.
  void wait_until(const std::function<bool()>& condition) {
    const double until_s = monotonic_s() + 60;
    while (!condition()) {
      if (monotonic_s() > until_s) FAIL() << "not within a minute";
      drain();
    }
  }
  // Reads the run's events and counts failed attempts.
  void drain() {
    while (const auto event = run_->next_event(0.02)) {
      if ((*event)["type"] == Value("attempt_failed")) ++num_failures_;
    }
  }
  int64_t number(const std::string& sql) const {
    auto reader = store::Database::open_read_only(folder_ / "results/rtrain.db");
    store::Statement query = reader->prepare(sql);
    return query.next() ? query.integer(0) : -1;
  }

  double seconds_of_a_barrier(int64_t which);
  void expect_steady();

  TempFolder folder_;
  SimBoard& board_ = SimBoard::make();
  node::JobSpec job_;
  pid_t agents_ = 0;
  std::optional<rtrain::train::Run> run_;  // qualified because gtest has a Run, too
  std::optional<Value> finished_;
  int num_failures_ = 0;
};

// Returns the seconds from the arrival of the last rank until the last rank may continue.
double ScaleTest::seconds_of_a_barrier(int64_t which) {
  board_.barrier = which;
  wait_until([&] { return board_.num_released == which * num_workers(); });
  return 1e-9 * static_cast<double>(board_.last_release_ns - board_.last_arrival_ns);
}

void ScaleTest::expect_steady() {
  board_.reports = true;
  const double begun_s = monotonic_s();
  const double begun_cpu_s = cpu_s();
  const int64_t begun = board_.num_reports;
  const double seconds = is_full_size ? 10 : 1;
  while (monotonic_s() < begun_s + seconds) drain();
  const double took_s = monotonic_s() - begun_s;
  std::printf("reports: %.0f a second\n", static_cast<double>(board_.num_reports - begun) / took_s);
  expect_at_most("the controller's process, of a core", 100 * (cpu_s() - begun_cpu_s) / took_s, 30,
                 "%");
}

TEST_F(ScaleTest, ManyWorkersOnManyNodes) {
  const double begun_s = monotonic_s();
  run_->start();
  wait_for("state", "state", "RUNNING");
  expect_at_most("all workers ready", monotonic_s() - begun_s, 3, "s");

  expect_steady();
  double longest_s = 0;
  for (int64_t which = 1; which <= 5; ++which) {
    longest_s = std::max(longest_s, seconds_of_a_barrier(which));
  }
  expect_at_most("a barrier of all ranks", 1000 * longest_s, 100, "ms");

  board_.reports = false;
  board_.kill = true;
  const Value failed = wait_for("attempt_failed");
  expect_at_most("the decision after the deaths of half of them",
                 1000 * (monotonic_s() - 1e-9 * static_cast<double>(board_.killed_at_ns)), 500,
                 "ms");
  EXPECT_EQ(failed["will_retry"], Value(true));
  EXPECT_EQ(failed["error"]["kind"], Value("WorkerGroupError"));

  wait_for("state", "state", "RUNNING");
  board_.leave = true;
  const Value end = wait_for("finished");
  EXPECT_EQ(end["status"], Value("FINISHED"));
  EXPECT_EQ(num_failures_, 1) << "one decision";
  EXPECT_EQ(end["attempts"], Value(2));
  EXPECT_EQ(number("SELECT count(*) FROM reports WHERE attempt = 1"), board_.num_reports);
  EXPECT_EQ(number("SELECT count(*) FROM workers WHERE attempt = 2 AND exit_code = 0"),
            num_workers());
}

}  // namespace
}  // namespace rtrain

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc == 4 && mode == "--worker") {
    return rtrain::run_sim_worker(std::atoi(argv[2]), std::atoi(argv[3]));
  }
  if (argc == 4 && mode == "--guard") return rtrain::loop::run_group_guard(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  rtrain::is_full_size = argc == 2 && mode == "--full";
  return RUN_ALL_TESTS();
}
