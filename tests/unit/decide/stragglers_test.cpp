#include "host/decide/slow/stragglers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

// Seconds of a step of a rank, without its collectives.
struct Step {
  double data_s = 0.001;
  double compute_s = 0.02;
  double checkpoint_s = 0;
  double other_s = 0.001;
  double own_s() const { return data_s + compute_s + checkpoint_s + other_s; }
};

// Ranks that make steps together: each waits in a collective for the slowest one.
struct SteppingGroup {
  explicit SteppingGroup(int num_ranks)
      : ranks(static_cast<size_t>(num_ranks)),
        steps(static_cast<size_t>(num_ranks)),
        stragglers(num_ranks) {
    for (RankFacts& rank : ranks) rank.times = TimeFacts();
  }

  void step() {
    double longest_s = 0;
    for (const Step& each : steps) longest_s = std::max(longest_s, each.own_s());
    for (size_t i = 0; i < ranks.size(); ++i) {
      TimeFacts& times = *ranks[i].times;
      times.data_s += steps[i].data_s;
      times.compute_s += steps[i].compute_s;
      times.checkpoint_s += steps[i].checkpoint_s;
      times.other_s += steps[i].other_s;
      times.communication_s += longest_s - steps[i].own_s() + exchange_s;
      if (has_steps) ++times.steps;
      ++times.batches;
      ++ranks[i].collectives;
    }
    now_s += longest_s + exchange_s;
    host(longest_s + exchange_s);
  }
  // Lets the ranks make this many steps, and looks at them four times a second.
  std::vector<Straggler> run(int num_steps) {
    std::vector<Straggler> out;
    for (int i = 0; i < num_steps; ++i) {
      step();
      for (; seen_s < now_s; seen_s += 0.25) {
        for (Straggler& found : stragglers.look(ranks)) out.push_back(std::move(found));
      }
    }
    return out;
  }

  std::vector<RankFacts> ranks;
  std::vector<Step> steps;
  Stragglers stragglers;
  bool has_steps = true;
  double exchange_s = 0.002;
  double now_s = 0;
  double seen_s = 0;
  std::function<void(double seconds)> host = [](double) {};
};

constexpr int kManySteps = 2000;  // steps: 46 s

TEST(Stragglers, WhoComputesLongerIsNamedOnceAndAgainWhenItKeepsUp) {
  SteppingGroup group(4);
  group.steps[2].compute_s = 0.03;
  const auto found = group.run(kManySteps);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_EQ(found[0].cause, SlowCause::kCompute);
  EXPECT_NEAR(found[0].lost_s, 0.01, 1e-6);
  EXPECT_EQ(
      found[0].text,
      "computes 1.5 × as long as the others (30 ms a step, they 20 ms); the others wait 10 ms "
      "a step for it");
  group.steps[2].compute_s = 0.02;
  const auto passed = group.run(kManySteps);
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_TRUE(passed[0].has_passed);
  EXPECT_EQ(passed[0].rank, 2);
}

TEST(Stragglers, WhoIsALittleSlowerNowAndThenKeepsUp) {
  SteppingGroup group(4);
  group.steps[2].compute_s = 0.03;
  ASSERT_EQ(group.run(kManySteps).size(), 1U);
  std::vector<Straggler> passed;
  for (int i = 0; i < 40; ++i) {
    group.steps[2].compute_s = i % 2 == 0 ? 0.021 : 0.023;
    for (Straggler& each : group.run(25)) passed.push_back(std::move(each));
  }
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_TRUE(passed[0].has_passed);
}

TEST(Stragglers, TheCauseIsThatOfTheTimeInWhichItIsSlow) {
  SteppingGroup group(3);
  group.steps[1].compute_s = 0.0205;
  ASSERT_TRUE(group.run(500).empty());
  group.steps[1].compute_s = 0.1;
  ASSERT_TRUE(group.run(15).empty()) << "for 1.5 s";
  group.steps[1].compute_s = 0.0205;
  group.steps[1].other_s = 0.03;
  const auto found = group.run(kManySteps);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cause, SlowCause::kOther);
}

TEST(Stragglers, OfTwoRanksToo) {
  SteppingGroup group(2);
  group.steps[1].data_s = 0.02;
  const auto found = group.run(kManySteps);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_EQ(found[0].cause, SlowCause::kData);
  EXPECT_EQ(found[0].text,
            "waits 20 ms a step for data, the others 1 ms; the others wait 19 ms a step for it");
}

TEST(Stragglers, ItTakesThirtySteps) {
  SteppingGroup group(2);
  for (Step& each : group.steps) each.compute_s = 1;
  group.steps[1].compute_s = 1.4;
  EXPECT_TRUE(group.run(25).empty());
  EXPECT_EQ(group.run(12).size(), 1U);
}

TEST(Stragglers, EvenlySlowRanksAndASlowMinorityOfOtherSpeedAreNotConfused) {
  SteppingGroup group(4);
  for (Step& each : group.steps) each.compute_s = 0.2;
  EXPECT_TRUE(group.run(kManySteps).empty());
  group.steps[3].compute_s = 0.05;  // one is faster: nobody is slow
  EXPECT_TRUE(group.run(kManySteps).empty());
}

TEST(Stragglers, TwoSlowRanksAreBothNamed) {
  SteppingGroup group(5);
  group.steps[1].compute_s = group.steps[2].compute_s = 0.04;
  EXPECT_EQ(group.run(kManySteps).size(), 2U);
}

TEST(Stragglers, RanksThatTakeTurnsHoldNobodyUp) {
  SteppingGroup group(2);
  for (int i = 0; i < kManySteps; ++i) {
    group.steps[static_cast<size_t>(i % 2)].compute_s = 0.04;
    group.steps[static_cast<size_t>((i + 1) % 2)].compute_s = 0.02;
    EXPECT_TRUE(group.run(1).empty());
  }
}

TEST(Stragglers, WhatIsLittleNextToTheStepIsNotNamed) {
  SteppingGroup group(3);
  group.steps[1].compute_s = 0.022;
  EXPECT_TRUE(group.run(kManySteps).empty());
  SteppingGroup quick(3);
  for (Step& each : quick.steps) each = {.data_s = 0, .compute_s = 0.002, .other_s = 0};
  quick.steps[1].compute_s = 0.0035;
  EXPECT_TRUE(quick.run(20 * kManySteps).empty());
}

TEST(Stragglers, WhatRankZeroDoesAloneIsNoFault) {
  SteppingGroup group(3);
  group.steps[0].other_s = 0.05;  // evaluation
  EXPECT_TRUE(group.run(kManySteps).empty());
  group.steps[0] = {.checkpoint_s = 0.05};
  group.host = [&](double) { group.ranks[0].times->saved_bytes += 1000; };
  EXPECT_TRUE(group.run(kManySteps).empty());
  group.host = [&](double) {
    for (RankFacts& each : group.ranks) each.times->saved_bytes += 1000;
  };
  const auto found = group.run(kManySteps);  // now all of them save
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cause, SlowCause::kCheckpoint);
}

TEST(Stragglers, ARankWithMoreBatchesIsNotSlow) {
  SteppingGroup group(3);
  group.steps[1] = {.data_s = 0.002, .compute_s = 0.04};
  group.host = [&](double) { ++group.ranks[1].times->batches; };
  EXPECT_TRUE(group.run(kManySteps).empty());
}

TEST(Stragglers, TheHostExplainsIt) {
  const auto named = [](const std::function<void(HostFacts & host, double seconds)>& host) {
    SteppingGroup group(3);
    group.steps[1].compute_s = 0.03;
    group.host = [&](double seconds) {
      for (RankFacts& each : group.ranks)
        each.host.periods = static_cast<uint64_t>(group.now_s * 10);
      host(group.ranks[1].host, seconds);
    };
    auto found = group.run(kManySteps);
    return found.size() == 1 ? found[0] : Straggler();
  };
  const Straggler throttled = named([](HostFacts& host, double) {
    host.cores = 0.8;
    host.throttled = host.periods;
  });
  EXPECT_EQ(throttled.cause, SlowCause::kThrottled);
  EXPECT_NE(throttled.text.find("allows it 0.8 cores, and stopped it in 100 % of the periods"),
            std::string::npos)
      << throttled.text;
  const Straggler cores = named([](HostFacts& host, double s) { host.starved_s += 0.3 * s; });
  EXPECT_EQ(cores.cause, SlowCause::kCores);
  EXPECT_NE(cores.text.find("waited 300 ms in each second"), std::string::npos) << cores.text;
  EXPECT_EQ(named([](HostFacts& host, double s) { host.stolen_s += 0.3 * s; }).cause,
            SlowCause::kStolen);
  EXPECT_EQ(named([](HostFacts& host, double) { host.faults += 50; }).cause, SlowCause::kMemory);
  EXPECT_EQ(named([](HostFacts& host, double) { host.slowed_by = "heat"; }).cause,
            SlowCause::kDevice);
  EXPECT_EQ(named([](HostFacts& host, double s) { host.starved_s += 0.01 * s; }).cause,
            SlowCause::kCompute);
}

TEST(Stragglers, ARankThatIsStoppedNowAndThenIsNamedWhereverItIsStopped) {
  SteppingGroup group(2);
  int looks = 0;
  std::vector<Straggler> out;
  for (int i = 0; i < 400; ++i) {
    for (int j = 0; j < 10; ++j) group.step();
    group.ranks[1].state = ++looks % 3 == 0 ? 'T' : 'S';
    for (Straggler& found : group.stragglers.look(group.ranks)) out.push_back(std::move(found));
  }
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].cause, SlowCause::kStopped);
}

TEST(Stragglers, ARareStopAndACauseThatComesAndGoesAreNotNamed) {
  SteppingGroup group(2);
  std::vector<Straggler> out;
  for (int i = 0; i < 400; ++i) {
    for (int j = 0; j < 10; ++j) group.step();
    group.ranks[1].state = i % 12 == 0 ? 'T' : 'S';
    for (Straggler& found : group.stragglers.look(group.ranks)) out.push_back(std::move(found));
  }
  EXPECT_TRUE(out.empty());
  group.ranks[1].state = 'S';
  group.steps[1].compute_s = 0.04;
  EXPECT_EQ(group.run(kManySteps).size(), 1U);
  group.host = [&](double seconds) {
    if (std::fmod(group.now_s, 40) < 6) group.ranks[1].host.starved_s += 0.3 * seconds;
  };
  EXPECT_TRUE(group.run(kManySteps).empty()) << "for some seconds other programs run there";
  group.host = [&](double seconds) { group.ranks[1].host.starved_s += 0.3 * seconds; };
  const auto found = group.run(kManySteps);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].cause, SlowCause::kCores);
}

TEST(Stragglers, DevicesThatWaitAreCompared) {
  SteppingGroup group(2);
  int looks = 0;
  std::vector<Straggler> out;
  for (int i = 0; i < 400; ++i) {
    for (int j = 0; j < 10; ++j) group.step();
    ++looks;
    group.ranks[0].device.reset();
    group.ranks[1].device.reset();
    if (looks % 2 == 0) group.ranks[0].device = DeviceFacts{.sequence = 1};
    for (Straggler& found : group.stragglers.look(group.ranks)) out.push_back(std::move(found));
  }
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].rank, 1);
  EXPECT_EQ(out[0].text.find("computes 2 × as long as the others;"), 0U) << out[0].text;
}

TEST(Stragglers, ASlowLinkHoldsAllRanksUpAlikeAndIsNamed) {
  SteppingGroup group(3);
  group.exchange_s = 0.06;
  for (int i = 0; i < 3; ++i) {
    group.ranks[static_cast<size_t>(i)].links = {
        {.own = cat("10.0.0.", i), .peer = cat("10.0.0.", (i + 1) % 3)}};
  }
  bool is_slow = true;
  group.host = [&](double) {
    for (size_t i = 0; i < 3; ++i) {
      LinkFacts& link = group.ranks[i].links[0];
      link.bytes += 1000;
      ++link.looks;
      if (is_slow ? i != 2 : link.looks % 3 == 0) ++link.waits;  // to rank 1 and from it
    }
  };
  const auto found = group.run(kManySteps);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_EQ(found[0].cause, SlowCause::kLink);
  EXPECT_EQ(found[0].text,
            "has a slow link to the other nodes: its data wait for it 100 % of the time, those of "
            "the others 0 %; the others wait 60 ms a step for it");
  is_slow = false;
  const auto passed = group.run(kManySteps);
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_TRUE(passed[0].has_passed);
}

TEST(Stragglers, AScriptWithoutOptimizersHasCollectives) {
  SteppingGroup group(2);
  group.has_steps = false;
  group.steps[1].compute_s = 0.04;
  EXPECT_EQ(group.run(kManySteps).size(), 1U);
}

TEST(Stragglers, AnnouncedWorkAndANewProcessBeginAgain) {
  SteppingGroup group(2);
  group.steps[1].compute_s = 0.04;
  EXPECT_TRUE(group.run(100).empty());
  group.ranks[0].is_busy = true;
  EXPECT_TRUE(group.run(kManySteps).empty());
  group.ranks[0].is_busy = false;
  EXPECT_TRUE(group.run(100).empty());
  *group.ranks[1].times = {};  // a process that has taken its place
  EXPECT_TRUE(group.run(100).empty());
  EXPECT_EQ(group.run(kManySteps).size(), 1U);
}

// Facts of a remote node arrive once a second.
TEST(Stragglers, StaleFactsOfAnotherNodeAreCompared) {
  SteppingGroup group(2);
  group.steps[1].compute_s = 0.04;
  std::vector<Straggler> out;
  std::vector<RankFacts> seen = group.ranks;
  for (int i = 0; i < kManySteps; ++i) {
    group.step();
    if (i % 5 != 0) continue;
    seen[0] = group.ranks[0];
    if (i % 25 == 0) seen[1] = group.ranks[1];
    for (Straggler& found : group.stragglers.look(seen)) out.push_back(std::move(found));
  }
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].rank, 1);
}

}  // namespace
}  // namespace rtrain::decide
