#include "host/node/job_spec.h"

#include <gtest/gtest.h>

#include "host/base/error.h"
#include "tests/unit/lua_class.h"

namespace rtrain::node {
namespace {

Value given() {
  return to_value(JobSpec{.num_tasks = 4,
                          .task = 2,
                          .join = JoinSpec{.socket = "job.sock", .num_ranks = 2},
                          .id = "57.0",
                          .hosts = {"a", "b"},
                          .master = "a",
                          .port = 20000,
                          .cores = 8,
                          .most_workers = 3,
                          .has_own_disks = true});
}

std::string error_of(const Value& job) {
  try {
    from_value<JobSpec>(job);
  } catch (const Error& e) {
    return e.message();
  }
  return "nothing was thrown";
}

TEST(JobSpec, IsReadAsLuaGivesIt) {
  const auto job = from_value<JobSpec>(given());
  EXPECT_EQ(to_value(job), given());
  EXPECT_EQ(job.tasks_on_node(), 2);
  Value alone = given();
  alone.as_map().del("join");
  alone.as_map().set("hosts", Map{});
  EXPECT_EQ(from_value<JobSpec>(alone).tasks_on_node(), 1);
  EXPECT_TRUE(from_value<JobSpec>(alone).hosts.empty());
}

TEST(JobSpec, AnUnknownOrAMissingFieldIsAnErrorThatNamesIt) {
  Value job = given();
  job.as_map().set("num_task", 1);
  EXPECT_EQ(error_of(job), "JobSpec: unknown field 'num_task': did you mean 'num_tasks'?");
  job = given();
  job.as_map().del("port");
  EXPECT_EQ(error_of(job), "JobSpec: field 'port' is missing");
  job = given();
  job.as_map().set("node_timeout_s", 3);
  EXPECT_NE(error_of(job).find("unknown field 'node_timeout_s'"), std::string::npos)
      << "it is node 0's to say";
}

TEST(JobSpec, TheClassesOfLuaHaveTheFieldsOfTheRecords) {
  expect_lua_class<JobSpec>("rtrain.launch.job_spec");
}

}  // namespace
}  // namespace rtrain::node
