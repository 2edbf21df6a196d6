#include "host/dash/api/sweep_answers.h"

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::dash {
namespace {

// Reads what the sweep looks for: the file that modules/rtrain/tune/experiment.lua wrote; nil
// without one.
Value objective_of(const std::string& storage_path, const std::string& name) {
  if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos) return {};
  const std::string path = cat(storage_path, "/.sweeps/", name, "/objective.json");
  try {
    if (store::path_kind(path) != "file") return {};
    return from_json(store::read_text_beneath(storage_path, path));
  } catch (const Error&) {
    return {};
  }
}

Value text_or_nil(const Value& objective, const char* key) {
  if (!objective.is_map()) return {};
  const Value& value = objective[key];
  return value.is_string() ? value : Value();
}

// Returns the numbers of the list; an empty list without one.
List milestones_of(const Value& objective) {
  List out;
  if (!objective.is_map() || !objective["milestones"].is_list()) return out;
  for (const Value& each : objective["milestones"].as_list()) {
    if (each.is_number()) out.push_back(each);
  }
  return out;
}

}  // namespace

HttpReply answer_sweep(const Api& api, const ApiRequest& request) {
  const std::string name = request.text("name");
  const Value objective = objective_of(api.storage_path(), name);
  return json_reply(Map{{"name", name},
                        {"metric", text_or_nil(objective, "metric")},
                        {"mode", text_or_nil(objective, "mode")},
                        {"time_attr", text_or_nil(objective, "time_attr")},
                        {"milestones", milestones_of(objective)}});
}

}  // namespace rtrain::dash
