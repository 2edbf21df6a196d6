// Collectives over shared memory. The ranks are threads, so that ThreadSanitizer checks them.
#include "host/engine/distributed/shm/collectives.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <thread>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::engine {
namespace {

using Op = c10d::ReduceOp::RedOpType;
using Bytes = ShmCollectives::Bytes;
constexpr std::chrono::seconds kTimeout{30};

struct Rank {
  ShmSegment& segment;
  ShmCollectives& collectives;
  int rank;
};

void run_ranks(int num_ranks, const std::function<void(Rank)>& body) {
  std::vector<std::unique_ptr<ShmSegment>> segments;
  segments.push_back(std::make_unique<ShmSegment>(ShmSegment::create(0, num_ranks)));
  for (int rank = 1; rank < num_ranks; ++rank) {
    segments.push_back(
        std::make_unique<ShmSegment>(ShmSegment::open(segments[0]->address(), rank, num_ranks)));
  }
  for (const auto& each : segments) each->seal();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ShmSegment& segment = *segments[static_cast<size_t>(rank)];
      ShmCollectives collectives(segment, kTimeout);
      body({segment, collectives, rank});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <class T>
Bytes bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

// The values of a rank: small integers, exact in every dtype, as are their sums.
template <class T>
std::vector<T> values_of(int rank, size_t count) {
  std::vector<T> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(static_cast<float>((i * 7 + static_cast<size_t>(rank) * 3) % 5 + 1));
  }
  return out;
}

double expected_of(Op op, int ranks, size_t i) {
  double out = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto value = static_cast<double>((i * 7 + static_cast<size_t>(rank) * 3) % 5 + 1);
    if (rank == 0)
      out = value;
    else if (op == Op::SUM || op == Op::AVG)
      out += value;
    else if (op == Op::PRODUCT)
      out *= value;
    else
      out = op == Op::MIN ? std::min(out, value) : std::max(out, value);
  }
  return op == Op::AVG ? out / ranks : out;
}

template <class T>
void expect_all_reduce(int ranks, size_t count, c10::ScalarType dtype, Op op) {
  std::vector<std::vector<T>> results(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Rank rank) {
    std::vector<T> values = values_of<T>(rank.rank, count);
    rank.collectives.all_reduce(bytes_of(values), {.op = op, .dtype = dtype});
    results[static_cast<size_t>(rank.rank)] = std::move(values);
  });
  for (size_t i = 0; i < count; ++i) {
    const T wanted = static_cast<T>(static_cast<float>(expected_of(op, ranks, i)));
    ASSERT_EQ(static_cast<double>(results[0][i]), static_cast<double>(wanted))
        << "element " << i << " of " << count << ", " << ranks << " ranks";
  }
  for (const auto& each : results) {
    EXPECT_EQ(std::memcmp(each.data(), results[0].data(), count * sizeof(T)), 0);
  }
}

TEST(ShmCollectives, AllReduceOfEverySizeAndNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const size_t count :
         {size_t{1}, size_t{3}, size_t{1000}, size_t{16385}, size_t{70001}, size_t{400003}}) {
      expect_all_reduce<float>(ranks, count, c10::kFloat, Op::SUM);
    }
  }
}

TEST(ShmCollectives, AllReduceOfEveryDtypeAndOperation) {
  constexpr size_t kCount = 70001;
  for (const Op op : {Op::SUM, Op::AVG, Op::PRODUCT, Op::MIN, Op::MAX}) {
    expect_all_reduce<double>(2, kCount, c10::kDouble, op);
    expect_all_reduce<c10::Half>(2, kCount, c10::kHalf, op);
    expect_all_reduce<c10::BFloat16>(2, kCount, c10::kBFloat16, op);
  }
  for (const Op op : {Op::SUM, Op::PRODUCT, Op::MIN, Op::MAX}) {
    expect_all_reduce<int64_t>(3, kCount, c10::kLong, op);
    expect_all_reduce<int32_t>(3, kCount, c10::kInt, op);
    expect_all_reduce<int16_t>(3, kCount, c10::kShort, op);
    expect_all_reduce<uint8_t>(3, kCount, c10::kByte, op);
  }
}

// The sum of the ranks begin … begin + size − 1, where size is a power of two.
float tree_sum(const std::vector<float>& values, size_t begin, size_t size) {
  if (size == 1) return values[begin];
  const float left = tree_sum(values, begin, size / 2);
  if (begin + size / 2 >= values.size()) return left;
  return left + tree_sum(values, begin + size / 2, size / 2);
}

void expect_sums_along_a_tree(int ranks, size_t count) {
  std::vector<std::vector<float>> inputs, results(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    std::mt19937 random(static_cast<unsigned>(rank));
    std::normal_distribution<float> normal;
    inputs.emplace_back(count);
    for (float& each : inputs.back()) each = normal(random);
  }
  run_ranks(ranks, [&](Rank rank) {
    std::vector<float> values = inputs[static_cast<size_t>(rank.rank)];
    rank.collectives.all_reduce(bytes_of(values), {});
    results[static_cast<size_t>(rank.rank)] = std::move(values);
  });
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> values;
    for (const auto& each : inputs) values.push_back(each[i]);
    const float wanted = tree_sum(values, 0, 64);
    for (const auto& each : results) {
      ASSERT_EQ(each[i], wanted) << "element " << i << ", " << ranks << " ranks";
    }
  }
}

TEST(ShmCollectives, RealNumbersAreAddedAlongATreeOfTheRanks) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 11, 13}) {
    for (const size_t count : {size_t{7}, size_t{1025}, size_t{20011}}) {
      expect_sums_along_a_tree(ranks, count);
    }
  }
}

TEST(ShmCollectives, ANanWins) {
  run_ranks(2, [](Rank rank) {
    for (const Op op : {Op::MIN, Op::MAX, Op::SUM}) {
      std::vector<float> values{1, rank.rank == 0 ? std::numeric_limits<float>::quiet_NaN() : 2};
      rank.collectives.all_reduce(bytes_of(values), {.op = op});
      EXPECT_TRUE(std::isnan(values[1]));
    }
  });
}

TEST(ShmCollectives, WhatLiesInTheArenasIsSummedThere) {
  constexpr size_t kCount = 300001;
  run_ranks(3, [&](Rank rank) {
    // At a different offset on each rank.
    auto* begin = reinterpret_cast<float*>(rank.segment.arena(rank.rank)) + 1024 * rank.rank;
    const std::vector<float> values = values_of<float>(rank.rank, kCount);
    std::memcpy(begin, values.data(), kCount * sizeof(float));
    rank.collectives.all_reduce(std::as_writable_bytes(std::span(begin, kCount)), {});
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(begin[i], static_cast<float>(expected_of(Op::SUM, 3, i)));
    }
  });
}

TEST(ShmCollectives, ArenasOfSomeRanksAreNotEnough) {
  constexpr size_t kCount = 50000;
  run_ranks(2, [&](Rank rank) {
    std::vector<float> own = values_of<float>(rank.rank, kCount);
    auto* begin = reinterpret_cast<float*>(rank.segment.arena(rank.rank));
    std::memcpy(begin, own.data(), kCount * sizeof(float));
    float* const data = rank.rank == 0 ? begin : own.data();
    rank.collectives.all_reduce(std::as_writable_bytes(std::span(data, kCount)), {});
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(data[i], static_cast<float>(expected_of(Op::SUM, 2, i)));
    }
  });
}

// Each value encodes its sender, its receiver and its position.
int64_t mark(int from, int to, size_t i) {
  return from * 1'000'000'000LL + to * 100'000'000LL + static_cast<int64_t>(i);
}

TEST(ShmCollectives, EveryCollectiveOneAfterTheOther) {
  for (const int ranks : {1, 2, 3, 4}) {
    run_ranks(ranks, [&](Rank rank) {
      const auto num = static_cast<size_t>(ranks);
      for (const size_t count : {size_t{0}, size_t{1}, size_t{777}, size_t{50001}}) {
        const int root = ranks - 1;
        const auto filled = [&](int from, int to, size_t size) {
          std::vector<int64_t> out(size);
          for (size_t i = 0; i < size; ++i) out[i] = mark(from, to, i);
          return out;
        };
        std::vector<int64_t> data = filled(rank.rank, 0, count);
        rank.collectives.broadcast(bytes_of(data), root);
        EXPECT_EQ(data, filled(root, 0, count));

        std::vector<int64_t> own = filled(rank.rank, 0, count + static_cast<size_t>(rank.rank));
        std::vector<std::vector<int64_t>> all(num);
        std::vector<Bytes> outputs;
        for (size_t each = 0; each < num; ++each) {
          all[each].resize(count + each);
          outputs.push_back(bytes_of(all[each]));
        }
        rank.collectives.all_gather(bytes_of(own), outputs);
        for (int each = 0; each < ranks; ++each) {
          const auto index = static_cast<size_t>(each);
          EXPECT_EQ(all[index], filled(each, 0, count + index)) << "uneven all_gather";
        }

        for (auto& each : all) each.assign(count, -1);
        outputs.clear();
        for (auto& each : all) outputs.push_back(bytes_of(each));
        own = filled(rank.rank, 0, count);
        const bool is_root = rank.rank == root;
        rank.collectives.gather(bytes_of(own), is_root ? outputs : std::vector<Bytes>{}, root);
        for (int each = 0; is_root && each < ranks; ++each) {
          EXPECT_EQ(all[static_cast<size_t>(each)], filled(each, 0, count));
        }

        std::vector<std::vector<int64_t>> given(num);
        std::vector<Bytes> inputs;
        for (int to = 0; to < ranks; ++to) {
          given[static_cast<size_t>(to)] = filled(rank.rank, to, count);
          inputs.push_back(bytes_of(given[static_cast<size_t>(to)]));
        }
        rank.collectives.scatter(is_root ? inputs : std::vector<Bytes>{}, bytes_of(data), root);
        EXPECT_EQ(data, filled(root, rank.rank, count));

        // In two parts, so that a part ends within a step.
        const size_t head = count / 3 * sizeof(int64_t);
        const auto divided = [&](Bytes bytes) {
          return ShmCollectives::Segments{bytes.first(head), bytes.subspan(head)};
        };
        std::vector<ShmCollectives::Segments> segments;
        for (const Bytes& each : inputs) segments.push_back(divided(each));
        rank.collectives.reduce_scatter(segments, divided(bytes_of(data)), {.dtype = c10::kLong});
        for (size_t i = 0; i < count; ++i) {
          int64_t sum = 0;
          for (int from = 0; from < ranks; ++from) sum += mark(from, rank.rank, i);
          ASSERT_EQ(data[i], sum);
        }

        std::vector<int64_t> summed = filled(rank.rank, 0, count);
        rank.collectives.reduce(bytes_of(summed), {.op = Op::MAX, .dtype = c10::kLong}, root);
        if (is_root) {
          EXPECT_EQ(summed, filled(root, 0, count));
        }

        // For each rank as many elements as its number.
        inputs.clear();
        outputs.clear();
        for (int other = 0; other < ranks; ++other) {
          const auto index = static_cast<size_t>(other);
          given[index] = filled(rank.rank, other, count * (index + 1));
          all[index].assign(count * (static_cast<size_t>(rank.rank) + 1), -1);
          inputs.push_back(bytes_of(given[index]));
          outputs.push_back(bytes_of(all[index]));
        }
        rank.collectives.all_to_all(inputs, outputs);
        for (int from = 0; from < ranks; ++from) {
          const auto index = static_cast<size_t>(from);
          EXPECT_EQ(all[index], filled(from, rank.rank, all[index].size()));
        }
        rank.collectives.barrier();
      }
    });
  }
}

TEST(ShmCollectives, ManySmallOnesWithMoreRanksThanCores) {
  run_ranks(8, [](Rank rank) {
    for (int64_t i = 0; i < 2000; ++i) {
      int64_t value = i * rank.rank;
      rank.collectives.all_reduce(std::as_writable_bytes(std::span(&value, 1)),
                                  {.dtype = c10::kLong});
      ASSERT_EQ(value, i * 28);
    }
  });
}

TEST(ShmCollectives, WhoHasLeftIsNamed) {
  run_ranks(2, [](Rank rank) {
    rank.collectives.barrier();
    if (rank.rank == 1) return rank.segment.leave();
    try {
      rank.collectives.barrier();
      FAIL() << "the other rank has left";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kPeerLost);
      EXPECT_NE(e.message().find("rank 1"), std::string::npos) << e.message();
    }
  });
}

TEST(ShmCollectives, WhoDoesNotComeIsNamedAtTheDeadline) {
  run_ranks(2, [](Rank rank) {
    if (rank.rank == 1) return;
    ShmCollectives collectives(rank.segment, std::chrono::milliseconds(100));
    try {
      collectives.barrier();
      FAIL() << "the other rank does not come";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kTimeout);
      EXPECT_NE(e.message().find("rank 1"), std::string::npos) << e.message();
    }
  });
}

TEST(ShmSegment, APlaceOutsideOfTheArenaIsNone) {
  ShmSegment segment = ShmSegment::create(0, 2);
  const size_t all = segment.arena_bytes();
  EXPECT_EQ(segment.in_arena(1, all - 8, 8), segment.arena(1) + all - 8);
  EXPECT_THROW(segment.in_arena(1, all - 7, 8), Error);
  EXPECT_THROW(segment.in_arena(1, UINT64_MAX - 4, 8), Error);
  EXPECT_THROW(segment.in_arena(1, 0, all + 1), Error);
}

TEST(ShmSegment, AnotherGroupsIsRefused) {
  const ShmSegment mine = ShmSegment::create(0, 2);
  ShmSegment::Address address = mine.address();
  EXPECT_THROW(ShmSegment::open(address, 1, 3), Error);
  address.token = "another";
  EXPECT_THROW(ShmSegment::open(address, 1, 2), Error);
  address.file.fd = 10'000;
  EXPECT_THROW(ShmSegment::open(address, 1, 2), Error);
}

TEST(Reduction, WhatIsNoOperationOfADtypeIsNamed) {
  EXPECT_THROW(check_reduction({.op = Op::AVG, .dtype = c10::kLong}), Error);
  EXPECT_THROW(check_reduction({.op = Op::BXOR, .dtype = c10::kFloat}), Error);
  EXPECT_THROW(check_reduction({.op = Op::MAX, .dtype = c10::kComplexFloat}), Error);
  EXPECT_NO_THROW(check_reduction({.op = Op::SUM, .dtype = c10::kComplexDouble}));
  EXPECT_NO_THROW(check_reduction({.op = Op::SUM, .dtype = c10::kBool}));
}

}  // namespace
}  // namespace rtrain::engine
