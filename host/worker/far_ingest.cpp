#include "host/worker/far_ingest.h"

#include <chrono>

#include "host/wire/secret.h"
#include "host/worker/report/controller_lost.h"
#include "host/worker/worker_process.h"

namespace rtrain::worker {
namespace {

constexpr std::chrono::seconds kComeTime{10};
constexpr std::chrono::seconds kAnswerTime{30};

}  // namespace

std::unique_ptr<FarIngest> FarIngest::start(WorkerProcess& worker, int number, int threads) {
  const loop::WorkerContext& context = worker.context();
  if (context.address.empty()) return nullptr;
  const wire::Secret secret = wire::Secret::generate();
  auto out = std::make_unique<FarIngest>();
  out->tunnel_ = wire::TlsTunnel::listen(
      context.address, secret.derive({.role = "ingest", .run_id = context.run_id}), kComeTime);
  const int64_t id = worker.request(message::StartIngest{.rank = context.world_rank,
                                                         .number = number,
                                                         .threads = threads,
                                                         .run_id = context.run_id,
                                                         .address = context.address,
                                                         .port = out->tunnel_->port(),
                                                         .secret = secret.bytes()});
  const auto answer = worker.wait_reply(id, kAnswerTime);
  if (!answer) throw controller_silent("the start of an ingest worker", kAnswerTime.count());
  out->host_ = answer->as_string();
  if (out->host_.empty()) return nullptr;
  return out;
}

}  // namespace rtrain::worker
