#include "host/machine/libraries/cuda_support.h"

#include <gtest/gtest.h>

namespace rtrain::machine {
namespace {

CudaFacts everything() {
  return {.driver = {{CudaDevice{}, CudaDevice{}}, ""},
          .libtorch = LibTorch{.lib = "/torch/lib",
                               .version = "2.11.0+cu130",
                               .minor = "2.11",
                               .cuda = "13.0",
                               .commit = "70d99e9",
                               .is_tested = true,
                               .source = "user"},
          .has_library = true,
          .is_built = true};
}

TEST(CudaSupport, ADriverLibTorchAndThisBuildMakeDevices) {
  const CudaSupport support = judge_cuda(everything());
  EXPECT_EQ(support.devices, 2);
  EXPECT_EQ(support.reason, "");
  EXPECT_EQ(support.library, "/torch/lib/libtorch_cuda.so");
}

TEST(CudaSupport, WithoutADriverThatIsTheReasonWhateverElseIsMissing) {
  CudaFacts facts;
  facts.driver.reason = "no NVIDIA driver: libcuda.so.1 is not there";
  const CudaSupport support = judge_cuda(facts);
  EXPECT_EQ(support.devices, 0);
  EXPECT_EQ(support.reason, facts.driver.reason);
}

TEST(CudaSupport, LibTorchsCudaLibraryIsNamedWithTheFolderThatLacksIt) {
  CudaFacts facts = everything();
  facts.has_library = false;
  facts.is_built = false;
  const CudaSupport support = judge_cuda(facts);
  EXPECT_EQ(support.devices, 0);
  EXPECT_NE(support.reason.find("libtorch_cuda.so not found next to /torch/lib/libtorch_cpu.so"),
            std::string::npos)
      << support.reason;
}

TEST(CudaSupport, NoLibTorchAndABuildWithoutTheToolkitAreReasonsToo) {
  CudaFacts facts = everything();
  facts.is_built = false;
  EXPECT_EQ(judge_cuda(facts).reason,
            "the engine of this rtrain for LibTorch 2.11 was built without the CUDA 13 toolkit");
  facts.libtorch.reset();
  EXPECT_EQ(judge_cuda(facts).reason, "no usable LibTorch: `rtrain env` lists the places");
}

}  // namespace
}  // namespace rtrain::machine
