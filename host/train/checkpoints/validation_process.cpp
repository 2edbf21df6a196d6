#include "host/train/checkpoints/validation_process.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

store::ValidationResult failed(std::string problem) {
  return {CheckpointStatus::kValidationFailed, {}, std::move(problem)};
}

}  // namespace

ValidationProcess::ValidationProcess(loop::Loop& loop, Job job, ValidationDelegate& delegate)
    : job_(std::move(job)),
      delegate_(delegate),
      deadline_(loop, [this] { on_deadline(); }),
      group_(loop, job_.options, *this) {
  group_.spawn_next();
  if (const auto& task = job_.context.validation) limit_s_ = task->limit_s();
  if (limit_s_) deadline_.start(to_ms(*limit_s_));
}

const loop::Routes<ValidationProcess::Messages, ValidationProcess, int> ValidationProcess::kRoutes{
    loop::on<message::Hello>([](ValidationProcess& process, int rank, const auto&) {
      process.send(rank, process.job_.context);
    }),
    loop::on<message::Returned>(
        [](ValidationProcess& process, int rank, message::Returned returned) {
          process.result_ = {CheckpointStatus::kValidated, std::move(returned.value), ""};
          process.send(rank, message::Exit{});
        }),
    loop::on<message::Failed>([](ValidationProcess& process, int, const message::Failed& raised) {
      process.result_ = failed(raised.error.message());
    }),
};

void ValidationProcess::send(int rank, message::ToWorker message) {
  group_.send(rank, encode(to_value(std::move(message))));
}

void ValidationProcess::on_frame(int rank, std::string frame) {
  Value message = decode(frame);
  const std::string type = message["type"].as_string();
  kRoutes.try_deliver(type, *this, rank, std::move(message));
}

void ValidationProcess::on_output(int, node::OutputStream stream, std::string_view bytes) {
  delegate_.on_validation_output(job_.checkpoint, bytes);
  show(lines_.add(stream, bytes));
}

void ValidationProcess::show(std::vector<node::OutputLine> lines) {
  for (auto& [stream, text] : lines) {
    delegate_.on_validation_line(job_.checkpoint, node::stream_name(stream), std::move(text));
  }
}

void ValidationProcess::on_deadline() {
  if (result_) return;
  result_ = {
      CheckpointStatus::kValidationTimeout,
      {},
      cat("it took longer than ", limit_s_.value_or(0), " s (ValidationTaskConfig.timeout_s)")};
  group_.kill();
}

void ValidationProcess::on_gone(int, const node::WorkerEnd& end) {
  deadline_.stop();
  show(lines_.finish());
  if (!result_)
    result_ = failed(cat("its process (pid ", end.pid, ") ", loop::to_text(end.status)));
  delegate_.on_validation_end(job_.checkpoint, *result_);
}

}  // namespace rtrain::train
