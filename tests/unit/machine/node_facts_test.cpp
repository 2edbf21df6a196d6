#include "host/machine/node_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/temp_folder.h"

namespace rtrain::machine {
namespace {

TEST(NodeFacts, DisksAreCountedOnceAndTheLoopbackNotAtAll) {
  const TempFolder root;
  root.write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n");
  root.write("proc/diskstats",
             "   8 0 sda 5 0 100 0 7 0 20 0 0 0 0\n"
             "   8 1 sda1 5 0 100 0 7 0 20 0 0 0 0\n"
             " 259 0 nvme0n1 5 0 1 0 7 0 2 0 0 0 0\n");
  root.write("sys/block/sda/device/model", "disk");
  root.write("sys/block/nvme0n1/device/model", "disk");
  root.write("proc/net/dev",
             "Inter-|   Receive |  Transmit\n face |bytes packets\n"
             "    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n"
             "  eth0:100 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\n"
             "  eth1: 11 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n");
  const NodeFacts facts = node_facts(root.path());
  EXPECT_EQ(facts.memory_used_bytes, 600 * 1024);
  EXPECT_EQ(facts.disk_read_bytes, 101 * 512);
  EXPECT_EQ(facts.disk_written_bytes, 22 * 512);
  EXPECT_EQ(facts.network_received_bytes, 111);
  EXPECT_EQ(facts.network_sent_bytes, 32);
  EXPECT_FALSE(facts.cpu_s) << "there is no proc/stat";
}

TEST(NodeFacts, TheKernelsOwnFilesAreRead) {
  const NodeFacts facts = node_facts();
  EXPECT_GT(facts.cpu_s.value_or(0), 0);
  EXPECT_GT(facts.memory_used_bytes.value_or(0), 0);
}

TEST(NodeFacts, StolenTimeIsNotOurs) {
  const TempFolder root;
  root.write("proc/stat", "cpu  100 0 200 50 0 0 0 700 0 0\ncpu0 1 2 3\n");
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const NodeFacts facts = cpu_facts(root.path());
  EXPECT_DOUBLE_EQ(facts.cpu_s.value_or(0), 300 * tick_s);
  EXPECT_DOUBLE_EQ(facts.stolen_s.value_or(0), 700 * tick_s);
}

}  // namespace
}  // namespace rtrain::machine
