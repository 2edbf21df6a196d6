#include "host/machine/libraries/nvml.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "host/machine/libraries/cuda_driver.h"
#include "host/machine/xid.h"

namespace rtrain::machine {
namespace {

// A node with two devices, the first of them busy. tests/fake_nvidia/nvml.cpp is linked into this
// process, so its functions are found by name.
class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest() : library_(dlopen(RTRAIN_FAKE_NVML, RTLD_NOW)) { setenv("FAKE_CUDA_DEVICES", "2", 1); }
  ~NvmlTest() override {
    for (const char* name :
         {"FAKE_CUDA_DEVICES", "FAKE_NVML_XID", "FAKE_NVML_ERROR", "FAKE_NVML_LOST",
          "FAKE_NVML_PCIE", "FAKE_NVML_NVLINKS", "FAKE_NVML_NVLINK_MBPS"})
      unsetenv(name);
    dlclose(library_);
  }

  void* library_;
};

TEST_F(NvmlTest, TellsOfADeviceThatIsLost) {
  const Nvml nvml;
  const std::string uuid = nvml.gpus().front().uuid;
  EXPECT_EQ(nvml.problem(uuid), "");
  EXPECT_EQ(nvml.problem("GPU-unknown"), "") << "another container's";
  setenv("FAKE_NVML_LOST", "/", 1);
  EXPECT_NE(nvml.problem(uuid).find("the driver has lost it"), std::string::npos);
}

TEST_F(NvmlTest, TellsWhatTheDevicesAre) {
  const GpuSearch search = find_gpus();
  EXPECT_EQ(search.reason, "");
  EXPECT_EQ(search.driver, "580.65.06");
  ASSERT_EQ(search.gpus.size(), 2U);
  EXPECT_EQ(search.gpus[1].uuid, "GPU-abababab-abab-abab-abab-ababababab01");
  EXPECT_EQ(search.gpus[1].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(search.gpus[1].memory_bytes, int64_t{80} << 30);
}

TEST_F(NvmlTest, TellsHowADeviceIsConnected) {
  const Nvml nvml;
  const std::string uuid = nvml.gpus()[1].uuid;
  const GpuWiring unknown = nvml.wiring(uuid);
  EXPECT_EQ(unknown.bus, "0000:02:00");
  EXPECT_EQ(unknown.pcie_generation, 0);
  EXPECT_EQ(unknown.pcie_width, 0);
  EXPECT_EQ(unknown.switch_links, 0);
  setenv("FAKE_NVML_PCIE", "5", 1);
  setenv("FAKE_NVML_NVLINKS", "18", 1);
  setenv("FAKE_NVML_NVLINK_MBPS", "26562", 1);
  const GpuWiring wiring = nvml.wiring(uuid);
  EXPECT_EQ(wiring.pcie_generation, 5);
  EXPECT_EQ(wiring.pcie_width, 16);
  EXPECT_EQ(wiring.switch_links, 18);
  EXPECT_DOUBLE_EQ(wiring.nvlink_gb_s, 26.562);
  EXPECT_TRUE(wiring.peer_links.empty());
  EXPECT_EQ(nvml.wiring("GPU-unknown").bus, "");
}

TEST_F(NvmlTest, TellsWhatADeviceDoesAndWhoUsesIt) {
  const Nvml nvml;
  const GpuState busy = nvml.state(nvml.gpus()[0].uuid);
  EXPECT_EQ(busy.used_bytes, int64_t{20} << 30);
  EXPECT_EQ(busy.utilization_percent, 97);
  EXPECT_EQ(busy.power_w, 699.5);
  EXPECT_EQ(busy.power_limit_w, 700);
  EXPECT_EQ(busy.temperature_c, 71);
  EXPECT_EQ(busy.slowed_by, std::vector<std::string>{"power limit"});
  ASSERT_EQ(busy.processes.size(), 1U);
  EXPECT_EQ(busy.processes[0].pid, 4711);
  EXPECT_EQ(busy.processes[0].memory_bytes, int64_t{19} << 30);
  const GpuState idle = nvml.state(nvml.gpus()[1].uuid);
  EXPECT_EQ(idle.utilization_percent, 0);
  EXPECT_TRUE(idle.slowed_by.empty()) << "an idle clock is not a slowdown";
  EXPECT_TRUE(idle.processes.empty());
}

TEST_F(NvmlTest, APartOfADeviceHasAStateOfItsOwnAndTheDevicesFaults) {
  const Nvml nvml;
  const std::string part = "MIG-abababab-abab-abab-abab-ababababab00";
  EXPECT_EQ(nvml.state(part).used_bytes, int64_t{3} << 30);
  EXPECT_FALSE(nvml.state(part).utilization_percent);
  EXPECT_EQ(nvml.whole_device(part), "GPU-abababab-abab-abab-abab-ababababab00");
  EXPECT_EQ(nvml.whole_device("GPU-abababab-abab-abab-abab-ababababab01"),
            "GPU-abababab-abab-abab-abab-ababababab01");
  EXPECT_FALSE(nvml.state("MIG-00000000-0000-0000-0000-000000000000").used_bytes);
}

TEST_F(NvmlTest, TellsOfAFaultOnceWithItsDevice) {
  Nvml nvml;
  setenv("FAKE_NVML_XID", "79", 1);
  const auto fault = nvml.next_fault(std::chrono::milliseconds(0));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->uuid, "GPU-abababab-abab-abab-abab-ababababab01");
  EXPECT_EQ(fault->xid, 79);
  EXPECT_FALSE(nvml.next_fault(std::chrono::milliseconds(0)));
}

TEST_F(NvmlTest, ADriverThatDoesNotAnswerTellsOfNothing) {
  setenv("FAKE_NVML_ERROR", "9", 1);
  Nvml nvml;
  EXPECT_EQ(nvml.refusal(), "the NVIDIA driver's library is here, but the driver does not answer");
  EXPECT_TRUE(nvml.gpus().empty());
  EXPECT_FALSE(nvml.state("").used_bytes);
  EXPECT_FALSE(nvml.next_fault(std::chrono::milliseconds(0)));
}

TEST(Xid, NumbersHaveMeanings) {
  EXPECT_NE(xid_text(79).find("XID 79: the device has fallen off the bus"), std::string::npos);
  EXPECT_TRUE(is_hardware_xid(79));
  EXPECT_FALSE(is_hardware_xid(31)) << "an error of a program";
  for (const int64_t xid : {48, 63, 74, 79, 94, 95, 119})
    EXPECT_EQ(xid_text(xid).find("https://"), std::string::npos) << xid;
  EXPECT_EQ(xid_text(7), "XID 7 (https://docs.nvidia.com/deploy/xid-errors)");
}

TEST(CudaUuid, APartOfADeviceIsNamedAsOne) {
  CudaUuid bytes;
  bytes.fill(0xab);
  EXPECT_EQ(cuda_uuid_text(bytes, "NVIDIA H100 80GB HBM3"),
            "GPU-abababab-abab-abab-abab-abababababab");
  EXPECT_EQ(cuda_uuid_text(bytes, "NVIDIA H100 80GB HBM3 MIG 1g.10gb"),
            "MIG-abababab-abab-abab-abab-abababababab");
}

TEST(Nvml, SlowdownsHaveNames) {
  EXPECT_EQ(slowdown_names(0x60), (std::vector<std::string>{"heat", "heat (hardware)"}));
  EXPECT_TRUE(slowdown_names(0x3).empty());
}

}  // namespace
}  // namespace rtrain::machine
