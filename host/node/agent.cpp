#include "host/node/agent.h"

#include <unistd.h>

#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/codec.h"
#include "host/base/files/sealed_file.h"
#include "host/base/random.h"
#include "host/base/seconds_setting.h"
#include "host/base/text/text.h"
#include "host/machine/libraries/libtorch.h"
#include "host/machine/machine.h"
#include "host/machine/network.h"
#include "host/machine/processes/build_id.h"
#include "host/node/health/folder_check.h"
#include "host/store/files/file.h"

namespace rtrain::node {
namespace {

constexpr std::chrono::milliseconds kLook{250};
constexpr std::chrono::seconds kFinishTime{5};
constexpr std::chrono::milliseconds kSpoolWait{20};
constexpr std::chrono::seconds kFolderTimeout{30};
constexpr double kJoinTimeoutS = 60;

std::string about(const JobSpec& spec, const std::vector<WorkerGpu>& gpus) {
  message::AgentInfo info{.node = spec.task,
                          .tasks = spec.tasks_on_node(),
                          .host = machine::hostname(),
                          .cores = spec.cores.value_or(machine::available_cores()),
                          .pid = getpid(),
                          .libtorch = machine::libtorch_build(),
                          .most_workers = spec.most_workers};
  for (const WorkerGpu& gpu : gpus) info.gpus.push_back(gpu.name);
  return encode(to_value(info));
}

}  // namespace

Agent::Agent(const JobSpec& spec, std::vector<WorkerGpu> gpus, int engine_fd)
    : spec_(spec),
      engine_fd_(engine_fd),
      node_(loop_, {}, gpus, [this](const message::FromNode& message) { send(to_value(message)); }),
      health_(loop_, gpus, [this](const Value& message) { send(message); }),
      spool_(loop_),
      spool_wait_(loop_, [this] { send_spool(); }),
      join_timeout_s_(seconds_setting("RTRAIN_JOIN_TIMEOUT_S", kJoinTimeoutS)),
      lease_(loop_, [this] { look(); }),
      client_(loop_,
              {.find = finder(),
               .identity = wire::WireIdentity{.role = "agent", .run_id = spec.id},
               .link = cat("node-", spec.task, "-", random_hex(8)),
               .about = about(spec, gpus),
               .build = std::string(machine::build_id()),
               .timeout = to_ms(join_timeout_s_)},
              *this) {
  if (spec.join) {
    joins_.emplace(loop_, *spec.join);
  } else {
    take_signals();
  }
  node_.set_files(files());
}

Agent::~Agent() {
  if (functions_fd_ >= 0) ::close(functions_fd_);
}

// Ranks forward their signals themselves.
void Agent::take_signals() {
  for (const int number : loop::kStopSignals) {
    signals_.push_back(
        std::make_unique<loop::Signal>(loop_, number, [this, number] { on_signal(number); }));
  }
}

// If the job has its own secret, node 0's address comes from the launcher, else from its file.
std::function<std::optional<wire::WireContact>(std::string&)> Agent::finder() {
  if (const auto secret = wire::take_secret_from_environment()) {
    wire::WireContact contact{.hosts = {}, .port = spec_.port, .more_ports = 16, .secret = *secret};
    if (!spec_.master.empty()) contact.hosts.push_back(spec_.master);
    if (contact.hosts.empty() && !spec_.hosts.empty()) contact.hosts.push_back(spec_.hosts.front());
    return [contact](std::string&) { return contact; };
  }
  rendezvous_.emplace(wire::Rendezvous::path_for(spec_.id), spec_.id);
  return [this](std::string& why) { return rendezvous_->find(why); };
}

void Agent::serve() {
  look();
  loop_.run();
}

int Agent::run() {
  serve();
  if (failure_) throw *failure_;
  return code_.value_or(0);
}

void Agent::leave() {
  loop_.post([this] {
    is_leaving_ = true;
    wire::Link& link = client_.link();
    if (link.is_closed()) return loop_.stop();
    if (!code_) link.finish(kFinishTime, [this](uint64_t) { loop_.stop(); });
  });
}

const loop::Routes<message::ToAgent, Agent> Agent::kRoutes{
    loop::on<message::Functions>([](Agent& a, auto m) { a.on_functions(std::move(m)); }),
    loop::on<message::CheckFolder>([](Agent& a, const auto& m) { a.check_folder(m); }),
    loop::on<message::BeginFit>([](Agent& a, const auto& m) { a.joins().begin(m.fit); }),
    loop::on<message::EndFit>([](Agent& a, const auto& m) { a.joins().end(m.ended); }),
    loop::on<message::Leave>([](Agent& a, const auto& m) { a.end(m.code); }),
    loop::on<message::NodeTimeout>([](Agent& a, const auto& m) {
      a.spec_.node_timeout_s = m.seconds;
      a.look();
    }),
    loop::on<message::AskSpool>([](Agent& a, const auto& m) { a.on_ask_spool(m); }),
    loop::on<message::ForgetSpool>(
        [](Agent& a, const auto& m) { a.spool_.forget(m.below_attempt); }),
    loop::on<message::StartIngest>(
        [](Agent& a, const auto& m) { a.ingest_.start(m, a.engine_fd_); }),
};

// Renews the lease first, so that workers started by the message have a valid one.
void Agent::on_frame(std::string_view payload) try {
  set_lease();
  Value message = decode(payload);
  const std::string type = message["type"].as_string();
  if (kRoutes.has(type)) return kRoutes.deliver(*this, std::move(message));
  if (NodeMonitor::kRoutes.has(type)) return health_.receive(std::move(message));
  node_.receive(std::move(message));
} catch (const Error& e) {
  fail(e);
}

void Agent::on_functions(message::Functions part) {
  if (part.offset == 0) functions_.clear();
  functions_ += part.bytes;
  if (static_cast<int64_t>(functions_.size()) < part.size) return;
  const int before = std::exchange(
      functions_fd_, sealed_file("rtrain-functions", functions_, "the train function"));
  if (before >= 0) ::close(before);
  functions_.clear();
  node_.set_files(files());
}

JoinServer& Agent::joins() {
  if (!joins_) throw Error(Code::kArgument, "no process joins this agent: it starts its workers");
  return *joins_;
}

// Answers one question at a time, because the controller asks again every second.
void Agent::check_folder(const message::CheckFolder& check) {
  if (folder_check_) return;
  folder_check_ = std::make_unique<TimedCheck>(
      loop_, [check] { return folder_problem(check); }, kFolderTimeout,
      [this, check](const CheckOutcome& outcome) {
        const auto keep = std::move(folder_check_);
        far_path_ = outcome.problem.empty() ? far_path(check) : "";
        send(to_value(message::FolderSeen{
            .path = check.path, .problem = outcome.problem, .far_path = far_path_}));
      });
}

void Agent::on_ask_spool(const message::AskSpool& asked) {
  asked_run_ = asked.run_id;
  asked_at_start_ = node_.num_starts();
  send_spool();
}

// Sends the reports of workers that have ended, including those written while they end. Workers
// that were started since then send theirs themselves.
void Agent::send_spool() {
  const bool is_ending = node_.is_busy() && node_.num_starts() == asked_at_start_;
  if (is_ending) return spool_wait_.start(kSpoolWait);
  const bool is_busy = node_.is_busy();
  message::SpoolEnd end;
  try {
    spool_.set_run(asked_run_);
    for (store::SpooledReport& each : spool_.read()) {
      if (is_busy && node_.has(each.attempt)) continue;
      send(to_value(message::Spooled{
          .attempt = each.attempt, .rank = each.rank, .report = std::move(each.report)}));
    }
  } catch (const Error& e) {
    end.problem = e.message();
  }
  send(to_value(end));
}

// The launcher signals all processes of the job, and the controller decides. A second signal means
// that the user does not want to wait for that.
void Agent::on_signal(int number) {
  if (std::exchange(is_stopping_, true)) {
    return fail(Error(Code::kTerminated, "a second signal to end"));
  }
  send(to_value(message::AgentSignal{.number = number}));
}

void Agent::send(const Value& message) { client_.link().send(encode(message)); }

// Ends the workers: a new controller does not know the workers of the previous one, and a
// controller that has given up this node continues without them.
void Agent::on_peer_restarted() {
  health_.stop();
  client_.link().drop_unacknowledged();
  ingest_.kill();
  node_.kill("the controller has gone on without it");
}

void Agent::set_lease() {
  node_.set_lease(boot_s() + spec_.node_timeout_s - client_.link().silent_s());
}

void Agent::look() {
  lease_.start(kLook);
  set_lease();
  ingest_.look();
  const double silent_s = client_.link().silent_s();
  if (!client_.link().far().port()) return;  // the agent has never connected
  if (silent_s < spec_.node_timeout_s) return cut_off_at_s_.reset();
  const std::string why =
      cat("the controller has not been heard of for ", spec_.node_timeout_s, " s (node_timeout_s)");
  ingest_.kill();
  node_.kill(why);
  if (!cut_off_at_s_) cut_off_at_s_ = boot_s();
  if (joins_) return fail(Error(Code::kWorkerLost, why));
  if (boot_s() - *cut_off_at_s_ < join_timeout_s_) return;
  fail(Error(Code::kWorkerLost,
             cat(why, ", nor for another ", join_timeout_s_, " s (RTRAIN_JOIN_TIMEOUT_S)")));
}

void Agent::on_end(const wire::LinkEnd& link_end) {
  if (code_ || link_end.kind == wire::LinkEnd::Kind::kFinished) return end(code_.value_or(0));
  const bool never_came = link_end.kind == wire::LinkEnd::Kind::kUnreachable;
  fail(Error(never_came ? Code::kTimeout : Code::kEnvironment,
             cat("node 0 of the job: ", link_end.text)));
}

void Agent::end(int code) {
  code_ = code;
  ingest_.kill();
  node_.kill("the job is over");
  if (!far_path_.empty()) store::remove_tree(far_path_);
  if (joins_) joins_->close(message::JobOver{.code = code});
  client_.link().finish(kFinishTime, [this](uint64_t) {
    if (!joins_ || is_leaving_) loop_.stop();
  });
}

void Agent::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  ingest_.kill();
  node_.kill(error.message());
  client_.close();
  if (!joins_) return loop_.stop();
  joins_->close(message::Refused{.error = error});
}

}  // namespace rtrain::node
