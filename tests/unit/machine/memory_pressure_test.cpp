#include "host/machine/memory_pressure.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <memory>

extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_size,
                                             void* value, size_t size);

namespace rtrain::machine {
namespace {

// Returns two ends of a connection: urgent data from one end is a priority event at the other end.
std::pair<Fd, Fd> connection() {
  const Fd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener.get(), name, size), 0);
  EXPECT_EQ(listen(listener.get(), 1), 0);
  EXPECT_EQ(getsockname(listener.get(), name, &size), 0);
  Fd first(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(connect(first.get(), name, size), 0);
  return {std::move(first), Fd(accept(listener.get(), nullptr, nullptr))};
}

TEST(MemoryPressure, CallsTheFunctionWhenATriggerTells) {
  auto [sender, trigger] = connection();
  std::promise<void> called;
  std::vector<Fd> triggers;
  triggers.push_back(std::move(trigger));
  const MemoryPressure pressure([&] { return std::move(triggers); }, {},
                                [&] { called.set_value(); });
  auto future = called.get_future();
  EXPECT_EQ(send(sender.get(), "x", 1, 0), 1);
  EXPECT_EQ(future.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(send(sender.get(), "!", 1, MSG_OOB), 1);
  EXPECT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST(MemoryPressure, EndsWhileNothingHappensAndWithoutTriggers) {
  int calls = 0;
  {
    const MemoryPressure none([] { return std::vector<Fd>(); }, {}, [&] { ++calls; });
  }
  {
    const MemoryPressure of_kernel(&MemoryPressure::open_triggers, {}, [&] { ++calls; });
  }
  EXPECT_EQ(calls, 0);
}

TEST(MemoryPressure, TheKernelsTriggerIsOpenedWhereThereIsOne) {
  const bool has_one = access("/proc/pressure/memory", W_OK) == 0;
  if (!has_one) GTEST_SKIP() << "this kernel tells no pressure, or not to this user";
  EXPECT_FALSE(MemoryPressure::open_triggers().empty());
}

int64_t resident_bytes() {
  long pages = 0, resident = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"),
                                                             &std::fclose);
  EXPECT_EQ(std::fscanf(file.get(), "%ld %ld", &pages, &resident), 2);
  return int64_t{resident} * sysconf(_SC_PAGESIZE);
}

TEST(CachedMemory, IsGivenBack) {
  if (mallctl == nullptr) {
    EXPECT_FALSE(give_back_cached_memory());
    return;
  }
  ssize_t never = -1;
  ASSERT_EQ(mallctl("arena.0.dirty_decay_ms", nullptr, nullptr, &never, sizeof(never)), 0);
  constexpr size_t kSize = 1 << 20, kCount = 200;
  std::vector<std::unique_ptr<char[]>> parts;
  for (size_t i = 0; i < kCount; ++i) {
    parts.push_back(std::make_unique<char[]>(kSize));
    std::memset(parts.back().get(), 1, kSize);
  }
  const int64_t in_use = resident_bytes();
  parts.clear();
  EXPECT_TRUE(give_back_cached_memory());
  EXPECT_LT(resident_bytes(), in_use - static_cast<int64_t>(kSize * kCount / 2));
}

TEST(CachedMemory, IsTakenFromTheKernelAhead) {
  if (mallctl == nullptr) GTEST_SKIP() << "another allocator keeps no memory";
  ssize_t never = -1;
  ASSERT_EQ(mallctl("arena.0.dirty_decay_ms", nullptr, nullptr, &never, sizeof(never)), 0);
  EXPECT_TRUE(give_back_cached_memory());
  constexpr int64_t kSize = int64_t{100} << 20, kPart = int64_t{2} << 20;
  const int64_t before = resident_bytes();
  int asked = 0;
  cache_memory(kSize, [&] { return ++asked == 3; });
  EXPECT_EQ(asked, 3);
  EXPECT_LT(resident_bytes(), before + kSize / 2);
  cache_memory(kSize, [] { return false; });
  const int64_t cached = resident_bytes();
  EXPECT_GT(cached, before + kSize / 2);
  std::vector<std::unique_ptr<char[]>> used;
  for (int64_t left = kSize / 2; left > 0; left -= kPart) {
    used.emplace_back(new char[kPart]);
    std::memset(used.back().get(), 1, kPart);
  }
  EXPECT_LT(resident_bytes(), cached + kSize / 4);
  EXPECT_TRUE(give_back_cached_memory());
}

}  // namespace
}  // namespace rtrain::machine
