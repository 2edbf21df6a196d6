#include "host/cli/screen/line_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "host/base/error.h"
#include "host/base/files/fd.h"
#include "host/base/files/new_file.h"
#include "host/base/text/text.h"
#include "host/store/files/folder_copy.h"

namespace rtrain::cli {
namespace {

constexpr size_t kMostLines = 5000;

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  const std::string text = cat(join(lines, "\n"), "\n");
  NewFile file(path, NewFile::Readers::kUserAlone);
  file.write(text.data(), text.size());
  file.commit(NewFile::Durability::kUnsynced);
}

}  // namespace

LineHistory::LineHistory(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  try {
    store::make_user_folders(path_.substr(0, path_.rfind('/')));
    std::ifstream in(path_, std::ios::binary);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
    if (lines_.size() <= 2 * kMostLines) return;
    lines_.erase(lines_.begin(), lines_.end() - kMostLines);
    write_lines(path_, lines_);
  } catch (const Error&) {
    path_.clear();
  }
}

void LineHistory::add(const std::string& line) {
  if (line.empty() || line.front() == ' ' || (!lines_.empty() && lines_.back() == line)) return;
  lines_.push_back(line);
  if (path_.empty()) return;
  const Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const std::string text = line + "\n";
  // Ignores errors: a lost line can be typed again.
  if (file.is_open()) {
    [[maybe_unused]] const auto written = ::write(file.get(), text.data(), text.size());
  }
}

}  // namespace rtrain::cli
