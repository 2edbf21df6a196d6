#include "host/machine/leases/job_end.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "host/base/error.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::machine {
namespace {

class JobEndTest : public testing::Test {
 protected:
  void SetUp() override { setenv("RTRAIN_RUNTIME_DIR", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  TempFolder folder_;
};

TEST_F(JobEndTest, IsFoundByItsJob) {
  write_job_end("job-1", 7);
  write_job_end("job-2", 0);
  EXPECT_EQ(find_job_end("job-1"), 7);
  EXPECT_EQ(find_job_end("job-2"), 0);
  EXPECT_EQ(find_job_end("job-3"), std::nullopt);
}

TEST_F(JobEndTest, OfAFormerStartIsNotThisOnes) {
  folder_.write("job-1.ended", "7 0.01\n");
  EXPECT_EQ(find_job_end("job-1"), std::nullopt) << "it ended before this process began";
}

TEST_F(JobEndTest, WithoutARuntimeFolderThereIsNone) {
  setenv("RTRAIN_RUNTIME_DIR", folder_.write("file", "").c_str(), 1);
  write_job_end("job-1", 7);
  EXPECT_THROW(find_job_end("job-1"), Error);
}

}  // namespace
}  // namespace rtrain::machine
