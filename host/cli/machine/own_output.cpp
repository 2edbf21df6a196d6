#include <charconv>
#include <filesystem>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/shell_word.h"
#include "host/base/text/text.h"
#include "host/cli/machine/doctor_check.h"
#include "host/loop/processes/command_output.h"
#include "host/store/files/folder_copy.h"

namespace rtrain::cli {

OwnOutput run_own(const std::string& code, double timeout_s, const std::string& environment) {
  constexpr std::string_view kEnd = "\nexit code ";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const double start_s = monotonic_s();
  loop::CommandOutput command(cat(environment, " ", shell_word(self), " exec -e ", shell_word(code),
                                  " 2>&1; code=$?; echo; echo exit code $code"));
  OwnOutput out;
  out.has_ended = command.finish(timeout_s);
  out.seconds = monotonic_s() - start_s;
  out.text = command.text();
  const size_t end = out.text.rfind(kEnd);
  if (!out.has_ended || end == std::string::npos) return out;
  const std::string_view digits = std::string_view(out.text).substr(end + kEnd.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), out.exit_code);
  out.text.resize(end);
  return out;
}

// A short path, because paths of sockets are limited.
OwnRuns::OwnRuns() : folder_(store::make_temp_folder("rtrain-doctor-")) {}

OwnRuns::~OwnRuns() {
  try {
    store::remove_tree(folder_);
  } catch (const Error&) {
    // A process that was killed may still hold a file there.
  }
}

OwnOutput OwnRuns::run(const std::string& code, double timeout_s) const {
  return run_own(code, timeout_s,
                 cat("RTRAIN_STORAGE=", shell_word(folder_ + "/storage"), " RTRAIN_RUNTIME_DIR=",
                     shell_word(folder_ + "/runtime"), " RTRAIN_CALLBACKS= RTRAIN_LAUNCHER=local"));
}

std::string last_words(const std::string& text) {
  constexpr std::string_view kError = "rtrain: ";
  const std::vector<std::string> lines = split(trim(text), '\n');
  for (const std::string& line : lines) {
    if (line.starts_with(kError)) return line.substr(kError.size());
  }
  return lines.back();
}

}  // namespace rtrain::cli
