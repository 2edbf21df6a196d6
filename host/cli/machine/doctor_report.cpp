#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/files/new_file.h"
#include "host/base/secrets.h"
#include "host/base/text/text.h"
#include "host/cli/machine/doctor_check.h"
#include "host/cli/screen/listing.h"
#include "host/loop/processes/command_output.h"
#include "host/machine/libraries/gpu_state.h"
#include "host/machine/libraries/gpu_wiring.h"
#include "host/machine/libraries/nvml.h"
#include "host/store/runs/environment.h"

namespace rtrain::cli {
namespace {

constexpr double kTopologyS = 10;

// What is replaced, by what: names of the user and the machine.
using Names = std::vector<std::pair<std::string, std::string>>;

Names private_names() {
  Names out;
  for (const auto& [variable, instead] :
       {std::pair("HOME", "~"), {"USER", "(user)"}, {"LOGNAME", "(user)"}}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && std::string_view(value).size() > 1) out.emplace_back(value, instead);
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) out.emplace_back(host.data(), "(host)");
  return out;
}

bool is_in_word(const std::string& text, size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}

// Replaces the names where they are words of their own.
std::string without_names(std::string text, const Names& names) {
  for (const auto& [name, instead] : names) {
    if (name.empty()) continue;
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      const bool is_part =
          (at > 0 && is_in_word(text, at - 1)) || is_in_word(text, at + name.size());
      if (!is_part) text.replace(at, name.size(), instead);
      at += is_part ? name.size() : instead.size();
    }
  }
  return text;
}

// Masks NAME=VALUE where the name is that of a secret.
std::string without_secrets(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) line = join(mask_secrets(split(line, ' ')), " ");
  return join(lines, "\n");
}

Value shareable(const Value& value, const Names& names) {
  if (value.is_string()) return without_names(without_secrets(value.as_string()), names);
  if (value.is_list()) {
    List out;
    for (const Value& each : value.as_list()) out.push_back(shareable(each, names));
    return out;
  }
  if (!value.is_map()) return value;
  Map out;
  for (const auto& [key, each] : value.as_map()) out.set(key, shareable(each, names));
  return out;
}

std::string topology() {
  loop::CommandOutput output("nvidia-smi topo -m");
  return output.finish(kTopologyS) ? std::string(output.text()) : "";
}

Value devices_now() {
  const machine::Nvml nvml;
  if (!nvml.refusal().empty()) return List{};
  List out;
  for (const machine::Gpu& gpu : nvml.gpus()) {
    out.push_back(Map{{"uuid", gpu.uuid},
                      {"name", gpu.name},
                      {"state", machine::describe_gpu_state(nvml.state(gpu.uuid))}});
  }
  return out;
}

}  // namespace

void write_report(const std::string& path, const std::vector<Check>& checks) {
  Value document = to_json(checks, true);
  document.as_map().set("made_at", time_text(now_ms()));
  document.as_map().set("environment", store::describe_environment());
  document.as_map().set("variables", store::recorded_variables());
  document.as_map().set("devices", devices_now());
  document.as_map().set("wiring", machine::describe_gpu_wiring(machine::Nvml()));
  document.as_map().set("topology", topology());
  const std::string text =
      cat(to_json(shareable(mask_secrets(document), private_names()), 2), "\n");
  NewFile file(path);
  file.write(text.data(), text.size());
  file.commit(NewFile::Durability::kUnsynced);
}

}  // namespace rtrain::cli
