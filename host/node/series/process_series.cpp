#include "host/node/series/process_series.h"

namespace rtrain::node {
namespace {

constexpr int kHost = 0;  // no process has pid 0
constexpr double kMsPerS = 1000;
constexpr double kPercent = 100;

using Values = std::vector<std::pair<const char*, std::optional<double>>>;

template <class T>
std::optional<double> number(const std::optional<T>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

std::optional<double> percent(std::optional<double> cores) {
  return cores ? std::optional(*cores * kPercent) : std::nullopt;
}

std::vector<store::SeriesChunk> chunks_of(OpenChunks& chunks, int rank, int64_t time_ms,
                                          const Values& values) {
  std::vector<store::SeriesChunk> out;
  for (const auto& [key, value] : values) {
    if (value) out.push_back(chunks.add(rank, key, time_ms, *value));
  }
  return out;
}

}  // namespace

std::optional<double> ProcessSeries::rate(int owner, const std::string& key,
                                          std::optional<double> count, int64_t time_ms) {
  if (!count) return std::nullopt;
  const auto [at, is_first] = before_.try_emplace({owner, key}, Count{*count, time_ms});
  const Count before = std::exchange(at->second, Count{*count, time_ms});
  // A network interface that disappears takes its bytes with it, so the count can decrease.
  if (is_first || time_ms <= before.time_ms || *count < before.value) return std::nullopt;
  return (*count - before.value) * kMsPerS / static_cast<double>(time_ms - before.time_ms);
}

std::vector<store::SeriesChunk> ProcessSeries::add_process(
    int rank, int pid, const machine::ProcessFacts& facts,
    const std::optional<machine::ProcessIo>& io, int64_t time_ms) {
  if (pid <= 0 || facts.state == '?' || facts.state == 'Z') return {};
  const auto read = io ? std::optional(static_cast<double>(io->read_bytes)) : std::nullopt;
  const auto written = io ? std::optional(static_cast<double>(io->written_bytes)) : std::nullopt;
  return chunks_of(chunks_, rank, time_ms,
                   {{"process/cpu_percent", percent(rate(pid, "cpu", facts.cpu_s, time_ms))},
                    {"process/memory_bytes", static_cast<double>(facts.memory_bytes)},
                    {"process/disk_read_bytes_per_s", rate(pid, "read", read, time_ms)},
                    {"process/disk_written_bytes_per_s", rate(pid, "written", written, time_ms)}});
}

std::vector<store::SeriesChunk> ProcessSeries::add_node(int first_rank,
                                                        const machine::NodeFacts& facts,
                                                        int64_t time_ms) {
  const auto grown = [&](const char* key, std::optional<double> count) {
    return rate(kHost, key, count, time_ms);
  };
  return chunks_of(
      chunks_, first_rank, time_ms,
      {{"host/cpu_percent", percent(grown("cpu", facts.cpu_s))},
       {"host/memory_used_bytes", number(facts.memory_used_bytes)},
       {"host/disk_read_bytes_per_s", grown("read", number(facts.disk_read_bytes))},
       {"host/disk_written_bytes_per_s", grown("written", number(facts.disk_written_bytes))},
       {"host/network_received_bytes_per_s",
        grown("received", number(facts.network_received_bytes))},
       {"host/network_sent_bytes_per_s", grown("sent", number(facts.network_sent_bytes))}});
}

}  // namespace rtrain::node
