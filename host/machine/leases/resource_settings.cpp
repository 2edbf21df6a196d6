#include "host/machine/leases/resource_settings.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/files/new_file.h"
#include "host/base/text/text.h"
#include "host/machine/leases/runtime_folder.h"
#include "host/machine/machine.h"

namespace rtrain::machine {
namespace {

std::string settings_path() { return runtime_folder() + "/resources.json"; }

std::optional<int> cpus_setting() {
  const std::string path = settings_path();
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const std::string text(std::istreambuf_iterator<char>(file), {});
  try {
    const Value cpus = from_json(text)["cpus"];
    if (cpus.is_nil()) return std::nullopt;
    return static_cast<int>(cpus.as_int());
  } catch (const Error& e) {
    throw Error(Code::kEnvironment, cat(path, " is damaged (", e.message(),
                                        "): set it again with `rtrain resources --set cpus=N`"));
  }
}

}  // namespace

void set_cpus_setting(std::optional<int> cpus) {
  const std::string path = settings_path();
  if (!cpus) {
    if (unlink(path.c_str()) == 0 || errno == ENOENT) return;
    throw Error(Code::kEnvironment, cat("cannot remove ", path, ": ", std::strerror(errno)));
  }
  const std::string text = to_json(Map{{"cpus", *cpus}});
  NewFile file(path);
  file.write(text.data(), text.size());
  file.commit(NewFile::Durability::kUnsynced);
}

int offered_cores() { return cpus_setting().value_or(available_cores()); }

}  // namespace rtrain::machine
