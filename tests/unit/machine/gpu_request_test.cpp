#include "host/machine/leases/gpu_request.h"

#include <gtest/gtest.h>

namespace rtrain::machine {
namespace {

GpuPlaces places(double per_worker, int workers, const FreeGpus& free) {
  return GpuRequest(workers, workers, per_worker).place(free, workers).value_or(GpuPlaces{});
}

// behaviour: devices for fractions of a GPU
TEST(GpuRequest, PartsShareDevicesAndSeveralGoToOneWorker) {
  const FreeGpus two{kWholeGpu, kWholeGpu};
  EXPECT_EQ(places(0.5, 2, two), (GpuPlaces{{0}, {0}}));
  EXPECT_EQ(places(0.5, 3, two), (GpuPlaces{{0}, {0}, {1}}));
  EXPECT_EQ(places(1, 2, two), (GpuPlaces{{0}, {1}}));
  EXPECT_EQ(places(2, 1, two), (GpuPlaces{{0, 1}}));
  EXPECT_EQ(places(0, 2, {}), (GpuPlaces{{}, {}}));
}

TEST(GpuRequest, APartFillsTheDeviceWithTheLeastThatIsEnough) {
  EXPECT_EQ(places(0.25, 3, {1000, 600, 200}), (GpuPlaces{{1}, {1}, {0}}));
  EXPECT_EQ(places(1, 1, {999, 1000}), (GpuPlaces{{1}})) << "a device in use is nobody's whole one";
}

TEST(GpuRequest, WhatDoesNotFitIsNotPlaced) {
  const GpuRequest request(3, 3, 1);
  EXPECT_FALSE(request.place({1000, 1000}, 3));
  EXPECT_EQ(request.workers({1000, 1000}), 2);
  EXPECT_EQ(GpuRequest(1, 8, 0.333).workers({1000, 1000}), 6);
  EXPECT_EQ(GpuRequest(1, 8, 2).workers({1000, 0, 1000, 1000}), 1);
}

// behaviour: a request that can never be met
TEST(GpuRequest, MoreThanThereIsIsRefusedWithWhatWasFound) {
  const auto none = GpuRequest(2, 2, 1).impossible({}, "no NVIDIA driver");
  ASSERT_TRUE(none);
  EXPECT_EQ(exit_code(none->code()), 4);
  EXPECT_EQ(none->message(),
            "2 workers of 1 GPU cannot be had: there is no CUDA device: no NVIDIA driver. To train "
            "on the CPU: use_gpu = false, or --gpus 0");
  const auto few = GpuRequest(3, 3, 1).impossible({"NVIDIA H100", "NVIDIA H100"}, "");
  ASSERT_TRUE(few);
  EXPECT_NE(few->message().find("this process sees 2 x NVIDIA H100"), std::string::npos)
      << few->message();
  EXPECT_FALSE(GpuRequest(2, 2, 1).impossible({"a", "b"}, ""));
  EXPECT_FALSE(GpuRequest(1, 9, 1).impossible({"a"}, "")) << "an elastic run begins with its least";
  EXPECT_FALSE(GpuRequest(2, 2, 0).impossible({}, ""));
}

TEST(GpuRequest, OddAmountsAreRefused) {
  for (const double gpus : {-1.0, 1.5, 1e9}) EXPECT_THROW(GpuRequest(1, 1, gpus), Error) << gpus;
}

TEST(GpuRequest, TypesAreWordsOfTheName) {
  EXPECT_TRUE(is_accelerator("NVIDIA H100 80GB HBM3", "H100"));
  EXPECT_TRUE(is_accelerator("NVIDIA A100-SXM4-40GB", "A100-40G"));
  EXPECT_TRUE(is_accelerator("Tesla V100-SXM2-16GB", "v100"));
  EXPECT_TRUE(is_accelerator("NVIDIA GeForce RTX 4090", "RTX-4090"));
  EXPECT_FALSE(is_accelerator("NVIDIA A100-SXM4-80GB", "A10"));
  EXPECT_FALSE(is_accelerator("NVIDIA L40S", "L4"));
  EXPECT_FALSE(is_accelerator("NVIDIA A100-SXM4-80GB", "A100-40G"));
  EXPECT_FALSE(is_accelerator("NVIDIA H100", ""));
}

}  // namespace
}  // namespace rtrain::machine
