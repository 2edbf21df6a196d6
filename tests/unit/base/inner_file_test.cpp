#include "host/base/files/inner_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "host/base/files/fd.h"
#include "tests/unit/temp_folder.h"

namespace rtrain {
namespace {

namespace fs = std::filesystem;

TEST(InnerFile, NamesAndPathsThatLeaveTheirFolderAreNone) {
  for (const char* name : {"a", "..a", "a..", "...", " ", "-rf", "caf\xe9", "a\nb"}) {
    EXPECT_TRUE(is_inner_name(name)) << name;
    EXPECT_TRUE(is_inner_path(std::string("deep/er/") + name)) << name;
  }
  for (const char* name : {"", ".", "..", "/", "a/", "/a", "../a"}) {
    EXPECT_FALSE(is_inner_name(name)) << name;
    EXPECT_FALSE(is_inner_path(std::string("deep/") + name)) << name;
  }
  EXPECT_FALSE(is_inner_path("a/../../b"));
  EXPECT_FALSE(is_inner_path("a//b"));
  EXPECT_FALSE(is_inner_name(std::string_view("a\0b", 3)));
}

// Opens paths beneath a folder; problem() returns 0 or the errno.
class OpenBeneath : public ::testing::Test {
 protected:
  void SetUp() override {
    temp.write("run/logs/rank-0.log", "line");
    temp.write("secret", "secret");
    fs::create_symlink(temp / "secret", temp / "run/logs/absolute");
    fs::create_symlink("rank-0.log", temp / "run/logs/within");
    fs::create_symlink("../..", temp / "run/logs/up");
    fs::create_symlink("logs", temp / "run/old_logs");
    fs::create_directory_symlink(temp / "run", temp / "moved");
  }

  int problem(const std::string& folder, const std::string& path) const {
    const Fd file(open_beneath(temp / folder, temp / path, O_RDONLY));
    return file.is_open() ? 0 : errno;
  }

  // Returns the number of the first path with an unexpected result, counted from 1, or 0.
  int wrong() const {
    const std::array<std::pair<int, int>, 9> found = {{
        {problem("run", "run/logs/rank-0.log"), 0},
        {problem("moved", "moved/logs/rank-0.log"), 0},
        {problem("run", "run/logs/absent"), ENOENT},
        {problem("run", "run/logs/absolute"), ELOOP},
        {problem("run", "run/logs/within"), ELOOP},
        {problem("run", "run/logs/up/secret"), ELOOP},
        {problem("run", "run/old_logs/rank-0.log"), ELOOP},
        {problem("run", "run/../secret"), EINVAL},
        {problem("run", "secret"), EINVAL},
    }};
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].first != found[i].second) return static_cast<int>(i) + 1;
    }
    return 0;
  }

  TempFolder temp;
};

TEST_F(OpenBeneath, FollowsNoLinkBelowTheFolder) { EXPECT_EQ(wrong(), 0); }

// Makes openat2 fail as on an older kernel or in a sandbox.
void forbid_openat2() {
  std::array<sock_filter, 4> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(77);
  if (syscall(SYS_openat2, 0, nullptr, nullptr, 0) != -1 || errno != ENOSYS) _exit(78);
}

TEST_F(OpenBeneath, DoesTheSameWithoutOpenat2) {
  const pid_t child = fork();
  if (child == 0) {
    forbid_openat2();
    _exit(wrong());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this sandbox takes no filters";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace rtrain
