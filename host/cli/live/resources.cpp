// rtrain resources: the cores and GPUs of this node: how many rtrain may use, which runs hold them,
// and which runs wait.
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/machine/leases/resource_report.h"
#include "host/machine/leases/resource_settings.h"

namespace rtrain::cli {
namespace {

constexpr int kMaxCpus = 4096;

[[noreturn]] void refuse(const std::string& setting) {
  throw Error(Code::kUsage, cat("--set ", setting, ": expected cpus=N with N from 0 to ", kMaxCpus,
                                ", or cpus=all for what the node has"));
}

void apply(const std::string& setting) {
  constexpr std::string_view kCpus = "cpus=";
  if (!setting.starts_with(kCpus)) refuse(setting);
  const std::string_view value = std::string_view(setting).substr(kCpus.size());
  if (value == "all") return machine::set_cpus_setting(std::nullopt);
  int cpus = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), cpus);
  if (error != std::errc() || end != value.data() + value.size() || cpus < 0 || cpus > kMaxCpus) {
    refuse(setting);
  }
  machine::set_cpus_setting(cpus);
}

// Returns for example "; 97 % busy, 21.5 GB in use, 700 W, 71 °C, slowed by power limit".
std::string state_text(const Value& state) {
  if (state.is_nil()) return "";
  std::vector<std::string> parts;
  const auto add = [&](const char* field, const auto& text) {
    if (!state[field].is_nil()) parts.push_back(text(state[field]));
  };
  add("utilization_percent", [](const Value& v) { return cat(v.as_int(), " % busy"); });
  add("used_bytes", [](const Value& v) { return human_size(v.as_int()) + " in use"; });
  add("power_w", [](const Value& v) { return cat(std::llround(v.as_float()), " W"); });
  add("temperature_c", [](const Value& v) { return cat(v.as_int(), " °C"); });
  std::vector<std::string> reasons;
  for (const Value& reason : state["slowed_by"].as_list()) reasons.push_back(reason.as_string());
  if (!reasons.empty()) parts.push_back(cat("slowed by ", join(reasons, ", ")));
  return parts.empty() ? "" : cat("; ", join(parts, ", "));
}

void print(const Value& resources) {
  const Value& cpus = resources["cpus"];
  std::cout << "cores  " << cpus["offered"].as_int() << " offered, " << cpus["free"].as_int()
            << " free";
  if (cpus["offered"] != cpus["host"]) {
    std::cout << " (the node has " << cpus["host"].as_int() << ": set with --set cpus=)";
  }
  std::cout << "\n";
  for (const Value& gpu : resources["gpus"].as_list()) {
    std::cout << "GPU " << gpu["index"].as_int() << "  " << gpu["name"].as_string() << ", "
              << gpu["free"].as_float() << " free" << state_text(gpu["state"]) << "\n";
  }
  std::vector<std::vector<std::string>> rows;
  for (const Value& lease : resources["leases"].as_list()) {
    std::vector<std::string> cores;
    for (const Value& core : lease["cores"].as_list()) cores.push_back(cat(core.as_int()));
    double gpus = 0;
    for (const Value& gpu : lease["gpus"].as_list()) gpus += gpu["share"].as_float();
    rows.push_back({lease["run"].as_string(), cat(lease["pid"].as_int()), join(cores, " "),
                    gpus > 0 ? cat(gpus) : ""});
  }
  for (const Value& run : resources["waiting"].as_list()) {
    rows.push_back({run["run"].as_string(), cat(run["pid"].as_int()), "waits", ""});
  }
  if (!rows.empty()) print_table({{"RUN"}, {"PID", true}, {"CORES"}, {"GPUS"}}, rows);
}

}  // namespace

void add_resources(Parser& parser) {
  auto json = std::make_shared<bool>(false);
  auto setting = std::make_shared<std::string>();
  Command command = parser.command(
      "resources",
      "Show the cores and GPUs of this node and who has them, or set how many cores runs may use");
  command
      .option("--set", setting.get(),
              "cpus=N: offer that many cores from now on; cpus=all: the node's")
      .value_name("cpus=N")
      .offers({.words = {"cpus=all"}});
  command.flag("--json", json.get(), "one JSON document");
  command.action([json, setting] {
    if (!setting->empty()) apply(*setting);
    const Value resources = machine::read_resources();
    if (*json) return print_json(resources);
    print(resources);
  });
}

}  // namespace rtrain::cli
