#include "host/worker/collective_client.h"

#include <chrono>
#include <utility>

#include "host/base/text/text.h"
#include "host/worker/report/controller_lost.h"
#include "host/worker/report/replies.h"
#include "host/worker/worker_process.h"

namespace rtrain::worker {

std::string CollectiveClient::synchronize(const std::string& collective, const std::string& caller,
                                          const std::string& data) {
  if (data.size() > kMaxBroadcastBytes) {
    throw Error(Code::kArgument, cat(collective, ": the value has ", data.size(),
                                     " bytes when serialized, the limit is ", kMaxBroadcastBytes,
                                     ": use torch.distributed.broadcast for tensors, or a file"));
  }
  const loop::WorkerContext& context = worker_.context();
  const std::chrono::duration<double> timeout(context.collective_timeout_s);
  const int64_t id = worker_.request(message::Sync{.sequence = ++sequence_,
                                                   .world_size = context.world_size,
                                                   .collective = collective,
                                                   .caller = caller,
                                                   .data = data});
  const WaitScope waits(worker_.progress(), WaitKind::kAgreement, collective.c_str());
  const auto moves = [&progress = worker_.progress(),
                      copied = worker_.progress().copied_bytes()]() mutable {
    return std::exchange(copied, progress.copied_bytes()) != copied;
  };
  const auto answer = worker_.wait_reply(
      id, std::chrono::ceil<std::chrono::milliseconds>(timeout) + kAnswerGrace, moves);
  if (!answer) throw controller_silent(collective, context.collective_timeout_s);
  return answer->as_string();
}

}  // namespace rtrain::worker
