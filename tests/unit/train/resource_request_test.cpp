#include "host/train/resources/resource_request.h"

#include <gtest/gtest.h>

namespace rtrain::train {
namespace {

TEST(ResourceRequest, AFixedGroupIsThereWithAllOrNotAtAll) {
  const ResourceRequest request(2, 2, 3, 1);
  const auto grant = request.grant({8, {machine::kWholeGpu, 400, machine::kWholeGpu}}, 8);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->workers, 2);
  EXPECT_EQ(grant->cores, 6);
  EXPECT_EQ(grant->gpus, (machine::GpuPlaces{{0}, {2}}));
  EXPECT_FALSE(request.grant({5, {machine::kWholeGpu, machine::kWholeGpu}}, 8)) << "too few cores";
  EXPECT_FALSE(request.grant({8, {machine::kWholeGpu, 999}}, 8)) << "too few devices";
}

TEST(ResourceRequest, AnElasticGroupIsAsLargeAsTheScarcerOfBoth) {
  const ResourceRequest request(1, 8, 2, 0.5);
  const auto by_gpus = request.grant({16, {500, machine::kWholeGpu}}, 16);
  ASSERT_TRUE(by_gpus);
  EXPECT_EQ(by_gpus->workers, 3);
  EXPECT_EQ(by_gpus->cores, 6) << "cores without a device would be idle";
  EXPECT_EQ(by_gpus->gpus, (machine::GpuPlaces{{0}, {1}, {1}}));
  const auto by_cores = request.grant({5, {machine::kWholeGpu, machine::kWholeGpu}}, 16);
  ASSERT_TRUE(by_cores);
  EXPECT_EQ(by_cores->workers, 2);
  EXPECT_EQ(by_cores->gpus.size(), 2U);
  EXPECT_EQ(request.workers({16, {500, machine::kWholeGpu}}), 3);
  EXPECT_EQ(request.workers({5, {machine::kWholeGpu, machine::kWholeGpu}}), 2);
}

TEST(ResourceRequest, WithoutDevicesCoresAloneCount) {
  const ResourceRequest request(5, 5, 0, 0);
  const auto grant = request.grant({2, {}}, 2);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->workers, 5);
  EXPECT_EQ(grant->cores, 2);
  EXPECT_EQ(grant->gpus, machine::GpuPlaces(5));
  EXPECT_TRUE(grant->request(0).gpus.empty());
}

TEST(ResourceRequest, EveryPartIsHeldByItself) {
  const ResourceRequest request(2, 2, 1, 0.5);
  const auto grant = request.grant({2, {machine::kWholeGpu}}, 2);
  ASSERT_TRUE(grant);
  const machine::LeaseRequest lease = grant->request(request.gpus().share());
  EXPECT_EQ(lease.cores, 2);
  EXPECT_EQ(lease.gpus, (std::vector<machine::GpuPart>{{0, 500}, {0, 500}}));
}

}  // namespace
}  // namespace rtrain::train
