// rtrain resources: the cores of this host: how many runs may use, who holds them, who waits.
#include <charconv>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/lease.h"
#include "host/base/machine.h"
#include "host/base/resource_settings.h"
#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/listing.h"

namespace rtrain {
namespace {

constexpr int kMaxCpus = 4096;

[[noreturn]] void refuse(const std::string& setting) {
  throw Error(Code::kUsage, cat("--set ", setting, ": expected cpus=N with N from 0 to ", kMaxCpus,
                                ", or cpus=all for what the host has"));
}

void apply(const std::string& setting) {
  constexpr std::string_view kCpus = "cpus=";
  if (!setting.starts_with(kCpus)) refuse(setting);
  const std::string_view value = std::string_view(setting).substr(kCpus.size());
  if (value == "all") return set_cpus_setting(std::nullopt);
  int cpus = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), cpus);
  if (error != std::errc() || end != value.data() + value.size() || cpus < 0 || cpus > kMaxCpus) {
    refuse(setting);
  }
  set_cpus_setting(cpus);
}

// {cpus: {host, offered, free}, leases: [{run, pid, cores}], waiting: [{run, pid}]}.
Value describe() {
  const LeaseTable table = read_lease_table();
  List leases;
  for (const LeaseShare& share : table.shares()) {
    leases.emplace_back(Map{{"run", share.holder.run},
                            {"pid", share.holder.pid},
                            {"cores", List(share.cores.begin(), share.cores.end())}});
  }
  List waiting;
  for (const LeaseHolder& holder : table.waiting) {
    waiting.emplace_back(Map{{"run", holder.run}, {"pid", holder.pid}});
  }
  const Map cpus{{"host", available_cores()}, {"offered", table.offered}, {"free", table.free()}};
  return Map{{"cpus", cpus}, {"leases", std::move(leases)}, {"waiting", std::move(waiting)}};
}

void print(const Value& resources) {
  const Value& cpus = resources["cpus"];
  std::cout << "cores  " << cpus["offered"].as_int() << " offered, " << cpus["free"].as_int()
            << " free";
  if (cpus["offered"] != cpus["host"]) {
    std::cout << " (the host has " << cpus["host"].as_int() << ": set with --set cpus=)";
  }
  std::cout << "\n";
  std::vector<std::vector<std::string>> rows;
  for (const Value& lease : resources["leases"].as_list()) {
    std::vector<std::string> cores;
    for (const Value& core : lease["cores"].as_list()) cores.push_back(cat(core.as_int()));
    rows.push_back({lease["run"].as_string(), cat(lease["pid"].as_int()), join(cores, " ")});
  }
  for (const Value& run : resources["waiting"].as_list()) {
    rows.push_back({run["run"].as_string(), cat(run["pid"].as_int()), "waits"});
  }
  if (!rows.empty()) print_table({{"RUN"}, {"PID", true}, {"CORES"}}, rows);
}

}  // namespace

void add_resources(CLI::App& app, CommandResult&) {
  auto json = std::make_shared<bool>(false);
  auto setting = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("resources", "Show or set the cores that runs on this host may use");
  command
      ->add_option("--set", *setting,
                   "cpus=N: offer so many cores from now on; cpus=all: the host's")
      ->type_name("cpus=N");
  command->add_flag("--json", *json, "one JSON document");
  command->final_callback([json, setting] {
    if (!setting->empty()) apply(*setting);
    const Value resources = describe();
    if (*json) return print_json(resources);
    print(resources);
  });
}

}  // namespace rtrain
