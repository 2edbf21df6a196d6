// Decisions about NCCL without a device: a group's backend, and the text of its errors.
#include <gtest/gtest.h>

#include "host/engine/distributed/backend_choice.h"
#include "host/engine/distributed/given_collectives.h"
#include "host/engine/distributed/nccl_error.h"

namespace rtrain::engine {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

CudaChoice choose(std::string_view backend, const std::vector<std::string>& devices) {
  return choose_cuda(transports_of(backend).cuda, devices);
}

std::string refusal(std::string_view wanted, const std::vector<std::string>& devices) {
  try {
    choose(wanted, devices);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kConfig);
    return e.message();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST(BackendChoice, IsNcclWhereEachRankHasADeviceToItself) {
  EXPECT_TRUE(choose("cpu:shm,cuda:nccl", {"a", "b"}).uses_nccl);
  EXPECT_TRUE(choose("nccl", {"a"}).uses_nccl);
  EXPECT_FALSE(choose("gloo", {}).uses_nccl);
  EXPECT_FALSE(choose("cpu:shm,cuda:nccl", {"", ""}).uses_nccl);
}

TEST(BackendChoice, TheNameSaysWhatCpuTensorsTravelOver) {
  EXPECT_EQ(transports_of("cpu:shm,cuda:nccl").cpu, CpuTransport::kShm);
  EXPECT_EQ(transports_of("nccl").cpu, CpuTransport::kShm);
  EXPECT_EQ(transports_of("shm").cpu, CpuTransport::kOnlyShm);
  EXPECT_EQ(transports_of("cpu:gloo,cuda:nccl").cpu, CpuTransport::kGloo);
  EXPECT_THROW(transports_of("mpi"), Error);
}

TEST(BackendChoice, SharedDevicesAreGloosAndSaidOrRefused) {
  const CudaChoice choice = choose("cpu:shm,cuda:nccl", {"a", "b", "a"});
  EXPECT_FALSE(choice.uses_nccl);
  EXPECT_EQ(choice.reason, "ranks 0 and 2 share one device, which NCCL refuses");
  EXPECT_TRUE(contains(refusal("nccl", {"a", "a"}), "ranks 0 and 1 share one device"));
  EXPECT_TRUE(contains(refusal("nccl", {"a", ""}), "rank 1 has no CUDA device"));
}

TEST(GivenCollectives, FindsTheLatestByTheirSequence) {
  GivenCollectives given;
  EXPECT_FALSE(given.find(1));
  EXPECT_FALSE(given.latest());
  for (uint64_t i = 1; i <= GivenCollectives::kKept + 1; ++i)
    given.add({i, i + 10, 0, "barrier()"});
  EXPECT_FALSE(given.find(1));
  EXPECT_EQ(given.find(2)->number, 12u);
  EXPECT_EQ(given.latest()->sequence, GivenCollectives::kKept + 1);
}

NcclFailure late() {
  NcclFailure out;
  out.rank = 0;
  out.world_size = 2;
  out.waited_s = 5.5;
  out.collective = GivenCollective{3, 7, 0, "all_reduce(float32 [4])"};
  out.absent = "rank 1 has not called it";
  return out;
}

TEST(NcclError, TheTimeOutNamesCollectiveRankTimeWhoIsAbsentAndTheSetting) {
  const Error error = nccl_error(late());
  EXPECT_EQ(error.code(), Code::kTimeout);
  EXPECT_EQ(error.message(),
            "all_reduce(float32 [4]) on rank 0 of 2 (collective 7, NCCL's number 3) waited 5 s on "
            "the device: rank 1 has not called it; a longer wait is set with torch_config = "
            "{timeout_s = …}");
}

TEST(NcclError, SaysNothingAboutRanksThatItCannotSee) {
  NcclFailure failure = late();
  failure.absent = "";
  EXPECT_TRUE(contains(nccl_error(failure).message(), "every rank has called it"));
  failure.absent.reset();
  EXPECT_TRUE(contains(nccl_error(failure).message(), "other ranks have not come, or"));
}

TEST(NcclError, ALostPeerIsNeverTheFirstCause) {
  NcclFailure failure = late();
  failure.kind = NcclFailure::Kind::kError;
  failure.detail = "NCCL error: remote process exited or there was a network error";
  EXPECT_EQ(nccl_error(failure).code(), Code::kPeerLost);
  failure.detail = "NCCL error: unhandled cuda error";
  EXPECT_EQ(nccl_error(failure).code(), Code::kUser);
  EXPECT_TRUE(contains(nccl_error(failure).message(), "failed over NCCL after 5 s"));
}

}  // namespace
}  // namespace rtrain::engine
