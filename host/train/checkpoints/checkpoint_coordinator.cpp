#include "host/train/checkpoints/checkpoint_coordinator.h"

#include <algorithm>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

// Much smaller than the largest message.
constexpr size_t kPartBytes = size_t{256} << 10;

}  // namespace

CheckpointCoordinator::CheckpointCoordinator(const RunContext& run,
                                             CheckpointCoordinatorDelegate& delegate)
    : run_(run),
      delegate_(delegate),
      validations_(run, *this),
      mirror_(run),
      query_deadline_(run.loop, [this] { progressed(); }),
      drain_deadline_(run.loop, [this] { drain_too_long(); }) {}

void CheckpointCoordinator::on_validation_output(const store::CheckpointRow& checkpoint,
                                                 std::string_view bytes) {
  delegate_.add_validation_log(checkpoint, bytes);
}

void CheckpointCoordinator::on_validation_line(const store::CheckpointRow& checkpoint,
                                               std::string_view stream, std::string line) {
  run_.events.emit_output(
      {{"validation", checkpoint.name}, {"stream", stream}, {"text", std::move(line)}});
}

void CheckpointCoordinator::begin_run() {
  run_.io.call([](RunRecord& record) { return record.checkpoints().kept(); },
               [this](std::optional<std::vector<store::CheckpointRow>> kept,
                      const std::optional<Error>& error) {
                 if (!kept) return delegate_.on_storage_error(*error);
                 for (const store::CheckpointRow& each : *kept) committed(each);
               });
}

void CheckpointCoordinator::begin_attempt() { queries_ = {}; }

void CheckpointCoordinator::committed(const store::CheckpointRow& checkpoint) {
  if (checkpoint.status == CheckpointStatus::kPendingValidation) validations_.add(checkpoint);
  mirror_.sync();
}

void CheckpointCoordinator::on_validation_end(const store::CheckpointRow& checkpoint,
                                              const store::ValidationResult& result) {
  run_.io.call(
      [checkpoint, result](RunRecord& record) {
        return record.checkpoints().end_validation(checkpoint, result);
      },
      [this, checkpoint](std::optional<CheckpointManager::Validated> stored,
                         const std::optional<Error>& error) {
        if (error) delegate_.on_storage_error(*error);
        if (stored) validated(checkpoint, *stored);
        validations_.ended(checkpoint);
        progressed();
        check_drained();
      });
}

void CheckpointCoordinator::validated(const store::CheckpointRow& checkpoint,
                                      const CheckpointManager::Validated& stored) {
  const store::ValidationResult& result = stored.result;
  for (const std::string& text : stored.warnings) run_.events.notice("warning", text);
  if (result.status != CheckpointStatus::kValidated) {
    run_.events.notice("warning",
                       cat("the validation of the checkpoint ", checkpoint.name,
                           " failed, it keeps the metrics it was reported with: ", result.problem));
  }
  run_.events.emit("validated", {{"checkpoint", checkpoint.name},
                                 {"index", checkpoint.index},
                                 {"status", status_name(result.status)},
                                 {"metrics", result.metrics},
                                 {"names", metric_names(result.metrics)}});
  run_.io.call(
      [names = stored.dropped](RunRecord& record) {
        record.checkpoints().drop(names);
        return true;
      },
      [this](const auto&, const std::optional<Error>& error) {
        if (error) delegate_.on_storage_error(*error);
        mirror_.sync();
      });
}

std::optional<double> CheckpointCoordinator::drain_timeout_s() const {
  const auto& config = run_.spec.validation_config;
  return config ? config->validation_drain_timeout_s : std::nullopt;
}

void CheckpointCoordinator::drain(std::function<void()> done) {
  drained_ = std::move(done);
  if (!validations_.queue().is_empty()) {
    run_.events.emit("draining", {{"validations", validations_.queue().size()}});
    if (const auto limit_s = drain_timeout_s()) drain_deadline_.start(to_ms(*limit_s));
  }
  check_drained();
}

void CheckpointCoordinator::check_drained() {
  if (!drained_ || !validations_.queue().is_empty()) return;
  drain_deadline_.stop();
  mirror_.finish(std::exchange(drained_, nullptr));
}

void CheckpointCoordinator::drain_too_long() {
  const std::string problem =
      cat("the run was over for ", drain_timeout_s().value_or(0),
          " s before it had ended (ValidationConfig.validation_drain_timeout_s)");
  for (const store::CheckpointRow& each : validations_.stop_all()) {
    on_validation_end(each, {CheckpointStatus::kValidationTimeout, {}, problem});
  }
}

void CheckpointCoordinator::cancel() {
  const size_t count = validations_.cancel();
  if (count > 0) {
    run_.events.notice("warning", cat(count, count == 1 ? " validation was" : " validations were",
                                      " cancelled; when the run is resumed they are done"));
  }
  check_drained();
  mirror_.cancel();
}

decide::CheckpointProgress CheckpointCoordinator::progress() const {
  decide::CheckpointProgress out = delegate_.progress();
  out.first_pending = validations_.queue().first_index();
  return out;
}

void CheckpointCoordinator::ask(int rank, const message::Checkpoints& asked) {
  decide::CheckpointQuery query;
  query.rank = rank;
  query.call = asked.id;
  query.question = {asked.reports, asked.validated, asked.repeat};
  query.asked_s = monotonic_s();
  query.timeout_s = asked.timeout_s;
  query.takes_partial = asked.partial;
  if (const auto known = queries_.add(query)) return reply(query, *known);
  progressed();
}

void CheckpointCoordinator::progressed() {
  if (queries_.is_empty()) return;
  const decide::CheckpointProgress now = progress();
  for (const auto& question : queries_.take_due(now, monotonic_s())) look_up(question);
  for (const auto& [query, error] : queries_.take_late(now, monotonic_s())) {
    delegate_.send(query.rank, message::Reply{.id = query.call, .error = error});
  }
  const auto next = queries_.next_deadline();
  if (next) query_deadline_.start(to_ms(std::max(0.0, *next - monotonic_s()) + 0.001));
}

void CheckpointCoordinator::look_up(const decide::CheckpointQuestion& question) {
  run_.io.call([](RunRecord& record) { return record.checkpoints().kept(); },
               [this, question](std::optional<std::vector<store::CheckpointRow>> kept,
                                const std::optional<Error>& error) {
                 if (error) return delegate_.on_storage_error(*error);
                 List checkpoints;
                 for (const store::CheckpointRow& each : *kept) {
                   if (each.index >= question.reports) continue;
                   checkpoints.push_back(to_value<ReportedCheckpoint>(each));
                 }
                 for (const auto& query : queries_.answer(question, checkpoints))
                   reply(query, checkpoints);
               });
}

// Sends the list in parts, so that it fits into messages however many checkpoints there are.
void CheckpointCoordinator::reply(const decide::CheckpointQuery& query, const List& checkpoints) {
  const std::string bytes = encode(checkpoints);
  for (size_t begin = 0; begin < bytes.size(); begin += kPartBytes) {
    delegate_.send(query.rank,
                   message::Part{.id = query.call, .bytes = bytes.substr(begin, kPartBytes)});
  }
  delegate_.send(query.rank, message::Reply{.id = query.call});
}

}  // namespace rtrain::train
