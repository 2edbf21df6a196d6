// rtrain env: shows versions, LibTorch, Arrow, cores, memory, GPUs, CUDA, and the launcher of this
// process (rtrain.launch, in Lua); --variables: the environment variables that rtrain reads.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "host/base/fault.h"
#include "host/base/secrets.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/machine/variables.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/store/runs/environment.h"

namespace rtrain::cli {
namespace {

void print_field(std::string_view label, std::string_view text) {
  constexpr size_t kLabelWidth = 10;
  std::cout << label << std::string(kLabelWidth - label.size(), ' ') << text << "\n";
}

void print_library(std::string_view name, const Value& library) {
  if (library["found"].as_bool()) {
    print_field(name, cat(library["version"].as_string(), "  ", library["path"].as_string(), "  (",
                          library["source"].as_string(), ")"));
  } else {
    print_field(name, "none found");
  }
  for (const Value& place : library["places"].as_list()) {
    if (place["path"] == library["path"]) continue;
    print_field("", cat(place["path"].as_string(), "  (", place["source"].as_string(),
                        "): ", place["finding"].as_string()));
  }
}

// Prints which engine of this executable fits the LibTorch above.
void print_engine(const Value& libtorch) {
  std::vector<std::string> others;
  for (const Value& minor : libtorch["engines"].as_list()) {
    if (minor != libtorch["engine"]) others.push_back(minor.as_string());
  }
  const std::string rest = others.empty() ? "" : cat("  (also here: for ", join(others, ", "), ")");
  if (!libtorch["found"].as_bool()) {
    print_field("engine", cat("none in use", rest));
    return;
  }
  print_field(
      "engine",
      cat("for LibTorch ", libtorch["engine"].as_string(),
          libtorch["tested"].as_bool() ? "" : ", whose tests ran with another release of it",
          rest));
}

// Prints the tree libraries, which only models of trees need; for a missing library a line says how
// to install it.
void print_tree_libraries(const Value& libraries) {
  for (const Value& library : libraries.as_list()) {
    const std::string& name = library["name"].as_string();
    print_field(
        name, library["found"].as_bool()
                  ? cat(library["version"].string_or("?"), "  ", library["path"].as_string(), "  (",
                        library["source"].as_string(), ")")
                  : cat("none found: ", library["mend"].as_string()));
  }
}

void print_cuda(const Value& environment) {
  const Value& cuda = environment["cuda"];
  const int64_t devices = cuda["devices"].as_int();
  print_field("CUDA", cuda["available"].as_bool()
                          ? cat(environment["libtorch"]["cuda"].string_or(""), "  ", devices,
                                devices == 1 ? " device" : " devices")
                          : cat("not available: ", cuda["reason"].as_string()));
  if (!cuda["available"].as_bool()) return;
  print_field("",
              cat("allocator: ", cuda["allocator"].string_or("LibTorch's defaults "
                                                             "(PYTORCH_ALLOC_CONF is not set)")));
}

// Prints NCCL's settings if there is a GPU.
void print_nccl(const Value& environment) {
  if (!environment["cuda"]["available"].as_bool()) return;
  for (const Value& setting : environment["nccl"].as_list()) {
    const std::string why = setting["why"].string_or("");
    print_field("NCCL",
                cat(setting["name"].as_string(), "=", setting["value"].as_string(), "  (set by ",
                    setting["set_by"].as_string(), why.empty() ? "" : ": ", why, ")"));
  }
}

void print_gpus(const Value& environment) {
  if (environment["gpus"].as_list().empty()) {
    print_field("GPUs", cat("none: ", environment["gpu_reason"].string_or("")));
  }
  for (const Value& gpu : environment["gpus"].as_list()) {
    print_field("GPU", cat(gpu["index"].as_int(), "  ", gpu["name"].as_string(), "  ",
                           human_size(gpu["memory_bytes"].as_int()), "  driver ",
                           environment["gpu_driver"].string_or("")));
  }
}

// The launcher of this process according to rtrain.launch: for --json, and as lines.
struct LauncherReport {
  Value description;
  Value lines;
};

LauncherReport describe_launcher(const std::string& launcher) {
  lua::State state;
  bind::add_host_modules(state);
  lua::push_module_function(state, "rtrain.launch", "describe");
  lua::push_value(state, launcher.empty() ? Value() : Value(launcher));
  lua::protected_call(state, 1, 2);
  return {lua::to_value(state, -2, "launcher"), lua::to_value(state, -1, "lines")};
}

void print_launcher(const Value& lines) {
  std::string_view label = "launcher";
  for (const Value& line : lines.as_list()) {
    print_field(label, line.as_string());
    label = "";
  }
}

void print_environment(const Value& environment) {
  const Value& platform = environment["platform"];
  print_field("rtrain", environment["version"].as_string());
  print_field("platform",
              cat(platform["system"].as_string(), " ", platform["kernel"].as_string(), " ",
                  platform["machine"].as_string(), ", glibc ", platform["glibc"].as_string()));
  print_field("built on", cat(environment["luajit"].as_string(),
                              environment["luajit_hooks_in_compiled_code"].as_bool()
                                  ? " (hooks in compiled code)"
                                  : " (Debian's: compiled loops show no Lua stack)",
                              ", libuv ", environment["libuv"].as_string(), ", SQLite ",
                              environment["sqlite"].as_string()));
  print_library("LibTorch", environment["libtorch"]);
  print_engine(environment["libtorch"]);
  print_library("Arrow", environment["arrow"]);
  print_tree_libraries(environment["trees"]);
  print_field("host", environment["hostname"].as_string());
  print_field("cores", cat(environment["cores"].as_int()));
  print_field("memory",
              cat(human_size(environment["memory_bytes"].as_int()), ", ",
                  human_size(environment["available_memory_bytes"].as_int()), " available"));
  print_gpus(environment);
  print_cuda(environment);
  print_nccl(environment);
  print_field("storage", environment["storage"].is_nil()
                             ? cat("none: ", environment["storage_reason"].as_string())
                             : environment["storage"].as_string());
  print_field("network", environment["network"].as_string());
}

// Returns the variable's value, masked if it is a secret; nil if it is not set. The name of a file
// with a secret is not masked.
Value set_value(const Variable& variable) {
  const char* value = std::getenv(std::string(variable.name).c_str());
  if (value == nullptr) return {};
  const bool is_secret = is_secret_name(variable.name) && !variable.name.ends_with("_FILE");
  return is_secret ? Value(kMasked) : Value(value);
}

void print_variables_json() {
  List rows;
  for (const Variable& variable : variables()) {
    rows.push_back(Map{{"name", std::string(variable.name)},
                       {"group", std::string(variable.group)},
                       {"default", std::string(variable.otherwise)},
                       {"meaning", std::string(variable.meaning)},
                       {"value", set_value(variable)}});
  }
  print_json(Value(std::move(rows)));
}

void print_variables() {
  constexpr size_t kNameWidth = 38;
  std::string_view group;
  for (const Variable& variable : variables()) {
    if (variable.group != group) {
      std::cout << (group.empty() ? "" : "\n") << variable.group << "\n";
      group = variable.group;
    }
    const Value value = set_value(variable);
    std::cout << "  " << variable.name << std::string(kNameWidth - variable.name.size(), ' ')
              << variable.meaning;
    if (!variable.otherwise.empty()) std::cout << " (default: " << variable.otherwise << ")";
    if (!value.is_nil()) std::cout << "; now " << value.as_string();
    std::cout << "\n";
  }
}

void print_fault_points() {
  constexpr size_t kNameWidth = 20;
  if (!kHasFaultPoints) return;
  for (const FaultPointInfo& point : kFaultPoints) {
    std::cout << point.name << std::string(kNameWidth - point.name.size(), ' ') << point.place
              << "\n";
  }
}

}  // namespace

void add_env(Parser& parser) {
  auto json = std::make_shared<bool>(false);
  Command command = parser.command(
      "env", "Show versions, LibTorch, Arrow, cores, memory, GPUs and who started the process");
  command.flag("--json", json.get(), "one JSON document");
  auto variables = std::make_shared<bool>(false);
  command.flag("--variables", variables.get(),
               "the environment variables that rtrain reads, their defaults and values");
  auto launcher = std::make_shared<std::string>();
  command
      .option("--launcher", launcher.get(),
              "as of `rtrain run`: a launcher's name or a site's file")
      .value_name("NAME|FILE");
  // For tests: `host/base/fault.h`. It has no group, so the help does not show it.
  auto fault_points = std::make_shared<bool>(false);
  command.flag("--fault-points", fault_points.get(),
               "the places where a test can make a process fail");
  command.action([json, fault_points, variables, launcher] {
    if (*fault_points) return print_fault_points();
    if (*variables) return *json ? print_variables_json() : print_variables();
    Value environment = store::describe_environment();
    const LauncherReport report = describe_launcher(*launcher);
    environment.as_map().set("launcher", report.description);
    if (*json) return print_json(environment);
    print_environment(environment);
    print_launcher(report.lines);
  });
}

}  // namespace rtrain::cli
