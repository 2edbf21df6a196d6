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
#include "host/store/read/checkpoint_rows.h"
#include "host/store/read/curves/report_blocks.h"
#include "host/store/read/open_store.h"
#include "host/store/read/run_document.h"
#include "host/store/runs/environment.h"
#include "host/store/runs/queued_run.h"
#include "host/store/runs/storage_folder.h"

template <>
struct rtrain::lua::Class<rtrain::store::ReportBlocks> {
  using Slot = std::unique_ptr<rtrain::store::ReportBlocks>;
  static constexpr const char* kName = "rtrain.ReportBlocks";
};

namespace rtrain::bind {
namespace {

std::string text_argument(lua_State* L, int index) {
  size_t size = 0;
  const char* bytes = luaL_checklstring(L, index, &size);
  return std::string(bytes, size);
}

int version(lua_State* L) {
  lua::push_value(L, store::rtrain_version());
  return 1;
}

int env(lua_State* L) {
  lua::push_value(L, store::describe_environment());
  return 1;
}

int named_storage(lua_State* L) {
  lua::push_value(L, store::storage_folder(luaL_optstring(L, 1, "")));
  return 1;
}

int storage_uri(lua_State* L) {
  const auto store = store::ObjectStorage::of(text_argument(L, 1));
  if (!store) return 0;
  lua::push_value(L, store->uri());
  return 1;
}

int queue_run(lua_State* L) {
  const auto run = from_value<store::QueuedRun>(lua::to_value(L, 2, "the run"));
  lua_pushboolean(L, store::add_queued_run(text_argument(L, 1), run));
  return 1;
}

int forget_queued(lua_State* L) {
  store::forget_queued_run(text_argument(L, 1), text_argument(L, 2));
  return 0;
}

int run(lua_State* L) {
  store::OpenRun run = store::open_run(text_argument(L, 1), text_argument(L, 2));
  lua::push_value(L, store::read_whole_run(run.store, run.ref));
  return 1;
}

// Pushes the reports of rank 0 in that run.
int report_blocks(lua_State* L) {
  lua::push<store::ReportBlocks>(
      L, std::make_unique<store::ReportBlocks>(text_argument(L, 1), text_argument(L, 2)));
  return 1;
}

int max_reports(lua_State* L) {
  lua_pushnumber(L, static_cast<lua_Number>(lua::check<store::ReportBlocks>(L, 1)->max_reports()));
  return 1;
}

// Pushes the number of a block's runs of reports, pointers to these and to the numbers, and the
// other reports.
int next_block(lua_State* L) {
  const store::ReportBlock* block = lua::check<store::ReportBlocks>(L, 1)->next();
  if (block == nullptr) return 0;
  lua_pushinteger(L, static_cast<lua_Integer>(block->runs.size()));
  lua_pushlightuserdata(L, const_cast<store::ReportBlock::Run*>(block->runs.data()));
  lua_pushlightuserdata(L, const_cast<double*>(block->numbers.data()));
  lua::push_value(L, block->others);
  return 4;
}

int metric_names(lua_State* L) {
  const auto number = static_cast<int32_t>(luaL_checkinteger(L, 2));
  const store::MetricNames& names = lua::check<store::ReportBlocks>(L, 1)->names(number);
  lua::push_value(L, List(names.begin(), names.end()));
  return 1;
}

int checkpoints(lua_State* L) {
  store::OpenRun run = store::open_run(text_argument(L, 1), text_argument(L, 2));
  lua::push_value(L, store::checkpoint_rows(run.store, run.ref, lua_toboolean(L, 3) != 0));
  return 1;
}

int verify(lua_State* L) {
  const store::Manifest manifest = store::CheckpointFiles::verify(text_argument(L, 1));
  lua::push_value(L, Map{{"name", manifest.name},
                         {"attempt", manifest.attempt},
                         {"index", manifest.index},
                         {"metrics", manifest.metrics}});
  return 1;
}

int module_names(lua_State* L) {
  const std::vector<std::string> names = lua::embedded_modules();
  lua::push_value(L, List(names.begin(), names.end()));
  return 1;
}

// Pushes the text of a module that require would load, and its path below modules/.
int module_text(lua_State* L) {
  const auto found = lua::find_module(text_argument(L, 1));
  if (!found) return 0;
  lua_pushlstring(L, found->text.data(), found->text.size());
  lua_pushlstring(L, found->path.data(), found->path.size());
  return 2;
}

int guide_names(lua_State* L) {
  const std::vector<std::string> names = lua::embedded_guides();
  lua::push_value(L, List(names.begin(), names.end()));
  return 1;
}

int guide_text(lua_State* L) {
  const auto text = lua::find_guide(text_argument(L, 1));
  if (!text) return 0;
  lua_pushlstring(L, text->data(), text->size());
  return 1;
}

int template_names(lua_State* L) {
  const std::vector<std::string> names = lua::embedded_templates();
  lua::push_value(L, List(names.begin(), names.end()));
  return 1;
}

int template_text(lua_State* L) {
  const auto text = lua::find_template(text_argument(L, 1));
  if (!text) return 0;
  lua_pushlstring(L, text->data(), text->size());
  return 1;
}

}  // namespace

int open_host(lua_State* L) {
  static constexpr std::array kReportBlocks = {lua::method<&max_reports>("max_reports"),
                                               lua::method<&next_block>("next"),
                                               lua::method<&metric_names>("names")};
  lua::register_class<store::ReportBlocks>(L, kReportBlocks);
  static constexpr std::array kFunctions = {
      lua::method<&version>("version"),
      lua::method<&env>("env"),
      lua::method<&named_storage>("storage_folder"),
      lua::method<&storage_uri>("storage_uri"),
      lua::method<&queue_run>("add_queued_run"),
      lua::method<&forget_queued>("forget_queued_run"),
      lua::method<&run>("run"),
      lua::method<&report_blocks>("report_blocks"),
      lua::method<&checkpoints>("checkpoints"),
      lua::method<&verify>("verify"),
      lua::method<&module_names>("module_names"),
      lua::method<&module_text>("module_text"),
      lua::method<&guide_names>("guide_names"),
      lua::method<&guide_text>("guide_text"),
      lua::method<&template_names>("template_names"),
      lua::method<&template_text>("template_text"),
  };
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
