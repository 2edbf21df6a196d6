#include "host/store/series/series_pyramid.h"

#include <algorithm>
#include <string>
#include <utility>

#include "host/store/series/series_chunk.h"

namespace rtrain::store {
namespace {

constexpr int64_t kFanOut = 8;

bool has_table(Database& database) {
  return database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'series_summaries'").next();
}

}  // namespace

PyramidWriter::PyramidWriter(Database& database)
    : put_(database.prepare(
          "INSERT OR REPLACE INTO series_summaries(series_id, level, number, chunks, points, min, "
          "max, sum, data, parts) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")),
      below_(database.prepare(
          "SELECT chunks, data FROM series_summaries WHERE series_id = ? AND level "
          "= ? AND number BETWEEN ? AND ? ORDER BY number")) {}

void PyramidWriter::add(int64_t series_id, int64_t number, std::string_view parts) {
  put(series_id, 0, number, 1, total(decode_summaries(parts)), Blob{parts});
  // Ends at a level with a single summary.
  for (int64_t level = 1; number > 0; ++level) {
    number /= kFanOut;
    below_.add(series_id).add(level - 1).add(number * kFanOut).add((number + 1) * kFanOut - 1);
    int64_t chunks = 0;
    SeriesSummary all;
    while (below_.next()) {
      chunks += below_.integer(0);
      all.add(total(decode_summaries(below_.blob(1))));
    }
    below_.reset();
    put(series_id, level, number, chunks, all, std::nullopt);
  }
}

void PyramidWriter::put(int64_t series_id, int64_t level, int64_t number, int64_t chunks,
                        const SeriesSummary& all, std::optional<Blob> parts) {
  put_.add(series_id).add(level).add(number).add(chunks).add(all.count);
  if (all.finite() > 0) {
    put_.add(all.least.value).add(all.most.value).add(all.sum);
  } else {
    put_.add(nullptr).add(nullptr).add(nullptr);
  }
  const std::string data = encode_summaries({&all, 1});
  put_.add(Blob{data}).add(parts).run();
}

SeriesPyramid::SeriesPyramid(Database& database, int64_t series_id)
    : database_(&database), series_id_(series_id) {
  if (has_table(database)) {
    // One statement, because a live run may write between two.
    Statement top = database.prepare(
        "SELECT level, chunks = (SELECT count(*) FROM series_chunks WHERE series_id = ?) FROM "
        "series_summaries WHERE series_id = ? ORDER BY level DESC LIMIT 1");
    top.add(series_id).add(series_id);
    const bool is_complete = top.next() && top.integer(1) != 0;
    if (is_complete) top_ = nodes(top.integer(0), 0, 0);
  }
  if (top_.empty()) top_ = nodes_of_points();
  for (const Node& node : top_) all_.add(node.all);
}

std::vector<SeriesPyramid::Node> SeriesPyramid::nodes(int64_t level, int64_t first, int64_t last) {
  Statement query = database_->prepare(
      "SELECT number, data, parts FROM series_summaries WHERE series_id = ? AND level = ? AND "
      "number "
      "BETWEEN ? AND ? ORDER BY number");
  query.add(series_id_).add(level).add(first).add(last);
  std::vector<Node> out;
  while (query.next()) {
    out.push_back({level, query.integer(0), total(decode_summaries(query.blob(1))), query.blob(2)});
  }
  return out;
}

std::vector<SeriesPyramid::Node> SeriesPyramid::nodes_of_points() {
  Statement query = database_->prepare(
      "SELECT number, data FROM series_chunks WHERE series_id = ? ORDER BY number");
  query.add(series_id_);
  std::vector<Node> out;
  while (query.next()) {
    const std::vector<SeriesSummary> parts = summarize(decode_series(query.blob(1)));
    out.push_back({0, query.integer(0), total(parts), encode_summaries(parts)});
  }
  return out;
}

void SeriesPyramid::visit(const Visitor& visitor) {
  std::vector<Node> nodes = top_;
  for (int64_t level = nodes.empty() ? 0 : nodes.front().level; level > 0; --level) {
    nodes = descended(std::move(nodes), level, visitor);
  }
  for (const Node& node : nodes) {
    const Look look = node.level > 0 ? Look::kWhole : visitor.look(node.all);
    if (look == Look::kWhole) visitor.on_whole(node.all);
    if (look == Look::kInside) visit_chunk(node, visitor);
  }
}

// Replaces nodes of that level: skipped, kept, or replaced by the nodes below. Reads the children
// of consecutive nodes together.
std::vector<SeriesPyramid::Node> SeriesPyramid::descended(std::vector<Node> nodes, int64_t level,
                                                          const Visitor& visitor) {
  std::vector<Node> out;
  int64_t first = 0;  // the first child to read
  int64_t end = 0;
  const auto read = [&] {
    if (first == end) return;
    for (Node& below : this->nodes(level - 1, first * kFanOut, end * kFanOut - 1)) {
      out.push_back(std::move(below));
    }
    first = end = 0;
  };
  for (Node& node : nodes) {
    const Look look = node.level != level ? Look::kWhole : visitor.look(node.all);
    if (look == Look::kInside && first != end && node.number == end) {
      ++end;
      continue;
    }
    read();
    if (look == Look::kInside) {
      first = node.number;
      end = first + 1;
    } else if (look == Look::kWhole) {
      out.push_back(std::move(node));
    }
  }
  read();
  return out;
}

void SeriesPyramid::visit_chunk(const Node& chunk, const Visitor& visitor) {
  std::vector<SeriesPoint> points;  // unpacked when first needed
  size_t begin = 0;
  for (const SeriesSummary& part : decode_summaries(chunk.parts)) {
    const Look look = visitor.look(part);
    if (look == Look::kWhole) visitor.on_whole(part);
    if (look == Look::kInside && points.empty()) {
      Statement query =
          database_->prepare("SELECT data FROM series_chunks WHERE series_id = ? AND number = ?");
      query.add(series_id_).add(chunk.number);
      if (query.next()) points = decode_series(query.blob(0));
    }
    const size_t end = begin + static_cast<size_t>(part.count);
    if (look == Look::kInside) {
      for (size_t i = begin; i < std::min(end, points.size()); ++i) visitor.on_point(points[i]);
    }
    begin = end;
  }
}

}  // namespace rtrain::store
