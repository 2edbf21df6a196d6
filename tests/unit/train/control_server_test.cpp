#include "host/train/control_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/loop/channel/frame.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::train {
namespace {

constexpr const char* kRun = "0123456789abcdef0123456789abcdef";

bool refuse(const std::string&, const Value&, const ControlServer::Reply&) { return false; }

class ControlServerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(runtime());
    std::filesystem::permissions(runtime(), std::filesystem::perms::owner_all);
    setenv("RTRAIN_RUNTIME_DIR", runtime().c_str(), 1);
  }
  void TearDown() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  // Returns a path that is longer than a socket's address may be.
  std::string runtime() const {
    return folder_ / cat(std::string(60, 'a'), "/", std::string(60, 'b'));
  }
  std::string socket_path(const std::string& run = kRun) const {
    return runtime() + "/" + control_socket_name(run);
  }

  // Sends one request and returns its reply, while the loop runs in its own thread.
  Value ask(const Value& request) {
    std::thread control([this] { loop_.run(); });
    const int fd = connect_control_socket(control_socket_name(kRun));
    EXPECT_GE(fd, 0);
    const std::string frame = loop::to_frame(encode(request));
    EXPECT_EQ(send(fd, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
    Value reply = read_one(fd);
    close(fd);
    loop_.post([this] { loop_.stop(); });
    control.join();
    return reply;
  }

  static Value read_one(int fd) {
    loop::FrameReader frames;
    char byte = 0;
    for (;;) {
      const ssize_t n = recv(fd, &byte, 1, 0);
      if (n < 0 && errno == EAGAIN) continue;
      if (n <= 0) return {};
      frames.add({&byte, 1});
      if (const auto body = frames.next()) return decode(*body);
    }
  }

  // Leaves a socket as a killed controller does.
  void leave_socket(const std::string& name) const {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(runtime());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, name.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    std::filesystem::current_path(before);
    close(fd);
  }

  TempFolder folder_;
  loop::Loop loop_;
};

TEST_F(ControlServerTest, AnswersEachRequest) {
  const ControlServer server(loop_, kRun, [](const auto& op, const Value& request, auto& reply) {
    reply(cat(op, " ", request["text"].as_string()));
    return true;
  });
  EXPECT_EQ(ask(Map{{"op", "echo"}, {"text", "hello"}})["value"], Value("echo hello"));
}

TEST_F(ControlServerTest, ARequestThatMakesNoSenseIsAnsweredWithItsError) {
  const ControlServer server(loop_, kRun, [](const auto& op, const Value& request, auto& reply) {
    if (op == "picky") request["number"].as_int();
    if (op == "large") reply(std::string(2 << 20, 'x'));
    return op != "dance";
  });
  const Value unknown = ask(Map{{"op", "dance"}});
  EXPECT_EQ(unknown["error"]["code"], Value("unsupported"));
  EXPECT_NE(unknown["error"]["message"].as_string().find("'dance'"), std::string::npos);
  EXPECT_FALSE(ask(Map{{"op", "picky"}})["error"].is_nil());
  EXPECT_FALSE(ask(Map{{"op", "large"}})["error"].is_nil());
  EXPECT_FALSE(ask("no map")["error"].is_nil());
}

TEST_F(ControlServerTest, AnAnswerToSomebodyWhoIsGoneIsDropped) {
  std::optional<ControlServer::Reply> later;
  const ControlServer server(loop_, kRun, [&](const auto&, const Value&, auto& reply) {
    later = reply;
    loop_.stop();
    return true;
  });
  const int fd = connect_control_socket(control_socket_name(kRun));
  const std::string frame = loop::to_frame(encode(Map{{"op", "later"}}));
  ASSERT_EQ(send(fd, frame.data(), frame.size(), 0), static_cast<ssize_t>(frame.size()));
  loop_.run();
  close(fd);
  (*later)(1);
}

TEST_F(ControlServerTest, TheSocketGoesWithTheServer) {
  {
    const ControlServer server(loop_, kRun, refuse);
    struct stat info {};
    ASSERT_EQ(stat(socket_path().c_str(), &info), 0);
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
  }
  EXPECT_TRUE(std::filesystem::is_empty(runtime()));
  EXPECT_EQ(connect_control_socket(control_socket_name(kRun)), -1);
}

TEST_F(ControlServerTest, SocketsOfDeadControllersAreRemovedAndLiveOnesKept) {
  const ControlServer other(loop_, std::string(32, 'c'), refuse);
  leave_socket(control_socket_name(kRun));
  leave_socket("dead.sock");
  ASSERT_EQ(connect_control_socket("dead.sock"), -1);
  const ControlServer server(loop_, kRun, refuse);
  EXPECT_FALSE(std::filesystem::exists(runtime() + "/dead.sock"));
  for (const std::string& run : {std::string(kRun), std::string(32, 'c')}) {
    const int fd = connect_control_socket(control_socket_name(run));
    EXPECT_GE(fd, 0);
    close(fd);
  }
}

TEST_F(ControlServerTest, ASuccessorsSocketIsLeftAlone) {
  auto first = std::make_unique<ControlServer>(loop_, kRun, refuse);
  const ControlServer second(loop_, kRun, refuse);
  first.reset();
  const int fd = connect_control_socket(control_socket_name(kRun));
  EXPECT_GE(fd, 0);
  close(fd);
}

TEST_F(ControlServerTest, AFolderThatIsOpenToOthersIsRefused) {
  std::filesystem::permissions(runtime(), std::filesystem::perms::all);
  EXPECT_THROW(ControlServer(loop_, kRun, refuse), Error);
}

}  // namespace
}  // namespace rtrain::train
