#include "host/dash/api/paging.h"

#include <algorithm>

namespace rtrain::dash {

PageChoice::PageChoice(const ApiRequest& request)
    : offset(request.number("offset", 0)),
      limit(std::min(request.number("limit", kFewRows), kMostRows)) {}

Map page_of(const char* name, List rows, const PageChoice& page) {
  const auto total = static_cast<int64_t>(rows.size());
  const int64_t begin = std::min(page.offset, total);
  const int64_t end = std::min(begin + page.limit, total);
  List shown(std::make_move_iterator(rows.begin() + begin),
             std::make_move_iterator(rows.begin() + end));
  return page_with(name, std::move(shown), total, page);
}

Map page_with(const char* name, List rows, int64_t total, const PageChoice& page) {
  return {
      {name, std::move(rows)}, {"total", total}, {"offset", page.offset}, {"limit", page.limit}};
}

}  // namespace rtrain::dash
