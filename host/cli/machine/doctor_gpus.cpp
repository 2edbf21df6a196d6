#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/machine/doctor_check.h"
#include "host/lua/libraries/cuda_loader.h"

namespace rtrain::cli {
namespace {

// All parts together end within two minutes, also where each takes its longest.
constexpr double kAllPartsS = 100;
constexpr double kPartS = 60;
constexpr double kLeastS = 5;
constexpr double kJudgeS = 10;

CheckStatus status_of(const std::string& name) {
  return name == "ok"        ? CheckStatus::kOk
         : name == "warning" ? CheckStatus::kWarning
                             : CheckStatus::kFailure;
}

std::string last_lines(const std::string& text) {
  constexpr size_t kLines = 60;
  const std::vector<std::string> lines = split(trim(text), '\n');
  const size_t first = lines.size() > kLines ? lines.size() - kLines : 0;
  return join(std::vector<std::string>(lines.begin() + static_cast<int64_t>(first), lines.end()),
              "\n");
}

// The parts of modules/rtrain/doctor/gpus.lua, one after another.
class GpuParts {
 public:
  explicit GpuParts(int devices) : devices_(devices) {
    std::filesystem::create_directories(notes());
  }

  std::vector<Check> run(const std::string& part) const {
    const double left_s = start_s_ + kAllPartsS - monotonic_s();
    const double timeout_s = std::clamp(left_s, kLeastS, kPartS);
    const OwnOutput output = runs_.run(call("run", part, ""), timeout_s);
    std::string said;
    if (!output.has_ended) {
      said = cat("it does not end within ", static_cast<int>(timeout_s), " s");
    } else if (output.exit_code != 0) {
      said = last_words(output.text);
    }
    // JSON has names for control characters that Lua lacks.
    std::ranges::replace_if(
        said, [](unsigned char c) { return c < ' '; }, ' ');
    std::vector<Check> checks = judge(part, said);
    for (Check& check : checks) {
      if (check.status == CheckStatus::kFailure) check.log = last_lines(output.text);
    }
    return checks;
  }

 private:
  std::string notes() const { return runs_.folder() + "/notes"; }

  std::string call(const char* function, const std::string& part, const std::string& said) const {
    return cat("require('rtrain.doctor.gpus').", function, "('", part, "', ", devices_, ", ",
               to_json(Value(notes())), ", ", to_json(Value(said)), ")");
  }

  std::vector<Check> judge(const std::string& part, const std::string& said) const {
    const OwnOutput output = runs_.run(call("judge", part, said), kJudgeS);
    if (!output.has_ended || output.exit_code != 0) {
      return {{part, CheckStatus::kFailure,
               cat("nothing is known of it: ", last_words(output.text)),
               "an error of rtrain: report it"}};
    }
    std::vector<Check> checks;
    const Value rows = from_json(trim(output.text));
    for (const Value& row : rows.as_list()) {
      Check& check =
          checks.emplace_back(Check{row["name"].as_string(), status_of(row["status"].as_string()),
                                    row["finding"].as_string(), row["mend"].as_string()});
      if (row["table"].is_list()) {
        for (const Value& line : row["table"].as_list()) check.table.push_back(line.as_string());
      }
      check.figures = row["figures"];
    }
    return checks;
  }

  const int devices_;
  const OwnRuns runs_;
  const double start_s_ = monotonic_s();
};

// Returns how many GPUs the request names: 0 and the reason if there are fewer.
struct GpuCount {
  int devices = 0;
  std::string reason;
};

GpuCount count_of(const std::string& request) {
  const machine::CudaSupport support = lua::usable_cuda();
  if (support.devices == 0) return {0, cat("none can be used: ", support.reason)};
  if (request == "all") return {support.devices, ""};
  int wanted = 0;
  std::from_chars(request.data(), request.data() + request.size(), wanted);
  if (wanted == 0) return {0, "--gpus 0 tests none"};
  if (wanted <= support.devices) return {wanted, ""};
  return {0, cat("--gpus ", wanted, " asks for more than the ", support.devices, " here")};
}

}  // namespace

void check_gpus(const std::string& request, const std::function<void(const Check&)>& add) {
  const GpuCount count = count_of(request);
  if (count.devices == 0) {
    add({"GPUs", CheckStatus::kFailure, count.reason,
         "`nvidia-smi` lists what the driver sees, `rtrain env` what LibTorch can use; "
         "`rtrain doc guide/gpus` says what a machine needs"});
    return;
  }
  const GpuParts parts(count.devices);
  for (const Check& check : parts.run("devices")) add(check);
  if (count.devices == 1) {
    add({"links", CheckStatus::kOk, "one device has none to others"});
  } else {
    const std::vector<Check> links = parts.run("links");
    for (const Check& check : links) add(check);
    if (links.front().status == CheckStatus::kFailure) {
      add({"heal", CheckStatus::kWarning, "not tested: it needs the links",
           "mend the links, then again"});
      return;
    }
  }
  for (const Check& check : parts.run("heal")) add(check);
}

}  // namespace rtrain::cli
