// What a link keeps on disk, and finds again.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "host/base/error.h"
#include "host/wire/send_queue.h"
#include "host/wire/spool.h"
#include "tests/unit/run_until.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wire_ends.h"

namespace rtrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFirstStream = "1111111111111111";
constexpr const char* kSecondStream = "2222222222222222";
constexpr const char* kThirdStream = "3333333333333333";
constexpr uint64_t kSegmentBytes = 1000;

std::vector<std::string> frames(uint64_t first, uint64_t last) {
  std::vector<std::string> out;
  for (uint64_t n = first; n <= last; ++n) {
    const std::string payload(n % 50, static_cast<char>(n));
    WireFrame{.type = WireType::kData, .number = n, .payload = payload}.add_to(out.emplace_back());
  }
  return out;
}

// All that a spool has from that number on.
std::vector<std::string> all_from(Spool& spool, uint64_t first) {
  std::vector<std::string> out;
  while (first + out.size() <= spool.last()) {
    for (std::string& frame : spool.read(first + out.size(), 1)) out.push_back(std::move(frame));
  }
  return out;
}

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

void expect_synced(Spool& spool) {
  const auto work = spool.begin_sync();
  ASSERT_TRUE(work);
  EXPECT_EQ(work(), "");
}

class SpoolTest : public ::testing::Test {
 protected:
  Spool open(const char* stream) { return {path_, stream, kSegmentBytes}; }

  TempFolder folder_;
  std::string path_ = folder_ / "run/spool";
};

TEST_F(SpoolTest, AProcessFindsWhatAFormerOneHasLeft) {
  {
    Spool spool = open(kFirstStream);
    EXPECT_EQ(spool.append(frames(1, 100)), 100U);
    spool.acknowledge(60);
    expect_synced(spool);
  }
  {
    Spool spool = open(kSecondStream);
    EXPECT_EQ(spool.first(), 61U);
    EXPECT_EQ(spool.append(frames(101, 110)), 10U);
    EXPECT_EQ(all_from(spool, 61), frames(61, 110));
  }
  Spool spool = open(kThirdStream);
  EXPECT_EQ(spool.last(), 110U);
  EXPECT_EQ(spool.former(), (std::vector<FormerStream>{{kFirstStream, 100}, {kSecondStream, 110}}));
  EXPECT_EQ(all_from(spool, 61), frames(61, 110));
}

TEST_F(SpoolTest, WhatIsAcknowledgedLeavesTheDisk) {
  Spool spool = open(kFirstStream);
  spool.append(frames(1, 200));
  EXPECT_GT(files_of(path_).size(), 5U);
  const uint64_t before = spool.size_bytes();
  spool.acknowledge(150);
  EXPECT_LT(spool.size_bytes(), before / 3);
  spool.acknowledge(200);
  spool.begin_sync();
  EXPECT_TRUE(files_of(path_).empty());
  EXPECT_EQ(spool.append(frames(201, 201)), 1U);
  EXPECT_EQ(all_from(spool, 201), frames(201, 201));
}

TEST_F(SpoolTest, NobodyElseReadsIt) {
  Spool spool = open(kFirstStream);
  spool.append(frames(1, 1));
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(files_of(path_)[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_THROW(open(kSecondStream), Error);
}

// A host that goes down leaves any part of what was not synced.
TEST_F(SpoolTest, ATornTailIsCutAtAnyByte) {
  constexpr uint64_t kLast = 5;
  { open(kFirstStream).append(frames(1, kLast)); }
  const fs::path file = files_of(path_).at(0);
  const auto size = fs::file_size(file);
  std::string bytes(size, '\0');
  std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(size));
  uint64_t most = 0;
  for (size_t cut = 0; cut <= size; ++cut) {
    std::ofstream(file, std::ios::binary) << bytes.substr(0, cut);
    Spool spool = open(kSecondStream);
    EXPECT_GE(spool.last(), most);
    most = spool.last();
    EXPECT_EQ(all_from(spool, 1), frames(1, most));
    // It goes on where it was cut.
    EXPECT_EQ(spool.append(frames(most + 1, most + 1)), 1U);
    EXPECT_EQ(all_from(spool, most + 1), frames(most + 1, most + 1));
    for (const fs::path& each : files_of(path_)) fs::remove(each);
  }
  EXPECT_EQ(most, kLast);
}

TEST_F(SpoolTest, ADamagedRecordIsTheEndOfIt) {
  { open(kFirstStream).append(frames(1, 100)); }
  const auto files = files_of(path_);
  std::fstream file(files.at(1), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(500);
  file.put('\xee');
  file.close();
  Spool spool = open(kSecondStream);
  EXPECT_GT(spool.last(), 10U);
  EXPECT_LT(spool.last(), 60U);
  EXPECT_EQ(all_from(spool, 1), frames(1, spool.last()));
  EXPECT_EQ(files_of(path_).size(), 2U);
}

class SpooledLinkTest : public ::testing::Test {
 protected:
  void start_server() {
    const int port = server_ ? server_->server.address().port() : 0;
    server_.reset();
    WireServerOptions options = server_options(secret_);
    options.port = port;
    server_.emplace(loop_, options);
    contact_ = contact_of(server_->server, secret_);
  }
  // A client that knows a server only once there is one.
  void start_client() {
    WireClientOptions options = client_options({});
    options.find = [this](std::string&) { return contact_; };
    options.first_backoff = std::chrono::milliseconds(1);
    options.longest_backoff = std::chrono::milliseconds(10);
    options.link_options = link_options_;
    client_.emplace(loop_, options);
  }
  Link& link() { return client_->link(); }
  std::vector<std::string>& arrived() { return server_->at("a").record.frames; }
  bool has_arrived(size_t count) {
    return server_ && server_->links.count("a") != 0 && arrived().size() >= count;
  }
  void send(int first, int last) {
    for (int n = first; n <= last; ++n) link().send(text(n));
  }
  static std::string text(int n) { return std::to_string(n) + std::string(1000, 'x'); }
  void expect_arrived(int last) {
    run_until(loop_, [&] { return has_arrived(static_cast<size_t>(last)); });
    ASSERT_EQ(arrived().size(), static_cast<size_t>(last));
    for (int n = 1; n <= last; ++n) {
      ASSERT_TRUE(arrived()[static_cast<size_t>(n) - 1] == text(n)) << "frame " << n;
    }
  }

  TempFolder folder_;
  Loop loop_;
  Secret secret_ = Secret::generate();
  LinkOptions link_options_{.queue = {.memory_bytes = 20000,
                                      .spool_folder = folder_ / "spool",
                                      .spool_bytes = 2000000,
                                      .sync_interval = std::chrono::milliseconds(5)}};
  std::optional<WireContact> contact_;
  std::optional<ServerEnd> server_;
  std::optional<ClientEnd> client_;
};

TEST_F(SpooledLinkTest, MoreThanMemoryHoldsArrivesInOrder) {
  start_client();
  send(1, 1000);
  run_until(loop_, [&] { return !files_of(folder_ / "spool").empty(); });
  start_server();
  expect_arrived(1000);
  send(1001, 1100);
  expect_arrived(1100);
  run_until(loop_, [&] { return files_of(folder_ / "spool").empty(); });
}

TEST_F(SpooledLinkTest, AFullSpoolIsNamedAndLosesNothing) {
  start_client();
  send(1, 1500);
  run_until(loop_, [&] { return !files_of(folder_ / "spool").empty(); });
  EXPECT_FALSE(link().is_full());
  send(1501, 2500);
  run_until(loop_, [&] { return link().is_full(); });
  EXPECT_NE(link().full_reason().find("the spool "), std::string::npos) << link().full_reason();
  EXPECT_EQ(client_->record.full, std::vector<bool>{true});
  start_server();
  expect_arrived(2500);
  EXPECT_FALSE(link().is_full());
  EXPECT_EQ(client_->record.full, (std::vector<bool>{true, false}));
}

TEST_F(SpooledLinkTest, ANewProcessSendsWhatTheFormerOneCouldNot) {
  start_client();
  send(1, 300);
  start_server();
  // Some have arrived, some of those are acknowledged, some were never sent.
  run_until(loop_, [&] { return has_arrived(40); });
  send(301, 310);
  client_.reset();
  start_client();
  send(311, 320);
  expect_arrived(320);
  EXPECT_EQ(server_->at("a").record.num_restarts, 1);
}

// The server that received the first frames is gone with its links.
TEST_F(SpooledLinkTest, ANewServerGetsOnlyWhatTheFormerOneDidNotAcknowledge) {
  start_client();
  start_server();
  send(1, 20);
  expect_arrived(20);
  run_until(loop_, [&] { return files_of(folder_ / "spool").empty(); });
  client_.reset();
  contact_.reset();
  start_client();
  send(1, 10);
  client_.reset();
  start_server();
  start_client();
  expect_arrived(10);
  EXPECT_EQ(server_->at("a").record.num_restarts, 0);
}

TEST_F(SpooledLinkTest, AFullDiskStopsNothingThatIsConnected) {
  start_client();
  start_server();
  send(1, 10);
  expect_arrived(10);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 50000, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  send(11, 300);
  expect_arrived(300);
  const rlimit none{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  ASSERT_FALSE(client_->record.full.empty());
  run_until(loop_, [&] { return !link().is_full(); });
  send(301, 400);
  expect_arrived(400);
}

}  // namespace
}  // namespace rtrain
