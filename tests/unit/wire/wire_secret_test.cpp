// Secrets, where they come from, and how the nodes of a job find each other.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "host/base/error.h"
#include "host/base/text/hex.h"
#include "host/wire/rendezvous.h"
#include "host/wire/secret_source.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wire_ends.h"

namespace rtrain::wire {
namespace {

const std::string kText = "0123456789abcdef0123456789abcdef";

// Returns the Error that the function throws.
template <class Function>
Error error_of(const Function& function) {
  try {
    function();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return {Code::kInternal, ""};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Secret, KeysAreThoseOfHkdfWithSha256) {
  const WireKey key = Secret(kText, "here").derive({.role = "agent", .run_id = "run-1"});
  EXPECT_EQ(key.identity, "rtrain1/agent/run-1");
  EXPECT_EQ(to_hex(key.bytes), "074daa59698264e3603a24a3b45d777b08721c16a6a5253bfaadf2c08ff67266");
}

TEST(Secret, EachRunAndRoleHasItsOwnKey) {
  const Secret secret = Secret::generate();
  const WireKey key = secret.derive({.role = "agent", .run_id = "a"});
  EXPECT_NE(key.bytes, secret.derive({.role = "agent", .run_id = "b"}).bytes);
  EXPECT_NE(key.bytes, secret.derive({.role = "operator", .run_id = "a"}).bytes);
  EXPECT_NE(key.bytes, Secret::generate().derive({.role = "agent", .run_id = "a"}).bytes);
}

TEST(Secret, AShortOneIsRefused) {
  const Error error = error_of([] { Secret("short", "RTRAIN_SECRET"); });
  EXPECT_EQ(error.code(), Code::kConfig);
  EXPECT_TRUE(contains(error.message(), "RTRAIN_SECRET holds 5 bytes")) << error.message();
}

TEST(Secret, LeavesTheEnvironmentWithItsVariable) {
  std::string entry = "RTRAIN_SECRET=" + kText;
  ::putenv(entry.data());
  const auto secret = take_secret_from_environment();
  ASSERT_TRUE(secret);
  EXPECT_EQ(secret->bytes(), kText);
  EXPECT_EQ(std::getenv("RTRAIN_SECRET"), nullptr);
  EXPECT_EQ(entry, "RTRAIN_SECRET=" + std::string(kText.size(), '*'));
  EXPECT_FALSE(take_secret_from_environment());
}

TEST(Secret, ComesFromAFileThatOnlyTheUserCanRead) {
  const TempFolder folder;
  const std::string path = folder.write("secret", kText + "\n");
  ::setenv("RTRAIN_SECRET_FILE", path.c_str(), 1);
  ::chmod(path.c_str(), 0644);
  const Error open = error_of([] { take_secret_from_environment(); });
  EXPECT_TRUE(contains(open.message(), "can be opened by other users")) << open.message();
  EXPECT_EQ(std::getenv("RTRAIN_SECRET_FILE"), nullptr);
  ::chmod(path.c_str(), 0400);
  EXPECT_EQ(read_secret(path).bytes(), kText);
  EXPECT_EQ(error_of([&] { read_secret(folder / "none"); }).code(), Code::kEnvironment);
}

TEST(Secret, TwoSourcesAreRefused) {
  ::setenv("RTRAIN_SECRET", kText.c_str(), 1);
  ::setenv("RTRAIN_SECRET_FILE", "/nowhere", 1);
  EXPECT_EQ(error_of([] { take_secret_from_environment(); }).code(), Code::kConfig);
  EXPECT_EQ(std::getenv("RTRAIN_SECRET"), nullptr);
}

class RendezvousTest : public ::testing::Test {
 protected:
  WireContact contact() const {
    return {.hosts = {"10.0.0.1", "n0"}, .port = 29400, .secret = secret_};
  }
  std::string why_not(const Rendezvous& rendezvous) const {
    std::string why;
    EXPECT_FALSE(rendezvous.find(why));
    return why;
  }

  TempFolder folder_;
  std::string path_ = folder_ / "jobs/of/12.0";
  Secret secret_ = Secret::generate();
};

TEST_F(RendezvousTest, TheOthersFindWhatNode0Publishes) {
  const Rendezvous other(path_, "0");
  EXPECT_TRUE(contains(why_not(other), path_ + " is not there")) << why_not(other);
  {
    Rendezvous node_0(path_, "0");
    node_0.publish(contact());
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    ASSERT_EQ(::stat((folder_ / "jobs").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
    std::string why;
    const auto found = other.find(why);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->hosts, contact().hosts);
    EXPECT_EQ(found->port, 29400);
    EXPECT_EQ(found->secret.bytes(), secret_.bytes());
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RendezvousTest, AnotherStartOfTheJobIsNotFollowed) {
  std::optional<Rendezvous> former(std::in_place, path_, "0");
  former->publish(contact());
  const Rendezvous other(path_, "1");
  EXPECT_TRUE(contains(why_not(other), "of another start of the job ('0'")) << why_not(other);
  // The former node 0 may end after the new node 0 has started.
  Rendezvous node_0(path_, "1");
  node_0.publish(contact());
  former.reset();
  std::string why;
  EXPECT_TRUE(other.find(why)) << why;
}

TEST_F(RendezvousTest, AFileThatOthersCanReadOrWriteIsRefused) {
  Rendezvous node_0(path_, "0");
  node_0.publish(contact());
  ::chmod(path_.c_str(), 0640);
  const Rendezvous other(path_, "0");
  EXPECT_TRUE(contains(error_of([&] { why_not(other); }).message(), "other users"));
  folder_.write("jobs/of/12.0", "{");
  ::chmod(path_.c_str(), 0600);
  EXPECT_TRUE(contains(error_of([&] { why_not(other); }).message(), "is damaged"));
}

TEST_F(RendezvousTest, ThePathIsTheJobsUnlessItIsGiven) {
  const std::string home = std::getenv("HOME");
  ::setenv("HOME", "/home/u", 1);
  EXPECT_EQ(Rendezvous::path_for("12/3:0"), "/home/u/.local/state/rtrain/jobs/12_3_0");
  EXPECT_EQ(Rendezvous::path_for("../x"), "/home/u/.local/state/rtrain/jobs/_.._x");
  ::setenv("RTRAIN_RENDEZVOUS", "/shared/file", 1);
  EXPECT_EQ(Rendezvous::path_for("12"), "/shared/file");
  ::unsetenv("RTRAIN_RENDEZVOUS");
  ::setenv("HOME", home.c_str(), 1);
}

TEST_F(RendezvousTest, AClientWaitsForIt) {
  loop::Loop loop;
  ServerEnd server(loop, server_options(secret_));
  const Rendezvous other(path_, "0");
  WireClientOptions options = client_options({});
  options.find = [&](std::string& why) { return other.find(why); };
  options.first_backoff = std::chrono::milliseconds(1);
  ClientEnd client(loop, options);
  // Left by a killed process: its secret differs from that of the server that now listens there.
  Rendezvous stale(path_, "0");
  WireContact wrong = contact_of(server.server, Secret::generate());
  stale.publish(wrong);
  run_until(loop, [&] { return !server.refused.empty(); });
  EXPECT_FALSE(client.record.end);
  Rendezvous node_0(path_, "0");
  node_0.publish(contact_of(server.server, secret_));
  run_until(loop, [&] { return client.record.num_connected == 1; });
}

TEST_F(RendezvousTest, AClientNamesThePathWhenItsTimeIsOver) {
  loop::Loop loop;
  const Rendezvous other(path_, "0");
  WireClientOptions options = client_options({});
  options.find = [&](std::string& why) { return other.find(why); };
  options.timeout = std::chrono::milliseconds(50);
  ClientEnd client(loop, options);
  run_until(loop, [&] { return client.record.end.has_value(); });
  EXPECT_TRUE(contains(client.record.end->text, "no connection within 0.05 s: on node ") &&
              contains(client.record.end->text, path_))
      << client.record.end->text;
}

}  // namespace
}  // namespace rtrain::wire
