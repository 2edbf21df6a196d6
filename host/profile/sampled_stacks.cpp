#include "host/profile/sampled_stacks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::profile {
namespace {

constexpr std::string_view kModulePrefix = "rtrain://";
constexpr const char* kSchema = "https://www.speedscope.app/file-format-schema.json";

StackFrame frame_of(const Value& value) {
  return {.name = value["name"].as_string(),
          .file = value["file"].string_or(""),
          .line = value["line"].int_or(0)};
}

ThreadStacks thread_of(const Value& profile, size_t num_frames) {
  ThreadStacks out;
  out.name = profile["name"].as_string();
  const List& samples = profile["samples"].as_list();
  const List& weights = profile["weights"].as_list();
  if (samples.size() != weights.size()) {
    throw Error(Code::kArgument, cat("thread ", out.name, " has ", samples.size(), " samples and ",
                                     weights.size(), " weights"));
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    WeightedStack stack{.seconds = weights[i].as_float()};
    for (const Value& place : samples[i].as_list()) {
      const int64_t number = place.as_int();
      if (number < 0 || number >= static_cast<int64_t>(num_frames)) {
        throw Error(Code::kArgument, cat("there is no frame ", number));
      }
      stack.frames.push_back(static_cast<int>(number));
    }
    out.stacks.push_back(std::move(stack));
  }
  return out;
}

bool is_script(const StackFrame& frame) { return !frame.file.starts_with(kModulePrefix); }

}  // namespace

std::string StackFrame::text() const {
  if (line == 0) return name;
  const std::string place = cat(file, ":", line);
  return name.empty() ? place : cat(name, " (", place, ")");
}

double SampledStacks::seconds() const {
  double out = 0;
  for (const ThreadStacks& thread : threads) {
    for (const WeightedStack& stack : thread.stacks) out += stack.seconds;
  }
  return out;
}

double SampledStacks::starved_s() const {
  double out = 0;
  for (const ThreadStacks& thread : threads) {
    for (const WeightedStack& stack : thread.stacks) {
      const bool is_starved = stack.frames.size() == 1 &&
                              frames[static_cast<size_t>(stack.frames[0])].name == kNoProcessor;
      if (is_starved) out += stack.seconds;
    }
  }
  return out;
}

void SampledStacks::add(const SampledStacks& other) {
  const int first = static_cast<int>(frames.size());
  frames.insert(frames.end(), other.frames.begin(), other.frames.end());
  for (ThreadStacks thread : other.threads) {
    thread.name = cat(other.name, ": ", thread.name);
    for (WeightedStack& stack : thread.stacks) {
      for (int& frame : stack.frames) frame += first;
    }
    threads.push_back(std::move(thread));
  }
}

Value to_speedscope(const SampledStacks& stacks) {
  List frames;
  for (const StackFrame& frame : stacks.frames) {
    Map entry{{"name", frame.line == 0 ? frame.name : frame.text()}};
    if (!frame.file.empty()) entry.set("file", frame.file);
    if (frame.line > 0) entry.set("line", frame.line);
    frames.emplace_back(std::move(entry));
  }
  List profiles;
  for (const ThreadStacks& thread : stacks.threads) {
    List samples;
    List weights;
    double end = 0;
    for (const WeightedStack& stack : thread.stacks) {
      samples.emplace_back(List(stack.frames.begin(), stack.frames.end()));
      weights.emplace_back(stack.seconds);
      end += stack.seconds;
    }
    profiles.emplace_back(Map{{"type", "sampled"},
                              {"name", thread.name},
                              {"unit", "seconds"},
                              {"startValue", 0},
                              {"endValue", end},
                              {"samples", std::move(samples)},
                              {"weights", std::move(weights)}});
  }
  return Map{{"$schema", kSchema},
             {"name", stacks.name},
             {"exporter", "rtrain"},
             {"activeProfileIndex", 0},
             {"shared", Map{{"frames", std::move(frames)}}},
             {"profiles", std::move(profiles)}};
}

SampledStacks from_speedscope(const Value& document) {
  SampledStacks out;
  out.name = document["name"].string_or("");
  for (const Value& frame : document["shared"]["frames"].as_list()) {
    StackFrame read = frame_of(frame);
    // In the document the name also contains the place, which has fields of its own.
    const std::string place = cat(" (", read.file, ":", read.line, ")");
    if (read.line > 0) {
      read.name =
          read.name.ends_with(place) ? read.name.substr(0, read.name.size() - place.size()) : "";
    }
    out.frames.push_back(std::move(read));
  }
  for (const Value& profile : document["profiles"].as_list()) {
    out.threads.push_back(thread_of(profile, out.frames.size()));
  }
  return out;
}

std::string to_folded(const SampledStacks& stacks) {
  std::string out;
  for (const ThreadStacks& thread : stacks.threads) {
    for (const WeightedStack& stack : thread.stacks) {
      const auto ms = std::lround(stack.seconds * 1000);
      if (ms == 0) continue;
      out += thread.name;
      for (const int frame : stack.frames) {
        std::string text = stacks.frames[static_cast<size_t>(frame)].text();
        std::ranges::replace(text, ';', ':');
        out += cat(";", text);
      }
      out += cat(" ", ms, "\n");
    }
  }
  return out;
}

std::vector<LineTime> hottest_lines(const SampledStacks& stacks) {
  std::map<std::pair<std::string, int64_t>, LineTime> lines;
  const auto line_of = [&](const StackFrame& frame) -> LineTime& {
    LineTime& line = lines[{frame.file, frame.line}];
    if (line.frame.name.empty()) line.frame = frame;
    return line;
  };
  for (const ThreadStacks& thread : stacks.threads) {
    for (const WeightedStack& stack : thread.stacks) {
      const StackFrame* charged = nullptr;
      bool is_waiting = false;
      std::set<LineTime*> counted;
      for (auto place = stack.frames.rbegin(); place != stack.frames.rend(); ++place) {
        const StackFrame& frame = stacks.frames[static_cast<size_t>(*place)];
        if (frame.name == kWaiting && frame.line == 0) is_waiting = true;
        if (frame.line == 0) continue;
        if (counted.insert(&line_of(frame)).second) line_of(frame).total_s += stack.seconds;
        if (charged == nullptr || (!is_script(*charged) && is_script(frame))) charged = &frame;
      }
      if (charged == nullptr) continue;
      line_of(*charged).self_s += stack.seconds;
      if (is_waiting) line_of(*charged).waiting_s += stack.seconds;
    }
  }
  std::vector<LineTime> out;
  for (auto& [key, line] : lines) out.push_back(std::move(line));
  std::ranges::stable_sort(out, [](const LineTime& a, const LineTime& b) {
    return std::tie(a.self_s, a.total_s) > std::tie(b.self_s, b.total_s);
  });
  return out;
}

}  // namespace rtrain::profile
