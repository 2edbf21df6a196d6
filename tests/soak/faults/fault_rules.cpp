#include "tests/soak/faults/fault_rules.h"

#include <fcntl.h>

#include <cstdlib>
#include <cstring>

namespace faultio {

Rule rules[kMaxRules];
int rule_count = 0;
bool is_worker = false;
int64_t own_rank = -1;
uint64_t seed = 1;

int call_number(const char* name, size_t size) {
  for (int i = 0; i < kCallCount; ++i) {
    if (strlen(kCalls[i]) == size && memcmp(kCalls[i], name, size) == 0) return i;
  }
  return -1;
}

namespace {

std::atomic<int> ready{0};  // 1: the rules are being read, 2: they were read

[[noreturn]] void refuse(const char* text) {
  raw(SYS_write, 2, "RTRAIN_FAULTIO: ", 16);
  raw(SYS_write, 2, text, strlen(text));
  raw(SYS_write, 2, "\n", 1);
  raw(SYS_exit_group, 2);
  __builtin_unreachable();
}

// A part of the text, up to a separator.
struct Part {
  const char* text;
  size_t size;
  bool is(const char* word) const { return strlen(word) == size && memcmp(text, word, size) == 0; }
  bool starts(const char* word) const {
    return strlen(word) <= size && memcmp(text, word, strlen(word)) == 0;
  }
  int64_t number(size_t skip) const { return strtoll(text + skip, nullptr, 10); }
};

Part take(const char*& text, const char* separators) {
  const Part part{text, strcspn(text, separators)};
  text += part.size;
  return part;
}

void read_calls(Rule& rule, Part part) {
  if (part.is("*")) {
    rule.calls = ~(uint64_t{1} << call_number("clock_gettime", 13) |
                   uint64_t{1} << call_number("statfs", 6));
    return;
  }
  const char* text = part.text;
  while (true) {
    const Part name = take(text, "|:");
    const int number = call_number(name.text, name.size);
    if (number < 0) refuse("unknown call");
    rule.calls |= uint64_t{1} << number;
    if (*text != '|') return;
    ++text;
  }
}

void read_what(Rule& rule, Part part) {
  if (part.is("short")) {
    rule.what = What::kShort;
  } else if (part.starts("slow=")) {
    rule.what = What::kSlow;
    rule.argument = part.number(5);
  } else if (part.starts("sleep=")) {
    rule.what = What::kSleep;
    rule.argument = part.number(6);
  } else if (part.starts("jump=")) {
    rule.what = What::kJump;
    rule.argument = part.number(5);
  } else if (part.is("nfs")) {
    rule.what = What::kNfs;
  } else {
    for (int number = 1; number < 134 && rule.argument == 0; ++number) {
      const char* name = strerrorname_np(number);
      if (name != nullptr && part.is(name)) rule.argument = number;
    }
    if (rule.argument == 0) refuse("unknown fault");
  }
}

void read_filter(Rule& rule, Part part) {
  if (part.is("controller")) {
    rule.side = 1;
  } else if (part.is("worker")) {
    rule.side = 2;
  } else if (part.starts("rank=")) {
    rule.rank = part.number(5);
  } else if (part.starts("path=") && part.size - 5 < sizeof(rule.path)) {
    memcpy(rule.path, part.text + 5, part.size - 5);
  } else {
    refuse("unknown filter");
  }
}

void read_rule(const char*& text) {
  if (rule_count == kMaxRules) refuse("too many rules");
  Rule& rule = rules[rule_count++];
  read_calls(rule, take(text, ":,"));
  if (*text++ != ':') refuse("no count");
  const Part when = take(text, ":,");
  rule.n = when.number(0);
  const char last = when.text[when.size - 1];
  rule.when = last == '+' ? When::kFrom : last == '%' ? When::kPercent : When::kNth;
  if (*text++ != ':') refuse("no fault");
  read_what(rule, take(text, ":,"));
  while (*text == ':') {
    ++text;
    read_filter(rule, take(text, ":,"));
  }
  if (*text == ',') ++text;
}

// A worker has the command line "rtrain --worker RANK PARENT"; other processes are controllers.
void read_command_line() {
  char bytes[256] = "";
  const int fd = static_cast<int>(raw(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY, 0));
  const long size = raw(SYS_read, fd, bytes, sizeof(bytes) - 1);
  raw(SYS_close, fd);
  const char* second = bytes + strlen(bytes) + 1;
  if (size <= second - bytes || strcmp(second, "--worker") != 0) return;
  is_worker = true;
  own_rank = atoll(second + strlen(second) + 1);
}

bool is_our_program() {
  char path[512] = "";
  raw(SYS_readlink, "/proc/self/exe", path, sizeof(path) - 1);
  const char* name = strrchr(path, '/');
  return name != nullptr && (strcmp(name, "/rtrain") == 0 || strcmp(name, "/unit_tests") == 0);
}

void read_rules() {
  const char* text = getenv("RTRAIN_FAULTIO");
  if (text == nullptr || !is_our_program()) return;
  if (const char* chosen = getenv("RTRAIN_FAULTIO_SEED")) seed = strtoull(chosen, nullptr, 10);
  read_command_line();
  while (*text != '\0') read_rule(text);
}

}  // namespace

bool is_ready() {
  if (ready.load(std::memory_order_acquire) == 2) return rule_count > 0;
  int expected = 0;
  if (environ == nullptr || !ready.compare_exchange_strong(expected, 1)) return false;
  read_rules();
  ready.store(2, std::memory_order_release);
  return rule_count > 0;
}

}  // namespace faultio
