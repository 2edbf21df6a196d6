#include "host/train/run/run_spec.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "tests/unit/lua_class.h"
#include "tests/unit/test_spec.h"

namespace rtrain::train {
namespace {

std::string error_of(const Value& spec, Code code = Code::kArgument) {
  try {
    RunSpec::from_value(spec);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    return e.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// Returns a specification with every optional field set.
Value whole() {
  RunSpec spec = test_spec("mine");
  spec.storage_path = "/results";
  spec.command = {"train.lua"};
  spec.tags = {"a"};
  spec.resume = store::ResumeMode::kAuto;
  spec.placement_strategy = decide::PlacementStrategy::kStrictPack;
  spec.worker_env = {{"A", "1"}, {"B", "2"}};
  spec.join = JoinedRanks{.socket = "job.sock", .num_ranks = 2, .fit = 1};
  spec.failure_config.reset_after_s = 5;
  spec.validation_config = ValidationSpec{.max_concurrent = 2, .num_cpus = 3};
  spec.git = GitCommit{.commit = "abc", .is_dirty = true};
  spec.train_loop_config = Map{{"lr", 0.1}};
  return to_value(spec);
}

Value without(std::string_view field) {
  Value out = whole();
  EXPECT_TRUE(out.as_map().del(field));
  return out;
}

Value with(std::string_view field, Value value) {
  Value out = whole();
  out.as_map().set(std::string(field), std::move(value));
  return out;
}

TEST(RunSpec, IsReadAsItWasWritten) {
  const RunSpec spec = RunSpec::from_value(whole());
  EXPECT_EQ(to_value(spec), whole());
  EXPECT_EQ(spec.resume, store::ResumeMode::kAuto);
  EXPECT_EQ(spec.placement_strategy, decide::PlacementStrategy::kStrictPack);
  EXPECT_EQ(spec.worker_env, (StringPairs{{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(spec.join->num_ranks, 2);
  EXPECT_EQ(spec.failure_limits().reset_after_s, 5);
  EXPECT_EQ(spec.failure_limits().controller_failure_limit, 0) << "its launcher starts it again";
  EXPECT_EQ(spec.validation_config->num_cpus, 3);
}

TEST(RunSpec, WhatMayBeLeftOutIsNotThereThen) {
  EXPECT_FALSE(RunSpec::from_value(without("join")).join);
  EXPECT_FALSE(RunSpec::from_value(without("validation_config")).validation_config);
  EXPECT_FALSE(RunSpec::from_value(without("git")).git);
  EXPECT_EQ(RunSpec::from_value(without("join")).failure_limits().controller_failure_limit, 3);
}

TEST(RunSpec, AnEmptyTableIsAnEmptyList) {
  EXPECT_TRUE(RunSpec::from_value(with("tags", Map{})).tags.empty());
  EXPECT_TRUE(RunSpec::from_value(with("sources", Map{})).sources.empty());
}

TEST(RunSpec, AnUnknownFieldIsAnErrorThatNamesIt) {
  EXPECT_EQ(error_of(with("max_worker", 4)),
            "RunSpec: unknown field 'max_worker': did you mean 'max_workers'?");
  Value spec = whole();
  spec.as_map().find("failure_config")->as_map().set("max_failure", 1);
  EXPECT_EQ(error_of(spec),
            "RunSpec: field 'failure_config': unknown field 'max_failure': did you mean "
            "'max_failures'?");
}

TEST(RunSpec, EachMissingFieldIsAnErrorThatNamesIt) {
  const auto check = [](const auto& field) {
    if (!field.is_required) return;
    EXPECT_EQ(error_of(without(field.name)), cat("RunSpec: field '", field.name, "' is missing"));
  };
  RunSpec::kFields.apply([&](const auto&... field) { (check(field), ...); });
  Value spec = whole();
  spec.as_map().find("health_config")->as_map().del("monitor");
  EXPECT_EQ(error_of(spec), "RunSpec: field 'health_config': field 'monitor' is missing");
}

TEST(RunSpec, AMistypedFieldIsAnErrorThatNamesIt) {
  EXPECT_EQ(error_of(with("is_local", 1)),
            "RunSpec: field 'is_local': expected a boolean, got integer");
  EXPECT_EQ(error_of(with("max_workers", 1.5)).substr(0, 30), "RunSpec: field 'max_workers': ");
  EXPECT_EQ(error_of(with("tags", Map{{"a", 1}})),
            "RunSpec: field 'tags': expected a list, got map");
  EXPECT_EQ(error_of(with("placement_strategy", "SCATTER")),
            "RunSpec: field 'placement_strategy': unknown value 'SCATTER': valid names: PACK, "
            "SPREAD, STRICT_PACK, STRICT_SPREAD");
  EXPECT_EQ(error_of(with("worker_env", Map{{"A", 1}})),
            "RunSpec: field 'worker_env': expected a string, got integer");
}

TEST(RunSpec, AValueOutOfRangeIsAnErrorOfTheConfiguration) {
  EXPECT_EQ(error_of(with("max_workers", 0), Code::kConfig), "max_workers = 0: must be at least 1");
  EXPECT_EQ(error_of(with("timeout_s", -1), Code::kConfig), "timeout_s = -1: must be at least 0");
}

// Expects that modules/rtrain/run/run_spec.lua declares the fields that host/train/run/run_spec.h
// reads.
TEST(RunSpec, TheClassesOfLuaHaveTheFieldsOfTheRecords) {
  expect_lua_class<RunSpec>("rtrain.run.run_spec");
}

}  // namespace
}  // namespace rtrain::train
