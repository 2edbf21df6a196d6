#include "host/loop/channel/message_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "host/base/error.h"
#include "host/machine/leases/runtime_socket.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::loop {
namespace {

constexpr const char* kName = "questions";
constexpr double kLong = 30;

class MessageServerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
    setenv("RTRAIN_RUNTIME_DIR", folder_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("RTRAIN_RUNTIME_DIR"); }

  TempFolder folder_;
};

Code code_of(const std::function<void()>& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& e) {
    if (message != nullptr) *message = e.message();
    return e.code();
  }
  ADD_FAILURE() << "no error";
  return Code::kInternal;
}

TEST_F(MessageServerTest, EachQuestionIsAnsweredToTheOneWhoAsked) {
  MessageServer server(kName);
  std::thread asker([] {
    MessageClient first(kName), second(kName);
    EXPECT_EQ(first.ask(Map{{"n", 1}})["n"].as_int(), 2);
    EXPECT_EQ(second.ask(Map{{"n", 10}})["n"].as_int(), 20);
    EXPECT_EQ(first.ask(Map{{"n", 3}})["n"].as_int(), 6);
  });
  int num_ended = 0;
  while (num_ended < 2) {
    const auto question = server.next(kLong);
    ASSERT_TRUE(question);
    if (!question->value) {
      ++num_ended;
      continue;
    }
    server.answer(question->peer, Map{{"n", (*question->value)["n"].as_int() * 2}});
  }
  asker.join();
}

TEST_F(MessageServerTest, NothingComesWithinTheTime) {
  MessageServer server(kName);
  EXPECT_FALSE(server.next(0));
  EXPECT_FALSE(server.next(0.01));
}

TEST_F(MessageServerTest, APeerThatDiesBeforeTheAnswerLeavesTheServerAlone) {
  MessageServer server(kName);
  const int child = fork();
  if (child == 0) {
    MessageClient client(kName);
    client.ask(Map{{"n", 1}});
    _exit(0);
  }
  const auto question = server.next(kLong);
  ASSERT_TRUE(question && question->value);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  server.answer(question->peer, Map{{"n", 2}});
  const auto end = server.next(kLong);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->peer, question->peer);
  EXPECT_FALSE(end->value);
  server.answer(question->peer, Map{{"n", 3}});
  EXPECT_FALSE(server.next(0));
}

TEST_F(MessageServerTest, AClientOfAServerThatHasEndedGetsAnError) {
  auto server = std::make_unique<MessageServer>(kName);
  MessageClient client(kName);
  std::string message;
  std::thread ender([&server] {
    ASSERT_TRUE(server->next(kLong));
    server.reset();
  });
  EXPECT_EQ(code_of([&client] { client.ask(Map{{"n", 1}}); }, &message), Code::kEnvironment);
  ender.join();
  EXPECT_NE(message.find("has ended"), std::string::npos) << message;
  EXPECT_EQ(code_of([&client] { client.ask(Map{{"n", 1}}); }), Code::kEnvironment);
  EXPECT_EQ(code_of([] { MessageClient late(kName); }), Code::kEnvironment);
}

TEST_F(MessageServerTest, AMessageAboveTheLimitIsAnErrorThatSaysSo) {
  MessageServer server(kName);
  MessageClient client(kName);
  const Value large(std::string(size_t{200} << 10, 'x'));
  std::string message;
  EXPECT_EQ(code_of([&] { client.ask(large); }, &message), Code::kArgument);
  EXPECT_NE(message.find("at most 163840 are allowed"), std::string::npos) << message;
  std::thread asker([&client] {
    const Value allowed(std::string(size_t{159} << 10, 'x'));
    EXPECT_EQ(client.ask(allowed).as_string().size(), size_t{158} << 10);
  });
  const auto question = server.next(kLong);
  ASSERT_TRUE(question && question->value);
  EXPECT_EQ(question->value->as_string().size(), size_t{159} << 10);
  EXPECT_EQ(code_of([&] { server.answer(question->peer, large); }), Code::kArgument);
  server.answer(question->peer, Value(std::string(size_t{158} << 10, 'y')));
  asker.join();
}

TEST_F(MessageServerTest, APeerThatSendsNoValueIsDropped) {
  MessageServer server(kName);
  const int peer = machine::connect_runtime_socket(kName, SOCK_SEQPACKET);
  ASSERT_GE(peer, 0);
  const std::string garbage = "\xc1\xc1\xc1";
  ASSERT_EQ(send(peer, garbage.data(), garbage.size(), 0), static_cast<ssize_t>(garbage.size()));
  const auto question = server.next(kLong);
  ASSERT_TRUE(question);
  EXPECT_FALSE(question->value);
  char byte = 0;
  EXPECT_EQ(recv(peer, &byte, 1, MSG_DONTWAIT), 0) << "its connection is closed";
  close(peer);
}

}  // namespace
}  // namespace rtrain::loop
