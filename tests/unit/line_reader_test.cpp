#include "host/loop/line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace rtrain {
namespace {

using Texts = std::vector<std::string>;

class LineReaderTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe2(fds_, O_CLOEXEC | O_NONBLOCK), 0); }
  void TearDown() override { close(fds_[1]); }

  void write_and_read(LineReader& reader, const std::string& bytes) {
    ASSERT_EQ(write(fds_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    EXPECT_TRUE(reader.drain());
  }

  Loop loop_;
  int fds_[2] = {-1, -1};
  Texts lines_;
  Texts progress_;
};

TEST_F(LineReaderTest, ShowsWhatAnUnfinishedLineShowsNow) {
  LineReader reader(
      loop_, fds_[0],
      {.on_bytes = [](std::string_view) {},
       .on_line = [this](std::string line) { lines_.push_back(std::move(line)); },
       .on_progress = [this](std::string_view text) { progress_.emplace_back(text); }});
  write_and_read(reader, "no return, no progress");
  EXPECT_EQ(progress_, Texts{});
  write_and_read(reader, "\n\r 10%");
  write_and_read(reader, "\r 20%\r 30%");
  write_and_read(reader, "\r");
  write_and_read(reader, " 40%\r");
  EXPECT_EQ(progress_, (Texts{" 10%", " 30%", " 30%", " 40%"}));
  write_and_read(reader, "100%\n");
  EXPECT_EQ(lines_, (Texts{"no return, no progress", "\r 10%\r 20%\r 30%\r 40%\r100%"}));
  EXPECT_EQ(progress_.size(), 4U);
  reader.close();
}

}  // namespace
}  // namespace rtrain
