#include "host/base/files/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "host/base/error.h"
#include "tests/unit/temp_folder.h"

namespace fs = std::filesystem;

namespace rtrain {
namespace {

class NewFileTest : public testing::Test {
 protected:
  static void put(const fs::path& path, const std::string& text) {
    NewFile file(path);
    file.write(text.data(), text.size());
    file.commit();
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempFolder temp;
};

TEST_F(NewFileTest, AppearsWholeOrNotAtAll) {
  const fs::path path = temp / "file";
  {
    NewFile file(path);
    file.write("half", 4);
  }
  EXPECT_TRUE(fs::is_empty(temp / "."));
  put(path, "old");
  {
    NewFile file(path);
    file.write("half", 4);
  }
  EXPECT_EQ(text_of(path), "old");
  put(path, "new");
  EXPECT_EQ(text_of(path), "new");
}

TEST_F(NewFileTest, ASymlinkStaysOne) {
  put(temp / "file", "old");
  fs::create_symlink("file", temp / "link");
  put(temp / "link", "new");
  EXPECT_TRUE(fs::is_symlink(temp / "link"));
  EXPECT_EQ(text_of(temp / "file"), "new");
}

TEST_F(NewFileTest, APipeIsWrittenTo) {
  const fs::path path = temp / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  put(path, "text");
  std::string found(4, ' ');
  EXPECT_EQ(read(reader, found.data(), found.size()), 4);
  close(reader);
  EXPECT_EQ(found, "text");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(NewFileTest, ADeviceThatIsFullIsAnError) {
  const fs::path path = temp / "full";
  fs::create_symlink("/dev/full", path);
  try {
    put(path, "text");
    FAIL() << "it is full";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kEnvironment);
    EXPECT_EQ(e.message(), "cannot write '/dev/full': No space left on device");
  }
  EXPECT_TRUE(fs::is_character_file(path));
}

}  // namespace
}  // namespace rtrain
