// Attempt's handlers of a rank's messages.
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/text/text.h"
#include "host/decide/absent_ranks.h"
#include "host/machine/processes/build_id.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/far_store.h"
#include "host/train/attempt.h"

namespace rtrain::train {

const loop::Routes<message::ToController, Attempt, int> Attempt::kRoutes{
    loop::on<message::Hello>([](Attempt& a, int rank, const auto& m) { a.on_hello(rank, m); }),
    loop::on<message::Phase>([](Attempt& a, int rank, const auto& m) { a.on_phase(rank, m); }),
    loop::on<message::Gpus>(
        [](Attempt& a, int rank, const auto& m) { a.roster_.set_gpus(rank, m.gpus); }),
    loop::on<message::Signal>(
        [](Attempt& a, int, const auto& m) { a.context_.signals.on_forwarded(m.number); }),
    loop::on<Report>([](Attempt& a, int rank, auto m) {
      a.reports_.on_report(rank, std::move(m));
      a.context_.checkpoints.progressed();
    }),
    loop::on<message::Files>(
        [](Attempt& a, int rank, auto m) { a.reports_.on_files(rank, std::move(m)); }),
    loop::on<message::Uploaded>([](Attempt& a, int rank, auto m) {
      a.reports_.on_uploaded(rank, std::move(m));
      a.context_.checkpoints.progressed();
    }),
    loop::on<message::Series>(
        [](Attempt& a, int rank, auto m) { a.on_series(rank, std::move(m)); }),
    loop::on<message::SeriesDropped>(
        [](Attempt& a, int rank, const auto& m) { a.on_series_dropped(rank, m); }),
    loop::on<message::Logged>([](Attempt& a, int rank, const auto& m) { a.on_logged(rank, m); }),
    loop::on<message::LoopProgress>(
        [](Attempt& a, int rank, const auto& m) { a.on_loop_progress(rank, m); }),
    loop::on<message::Annotation>(
        [](Attempt& a, int rank, auto m) { a.extras_.add(a.number_, rank, std::move(m)); }),
    loop::on<message::Media>(
        [](Attempt& a, int rank, auto m) { a.extras_.add(a.number_, rank, std::move(m)); }),
    loop::on<message::NotFinite>(
        [](Attempt& a, int rank, auto m) { a.not_finite_.add(rank, std::move(m)); }),
    loop::on<message::Health>([](Attempt& a, int rank, const auto& m) {
      a.tell_evidence(rank, "script", m.text, m.is_conclusive);
    }),
    loop::on<message::Checkpoints>(
        [](Attempt& a, int rank, const auto& m) { a.context_.checkpoints.ask(rank, m); }),
    loop::on<message::Damaged>([](Attempt& a, int, const auto& m) { a.on_damaged(m); }),
    loop::on<message::Sync>([](Attempt& a, int rank, auto m) { a.on_sync(rank, std::move(m)); }),
    loop::on<message::AskScript>(
        [](Attempt& a, int rank, auto m) { a.on_ask_script(rank, std::move(m)); }),
    loop::on<message::StoreSet>(
        [](Attempt& a, int rank, auto m) { a.answer(a.store_.call(rank, std::move(m))); }),
    loop::on<message::StoreGet>(
        [](Attempt& a, int rank, auto m) { a.answer(a.store_.call(rank, std::move(m))); }),
    loop::on<message::StoreWait>(
        [](Attempt& a, int rank, auto m) { a.answer(a.store_.call(rank, std::move(m))); }),
    loop::on<message::StoreAdd>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    loop::on<message::StoreCheck>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    loop::on<message::StoreDelete>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    loop::on<message::StoreNumKeys>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    loop::on<message::StoreCompareSet>(
        [](Attempt& a, int rank, const auto& m) { a.answer(a.store_.call(rank, m)); }),
    loop::on<message::Cancel>(
        [](Attempt& a, int rank, const auto& m) { a.store_.cancel(rank, m.id); }),
    loop::on<message::Stack>(
        [](Attempt& a, int rank, auto m) { a.watchdog_.on_stack(rank, std::move(m)); }),
    loop::on<message::Profile>(
        [](Attempt& a, int rank, const auto& m) { a.profiles_.on_answer(rank, m); }),
    loop::on<message::StopCalls>(
        [](Attempt& a, int rank, const auto& m) { a.graceful_shutdown_.on_calls(rank, m); }),
    loop::on<message::StopSeen>([](Attempt& a, int, const auto& m) {
      a.graceful_shutdown_.on_seen(m);
      a.delegate_.feed(decide::event::StopSeen{});
    }),
    loop::on<message::StartIngest>([](Attempt& a, int rank, const auto& m) {
      a.send(rank, message::Reply{.id = m.id, .value = a.context_.resources.start_ingest(m)});
    }),
    loop::on<message::PutFile>(
        [](Attempt& a, int rank, auto m) { a.on_put_file(rank, std::move(m)); }),
    loop::on<message::ReadFile>(
        [](Attempt& a, int rank, const auto& m) { a.on_read_file(rank, m); }),
    loop::on<message::Healable>([](Attempt& a, int rank, const auto& m) {
      a.delegate_.feed(decide::event::Healable{rank, m.is && a.nodes_.can_replace(), m.fixed});
    }),
    loop::on<message::NodeReady>(
        [](Attempt& a, int rank, auto m) { a.on_node_ready(rank, std::move(m)); }),
    loop::on<message::Unwound>([](Attempt& a, int rank, const auto& m) { a.on_unwound(rank, m); }),
    loop::on<message::Returned>(
        [](Attempt& a, int rank, auto m) { a.on_returned(rank, std::move(m)); }),
    loop::on<message::Failed>([](Attempt& a, int rank, const auto& m) { a.on_failed(rank, m); }),
};

void Attempt::on_frame(int place, std::string frame) {
  const auto rank = nodes_.rank_at(place);
  if (!rank || roster_.is_gone(*rank)) return;  // its function was abandoned
  kRoutes.deliver(*this, *rank, decode(frame));
}

void Attempt::answer(std::vector<KeyValueStore::Answer> answers) {
  for (auto& each : answers) {
    send(each.rank, message::Reply{.id = each.id, .value = std::move(each.value)});
  }
}

void Attempt::on_hello(int rank, const message::Hello& hello) {
  if (hello.version != loop::kProtocolVersion || hello.build_id != machine::build_id()) {
    throw Error(Code::kEnvironment, "the worker is another build of rtrain than the controller");
  }
  const auto pid = static_cast<int>(hello.pid);
  if (run_.spec.join) roster_.set_pid(rank, pid);
  run_.events.emit("phase", {{"rank", rank}, {"phase", decide::phase_name(decide::Phase::kHello)}});
  node(rank).set_attached(nodes_.place(rank), pid);
  delegate_.feed(decide::event::PhaseReached{rank, decide::Phase::kHello});
}

// Passes one node's message on to all nodes when the ranks that are left have reached that step on
// every node. Once a rank is lost, no further step is committed.
void Attempt::on_node_ready(int rank, message::NodeReady ready) {
  const auto& members = nodes_.members();
  const NodeGroup::Member& member = nodes_.of(rank);
  if (ready.copies.empty()) {
    for (const int place : member.places) copies_.drop(place);
  }
  for (message::RankCopy& copy : ready.copies) {
    copies_.put(copy.place, static_cast<uint64_t>(ready.step), std::move(copy.bytes));
  }
  const auto all = commits_.on_node_ready(member.node_rank, ready.step, members.size());
  if (!all || has_lost_) return;
  for (const auto& member : members) member.node->set_others_ready(static_cast<uint64_t>(*all));
}

void Attempt::on_unwound(int rank, const message::Unwound& unwound) {
  delegate_.feed(decide::event::Unwound{rank,
                                        {.step = unwound.step,
                                         .index = unwound.index,
                                         .error = unwound.error,
                                         .time_s = unwound.time_s + node(rank).clock_offset_s()}});
}

void Attempt::on_phase(int rank, const message::Phase& reached) {
  const auto phase = decide::phase_from_name(reached.name);
  if (!phase) throw Error(Code::kArgument, cat("unknown phase '", reached.name, "'"));
  run_.events.emit("phase", {{"rank", rank}, {"phase", reached.name}});
  // A local worker cannot report its stacks, and could not be killed.
  if (*phase == decide::Phase::kRunning && !run_.spec.is_local) watchdog_.set_started(rank);
  delegate_.feed(decide::event::PhaseReached{rank, *phase});
}

void Attempt::on_series(int rank, message::Series series) {
  store::check_key(series);
  context_.writer.add(store::SeriesChunk{std::move(series), number_, rank});
}

void Attempt::on_series_dropped(int rank, const message::SeriesDropped& dropped) {
  warn(cat("rank ", rank, ": train.log dropped ", dropped.count,
           " points, which came faster than they could be stored"));
}

void Attempt::on_logged(int rank, const message::Logged& logged) {
  run_.events.emit("logged", {{"rank", rank},
                              {"names", List(logged.names.begin(), logged.names.end())},
                              {"values", List(logged.values.begin(), logged.values.end())}});
}

void Attempt::on_loop_progress(int rank, const message::LoopProgress& progress) {
  const auto known = [](auto value) { return value > 0 ? Value(value) : Value(); };
  run_.events.emit("loop", {{"rank", rank},
                            {"batch", progress.batch},
                            {"batches", known(progress.batches)},
                            {"batch_size", known(progress.batch_size)},
                            {"samples", known(progress.samples)},
                            {"dataset_size", known(progress.dataset_size)},
                            {"rate", known(progress.rate)}});
}

void Attempt::on_damaged(const message::Damaged& damaged) {
  run_.io.write([damaged](RunRecord& record) {
    record.checkpoints().set_damaged(damaged.path, damaged.problem);
  });
}

void Attempt::on_put_file(int rank, message::PutFile part) {
  const store::StageKey key{number_, start_.nonce, part.index};
  const store::StagedPart staged{.path = part.path,
                                 .offset = part.offset,
                                 .bytes = std::move(part.bytes),
                                 .is_last = part.is_last,
                                 .link = std::move(part.link)};
  context_.checkpoints.progressed();
  answer_far(rank, part.id, [key, rank, staged, run_path = run_.run_path] {
    store::add_staged_part(store::CheckpointFiles(run_path), key, rank, staged);
    return Value();
  });
}

void Attempt::on_read_file(int rank, const message::ReadFile& asked) {
  answer_far(rank, asked.id, [asked, run_path = run_.run_path] {
    return Value(store::read_committed_part(run_path, asked.name, asked.path, asked.offset));
  });
}

// Answers a rank of a node that does not see this one's disk with the result of work on it.
void Attempt::answer_far(int rank, int64_t id, std::function<Value()> work) {
  run_.io.call([work = std::move(work)](RunRecord&) { return work(); },
               [this, rank, id, alive = std::weak_ptr<char>(alive_)](std::optional<Value> value,
                                                                     std::optional<Error> error) {
                 if (alive.expired() || roster_.is_gone(rank)) return;
                 message::Reply reply{.id = id};
                 if (value) reply.value = std::move(*value);
                 reply.error = std::move(error);
                 send(rank, std::move(reply));
               });
}

// A heal ends an attempt, but its ranks live on and may still send this.
void Attempt::on_sync(int rank, message::Sync sync) {
  if (collectives_) collectives_->on_sync(rank, std::move(sync));
}

void Attempt::on_ask_script(int rank, message::AskScript ask) {
  const ScriptQuestion question{.name = ask.name,
                                .argument = Map{{"attempt", number_},
                                                {"rank", rank},
                                                {"world_size", num_workers_},
                                                {"value", std::move(ask.argument)}},
                                .timeout = to_ms(ask.timeout_s),
                                .setting = ask.setting};
  run_.calls.ask(run_.loop, question,
                 [this, rank, id = ask.id, alive = std::weak_ptr<char>(alive_)](
                     std::optional<Value> value, std::optional<Error> error) {
                   if (alive.expired() || roster_.is_gone(rank)) return;
                   message::Reply reply{.id = id, .value = Value(), .error = std::move(error)};
                   if (value) reply.value = std::move(*value);
                   send(rank, std::move(reply));
                 });
}

void Attempt::on_returned(int rank, message::Returned returned) {
  reports_.on_returned(rank);
  if (collectives_) collectives_->on_returned(rank);
  graceful_shutdown_.on_left(rank);
  if (rank == 0) return_value_ = std::move(returned.value);
  watchdog_.set_returned(rank);
  delegate_.feed(decide::event::Returned{rank});
  context_.checkpoints.progressed();
}

// The message has only the beginning of a long error; the rank's log has all of it. A rank that
// cannot exit is stuck, and others may be too: their stacks are saved before they are killed.
void Attempt::on_failed(int rank, const message::Failed& failed) {
  const Error& error = failed.error;
  graceful_shutdown_.on_left(rank);
  output_.add(rank, error);
  const auto fail = [this, rank, error, at_s = failed.time_s + node(rank).clock_offset_s()] {
    delegate_.feed(decide::event::Failed{rank, explain(rank, error), at_s});
  };
  if (!failed.stays) return fail();
  watchdog_.save_stacks(error.message(), fail);
}

Error Attempt::explain(int rank, const Error& error) const {
  std::vector<decide::PlacedFacts> ranks;
  for (int each = 0; each < num_workers_; ++each) {
    ranks.push_back({nodes_.of(each).name, watchdog_.facts(each)});
  }
  return faults_.explain(rank, decide::with_absent_ranks(rank, error, ranks));
}

}  // namespace rtrain::train
