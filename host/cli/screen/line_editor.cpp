#include "host/cli/screen/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/text_width.h"
#include "host/cli/screen/layout.h"
#include "host/machine/terminal_size.h"

namespace rtrain::cli {

struct LineEditor::Parts {
  EditLine* editor = nullptr;
  History* history = nullptr;
  HistEvent event = {};
  Complete complete;
  std::string prompt;
  std::mbstate_t decoding = {};
};

namespace {

// Signals that arrived while a line was read. The handler also writes a byte to the pipe, which
// ends the wait for a key even if another thread got the signal.
volatile sig_atomic_t is_interrupted = 0;
volatile sig_atomic_t is_resized = 0;
volatile sig_atomic_t is_continued = 0;
std::array<int, 2> noted_pipe = {-1, -1};

void note_signal(int number) {
  const int error = errno;
  if (number == SIGINT) is_interrupted = 1;
  if (number == SIGWINCH) is_resized = 1;
  if (number == SIGCONT) is_continued = 1;
  [[maybe_unused]] const auto written = ::write(noted_pipe[1], "", 1);
  errno = error;
}

class NotedSignals {
 public:
  NotedSignals() {
    if (::pipe2(noted_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      throw Error(Code::kEnvironment, cat("cannot make a pipe: ", std::strerror(errno)));
    }
    is_interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = &note_signal;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < kNumbers.size(); ++i) sigaction(kNumbers[i], &action, &before_[i]);
  }
  ~NotedSignals() {
    for (size_t i = 0; i < kNumbers.size(); ++i) sigaction(kNumbers[i], &before_[i], nullptr);
    for (int& fd : noted_pipe) ::close(std::exchange(fd, -1));
  }
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

 private:
  static constexpr std::array<int, 3> kNumbers = {SIGINT, SIGWINCH, SIGCONT};
  std::array<struct sigaction, 3> before_ = {};
};

LineEditor::Parts& parts_of(EditLine* editor) {
  void* parts = nullptr;
  el_get(editor, EL_CLIENTDATA, &parts);
  return *static_cast<LineEditor::Parts*>(parts);
}

char* prompt_of(EditLine* editor) { return parts_of(editor).prompt.data(); }

// Returns false after Ctrl-C.
bool go_on_after_signal(EditLine* editor) {
  if (is_interrupted != 0) return false;
  if (std::exchange(is_resized, 0) != 0) el_resize(editor);
  if (std::exchange(is_continued, 0) != 0) {
    el_set(editor, EL_PREP_TERM, 1);
    el_set(editor, EL_REFRESH);
  }
  return true;
}

// Waits until a key is pressed. Returns false after Ctrl-C.
bool wait_for_key(EditLine* editor) {
  for (;;) {
    std::array<pollfd, 2> waits = {{{STDIN_FILENO, POLLIN, 0}, {noted_pipe[0], POLLIN, 0}}};
    const int count = ::poll(waits.data(), waits.size(), -1);
    if (count < 0 && errno != EINTR) return true;  // read() then reports the error
    if (count <= 0) continue;
    if (waits[1].revents == 0) return true;
    char noted = 0;
    while (::read(noted_pipe[0], &noted, 1) == 1) continue;
    if (!go_on_after_signal(editor)) return false;
  }
}

// Reads one character. Returns 1, 0 at the end of the input, or -1 after Ctrl-C.
int read_key(EditLine* editor, wchar_t* to) {
  std::mbstate_t& state = parts_of(editor).decoding;
  for (;;) {
    if (!wait_for_key(editor)) return errno = EINTR, -1;
    char byte = 0;
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count <= 0) return static_cast<int>(count);
    const size_t length = std::mbrtowc(to, &byte, 1, &state);
    if (length == static_cast<size_t>(-2)) continue;
    if (length == static_cast<size_t>(-1)) {
      state = {};
      continue;
    }
    return 1;
  }
}

// Prints the choices in columns, as ls does.
void print_choices(const std::vector<std::string>& choices) {
  constexpr size_t kMost = 200;
  constexpr size_t kDefaultColumns = 80;
  const size_t count = std::min(choices.size(), kMost);
  size_t width = 0;
  for (size_t i = 0; i < count; ++i) width = std::max(width, text_width(choices[i]) + 2);
  const auto size = machine::terminal_size(STDOUT_FILENO);
  const size_t columns = std::max<size_t>(1, (size ? size->columns : kDefaultColumns) / width);
  const size_t rows = (count + columns - 1) / columns;
  std::string text = "\n";
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = row; i < count; i += rows) {
      text += choices[i];
      if (i + rows < count) text.append(width - text_width(choices[i]), ' ');
    }
    text += "\n";
  }
  if (choices.size() > kMost) text += cat("… ", choices.size() - kMost, " more\n");
  std::fputs(text.c_str(), stdout);
}

unsigned char insert_text(EditLine* editor, const std::string& text) {
  return el_insertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char complete_line(EditLine* editor, int) {
  const LineInfo* line = el_line(editor);
  const std::string before(line->buffer, line->cursor);
  // A tab at the beginning of a line indents, in pasted text too.
  if (before.find_first_not_of(" \t") == std::string::npos) return insert_text(editor, "  ");
  try {
    const LineCompletion found = parts_of(editor).complete(before);
    if (!found.insert.empty()) return insert_text(editor, found.insert);
    if (found.choices.size() < 2) return CC_REFRESH_BEEP;
    print_choices(found.choices);
    return CC_REDISPLAY;
  } catch (const std::exception&) {
    return CC_REFRESH_BEEP;
  }
}

// Makes libc use UTF-8 whatever the locale's language.
void use_characters() {
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
}

void bind_keys(EditLine* editor) {
  el_set(editor, EL_EDITOR, "emacs");
  el_source(editor, nullptr);
  constexpr std::array<std::array<const char*, 2>, 7> kKeys = {{{"^R", "em-inc-search-prev"},
                                                                {"\\e[3~", "ed-delete-next-char"},
                                                                {"\\e[H", "ed-move-to-beg"},
                                                                {"\\e[F", "ed-move-to-end"},
                                                                {"\\e[1;5C", "em-next-word"},
                                                                {"\\e[1;5D", "ed-prev-word"},
                                                                {"^I", "rtrain-complete"}}};
  el_set(editor, EL_ADDFN, "rtrain-complete", "completes names and paths", &complete_line);
  for (const auto& [key, function] : kKeys) el_set(editor, EL_BIND, key, function, nullptr);
}

}  // namespace

LineEditor::LineEditor(const std::vector<std::string>& history, Complete complete)
    : parts_(std::make_unique<Parts>()) {
  use_characters();
  parts_->complete = std::move(complete);
  parts_->editor = el_init("rtrain", stdin, stdout, stderr);
  parts_->history = history_init();
  if (parts_->editor == nullptr || parts_->history == nullptr) {
    throw Error(Code::kEnvironment, "cannot read lines from this terminal");
  }
  constexpr int kMostLines = 10000;
  ::history(parts_->history, &parts_->event, H_SETSIZE, kMostLines);
  EditLine* editor = parts_->editor;
  el_set(editor, EL_CLIENTDATA, parts_.get());
  el_set(editor, EL_PROMPT, &prompt_of);
  el_set(editor, EL_GETCFN, &read_key);
  el_set(editor, EL_HIST, &::history, parts_->history);
  bind_keys(editor);
  for (const std::string& line : history) add_history(line);
}

LineEditor::~LineEditor() {
  if (parts_->editor != nullptr) el_end(parts_->editor);
  if (parts_->history != nullptr) history_end(parts_->history);
}

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
  const NotedSignals signals;
  parts_->prompt = prompt;
  // libedit would do this after the prompt, and a Ctrl-D typed before would be lost.
  el_set(parts_->editor, EL_PREP_TERM, 1);
  int count = 0;
  const char* text = el_gets(parts_->editor, &count);
  if (text == nullptr && is_interrupted != 0) {
    std::fputs("\n", stdout);
    el_reset(parts_->editor);
    return Outcome::kInterrupted;
  }
  if (text == nullptr || count <= 0) return Outcome::kEnd;
  line.assign(text, static_cast<size_t>(count));
  if (line.ends_with('\n')) line.pop_back();
  return Outcome::kLine;
}

void LineEditor::add_history(const std::string& line) {
  ::history(parts_->history, &parts_->event, H_ENTER, line.c_str());
}

}  // namespace rtrain::cli
