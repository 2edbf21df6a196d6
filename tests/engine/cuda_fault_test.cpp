// How CUDA runtime errors are classified for a process.
#include "host/engine/cuda/fault.h"

#include <gtest/gtest.h>

namespace rtrain::engine {
namespace {

TEST(CudaFault, ABrokenKernelOrDeviceEndsTheUseOfIt) {
  for (int error : {214, 700, 702, 710, 719, 999}) {
    EXPECT_TRUE(ends_use_of_device(error)) << error;
    EXPECT_EQ(code_of_cuda_error(error), Code::kWorkerLost) << error;
  }
}

TEST(CudaFault, ARefusedCallIsAWrongArgumentAndNoMore) {
  for (int error : {1, 9, 400, 801, 900}) {
    EXPECT_FALSE(ends_use_of_device(error)) << error;
    EXPECT_EQ(code_of_cuda_error(error), Code::kArgument) << error;
  }
}

TEST(CudaFault, MemoryAndMachineHaveCodesOfTheirOwn) {
  EXPECT_EQ(code_of_cuda_error(2), Code::kOutOfMemory);
  EXPECT_EQ(code_of_cuda_error(46), Code::kEnvironment);
  EXPECT_EQ(code_of_cuda_error(803), Code::kEnvironment);
}

TEST(CudaFault, TheTextNamesErrorDeviceAndSetting) {
  const std::string text = lost_device_text(
      "CUDA error: an illegal memory access was encountered\nSearch for `cudaErrorIllegalAddress' "
      "in https://docs.nvidia.com for more information.\nCUDA kernel errors might be …",
      "cuda:1");
  EXPECT_TRUE(
      text.starts_with("CUDA error: an illegal memory access was encountered "
                       "(cudaErrorIllegalAddress) on cuda:1. This process cannot use"))
      << text;
  EXPECT_NE(text.find("CUDA_LAUNCH_BLOCKING=1"), std::string::npos);
  EXPECT_EQ(text.find("docs.nvidia.com"), std::string::npos);
}

TEST(CudaFault, ATextWithoutANameStaysWhole) {
  const std::string text = lost_device_text("CUDA error: unknown error", "");
  EXPECT_TRUE(text.starts_with("CUDA error: unknown error. This process")) << text;
}

}  // namespace
}  // namespace rtrain::engine
