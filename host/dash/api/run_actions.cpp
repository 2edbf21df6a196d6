#include "host/dash/api/run_actions.h"

#include <optional>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/control/control_client.h"
#include "host/profile/sampled_stacks.h"
#include "host/store/upkeep/run_editor.h"
#include "host/store/upkeep/run_tag.h"
#include "host/train/watch/stack_request.h"

namespace rtrain::dash {
namespace {

constexpr double kFewSeconds = 5;
// The limit for a recording, since a browser waits for the answer.
constexpr double kMostSeconds = 60;

std::vector<std::string> texts_of(const Value& body, const char* name) {
  std::vector<std::string> out;
  if (body[name].is_nil()) return out;
  for (const Value& text : body[name].as_list()) out.push_back(text.as_string());
  return out;
}

std::optional<int64_t> rank_of(const Value& body) {
  if (body["rank"].is_nil()) return std::nullopt;
  return body["rank"].as_int();
}

double seconds_of(const Value& body) {
  if (body["seconds"].is_nil()) return kFewSeconds;
  const double seconds = body["seconds"].as_float();
  if (seconds >= 0.01 && seconds <= kMostSeconds) return seconds;
  throw Error(Code::kUsage, cat("seconds: ", format_double(seconds), " is not from 0.01 to ",
                                format_double(kMostSeconds), ": `rtrain profile` takes longer"));
}

}  // namespace

HttpReply set_note(const Api& api, const ApiRequest& request) {
  const std::string note = request.body()["note"].as_string();
  const store::RunRef run = api.open_run(request.run).ref;
  store::RunEditor(api.storage_path()).set_note(run, note);
  return json_reply(Map{{"name", run.name}, {"run_id", run.run_id}, {"note", note}});
}

HttpReply set_name(const Api& api, const ApiRequest& request) {
  const std::string name = request.body()["name"].as_string();
  const store::RunRef run = api.open_run(request.run).ref;
  store::RunEditor(api.storage_path()).rename(run, name);
  return json_reply(Map{{"name", name}, {"run_id", run.run_id}});
}

HttpReply change_tags(const Api& api, const ApiRequest& request) {
  const Value body = request.body();
  const std::vector<std::string> added = texts_of(body, "add");
  for (const std::string& tag : added) {
    if (const std::string problem = store::tag_problem(tag); !problem.empty()) {
      throw Error(Code::kUsage, problem);
    }
  }
  const store::RunRef run = api.open_run(request.run).ref;
  List tags;
  for (std::string& tag :
       store::RunEditor(api.storage_path()).change_tags(run, added, texts_of(body, "remove"))) {
    tags.emplace_back(std::move(tag));
  }
  return json_reply(Map{{"name", run.name}, {"run_id", run.run_id}, {"tags", std::move(tags)}});
}

HttpReply set_archived(const Api& api, const ApiRequest& request) {
  const bool archived = request.body()["archived"].as_bool();
  const store::RunRef run = api.open_run(request.run).ref;
  store::RunEditor(api.storage_path()).set_archived(run, archived);
  return json_reply(Map{{"name", run.name}, {"run_id", run.run_id}, {"archived", archived}});
}

HttpReply stop_run(const Api& api, const ApiRequest& request) {
  const Value body = request.body();
  store::OpenRun run = api.open_run(request.run);
  control::ControlClient controller(run, api.stopping());
  const message::Stopping answer = controller.stop(body["now"].bool_or(false), "rtrain dash");
  Map out = control::describe_answer(run.ref, answer);
  out.set("pid", controller.pid());
  return json_reply(std::move(out));
}

HttpReply show_stacks(const Api& api, const ApiRequest& request) {
  const Value body = request.body();
  const train::StackDetail detail =
      body["native"].bool_or(false) ? train::StackDetail::kAll : train::StackDetail::kScript;
  store::OpenRun run = api.open_run(request.run);
  const message::Stacks answer = control::ControlClient(run, api.stopping()).stacks(rank_of(body));
  Map out = control::describe_answer(run.ref, answer);
  List& ranks = out.find("ranks")->as_list();
  for (size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].as_map().set("text", train::stack_text(answer.ranks[i], detail));
  }
  return json_reply(std::move(out));
}

HttpReply record_profiles(const Api& api, const ApiRequest& request) {
  const Value body = request.body();
  const message::RecordProfiles asked{
      .settings =
          loop::ProfileSettings{.seconds = seconds_of(body),
                                .record_shapes = body["shapes"].bool_or(false),
                                .rate = body["flame"].bool_or(false) ? profile::kSamplesPerS : 0,
                                .is_idle_wanted = body["idle"].bool_or(false),
                                .is_memory = body["memory"].bool_or(false)},
      .rank = rank_of(body)};
  store::OpenRun run = api.open_run(request.run);
  return json_reply(control::describe_answer(
      run.ref, control::ControlClient(run, api.stopping()).profiles(asked)));
}

}  // namespace rtrain::dash
