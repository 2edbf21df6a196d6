#include "host/bind/host.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/lua/embed.h"
#include "host/store/checkpoints/checkpoint_files.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/read/report_blocks.h"
#include "host/store/read/run_reader.h"
#include "host/store/runs/environment.h"
#include "host/store/runs/queued_run.h"
#include "host/store/runs/storage_folder.h"

namespace rtrain {

template <>
struct Class<ReportBlocks> {
  using Slot = std::unique_ptr<ReportBlocks>;
  static constexpr const char* kName = "rtrain.ReportBlocks";
};

namespace {

std::string text_argument(lua_State* L, int index) {
  size_t size = 0;
  const char* bytes = luaL_checklstring(L, index, &size);
  return std::string(bytes, size);
}

int version(lua_State* L) {
  push_value(L, rtrain_version());
  return 1;
}

int env(lua_State* L) {
  push_value(L, describe_environment());
  return 1;
}

int named_storage(lua_State* L) {
  push_value(L, storage_folder(luaL_optstring(L, 1, "")));
  return 1;
}

int storage_uri(lua_State* L) {
  const auto store = ObjectStorage::of(text_argument(L, 1));
  if (!store) return 0;
  push_value(L, store->uri());
  return 1;
}

int queue_run(lua_State* L) {
  const auto run = from_value<QueuedRun>(to_value(L, 2, "the run"));
  lua_pushboolean(L, add_queued_run(text_argument(L, 1), run));
  return 1;
}

int forget_queued(lua_State* L) {
  forget_queued_run(text_argument(L, 1), text_argument(L, 2));
  return 0;
}

int run(lua_State* L) {
  push_value(L, RunReader::open_run(text_argument(L, 1), text_argument(L, 2)).everything());
  return 1;
}

// The reports of rank 0 in that run.
int report_blocks(lua_State* L) {
  push<ReportBlocks>(L, std::make_unique<ReportBlocks>(text_argument(L, 1), text_argument(L, 2)));
  return 1;
}

int max_reports(lua_State* L) {
  lua_pushnumber(L, static_cast<lua_Number>(check<ReportBlocks>(L, 1)->max_reports()));
  return 1;
}

// Pushes the number of a block's runs of reports, pointers to these and to the numbers, and the
// other reports.
int next_block(lua_State* L) {
  const ReportBlock* block = check<ReportBlocks>(L, 1)->next();
  if (block == nullptr) return 0;
  lua_pushinteger(L, static_cast<lua_Integer>(block->runs.size()));
  lua_pushlightuserdata(L, const_cast<ReportBlock::Run*>(block->runs.data()));
  lua_pushlightuserdata(L, const_cast<double*>(block->numbers.data()));
  push_value(L, block->others);
  return 4;
}

int metric_names(lua_State* L) {
  const auto number = static_cast<int32_t>(luaL_checkinteger(L, 2));
  const MetricNames& names = check<ReportBlocks>(L, 1)->names(number);
  push_value(L, List(names.begin(), names.end()));
  return 1;
}

int checkpoints(lua_State* L) {
  OpenRun run = RunReader::open_run(text_argument(L, 1), text_argument(L, 2));
  push_value(L, run.reader.checkpoints(run.ref, lua_toboolean(L, 3) != 0));
  return 1;
}

int verify(lua_State* L) {
  const Manifest manifest = CheckpointFiles::verify(text_argument(L, 1));
  push_value(L, Map{{"name", manifest.name},
                    {"attempt", manifest.attempt},
                    {"index", manifest.index},
                    {"metrics", manifest.metrics}});
  return 1;
}

int module_names(lua_State* L) {
  const std::vector<std::string> names = embedded_modules();
  push_value(L, List(names.begin(), names.end()));
  return 1;
}

// The text of a module that require would load, and its path below modules/.
int module_text(lua_State* L) {
  const auto found = find_module(text_argument(L, 1));
  if (!found) return 0;
  lua_pushlstring(L, found->text.data(), found->text.size());
  lua_pushlstring(L, found->path.data(), found->path.size());
  return 2;
}

int guide_names(lua_State* L) {
  const std::vector<std::string> names = embedded_guides();
  push_value(L, List(names.begin(), names.end()));
  return 1;
}

int guide_text(lua_State* L) {
  const auto text = find_guide(text_argument(L, 1));
  if (!text) return 0;
  lua_pushlstring(L, text->data(), text->size());
  return 1;
}

int template_names(lua_State* L) {
  const std::vector<std::string> names = embedded_templates();
  push_value(L, List(names.begin(), names.end()));
  return 1;
}

int template_text(lua_State* L) {
  const auto text = find_template(text_argument(L, 1));
  if (!text) return 0;
  lua_pushlstring(L, text->data(), text->size());
  return 1;
}

}  // namespace

int open_host(lua_State* L) {
  static constexpr std::array kReportBlocks = {method<&max_reports>("max_reports"),
                                               method<&next_block>("next"),
                                               method<&metric_names>("names")};
  register_class<ReportBlocks>(L, kReportBlocks);
  static constexpr std::array kFunctions = {
      method<&version>("version"),
      method<&env>("env"),
      method<&named_storage>("storage_folder"),
      method<&storage_uri>("storage_uri"),
      method<&queue_run>("add_queued_run"),
      method<&forget_queued>("forget_queued_run"),
      method<&run>("run"),
      method<&report_blocks>("report_blocks"),
      method<&checkpoints>("checkpoints"),
      method<&verify>("verify"),
      method<&module_names>("module_names"),
      method<&module_text>("module_text"),
      method<&guide_names>("guide_names"),
      method<&guide_text>("guide_text"),
      method<&template_names>("template_names"),
      method<&template_text>("template_text"),
  };
  push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain
