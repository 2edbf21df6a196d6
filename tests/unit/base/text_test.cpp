#include "host/base/text/text.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

TEST(Text, NearestNameFindsATranspositionAndRefusesFarNames) {
  const std::vector<std::string> names = {"num_workers", "use_gpu", "resources_per_worker"};
  EXPECT_EQ(nearest_name("num_worker", names), "num_workers");
  EXPECT_EQ(nearest_name("use_gup", names), "use_gpu");
  EXPECT_EQ(nearest_name("batch_size", names), std::nullopt);
  EXPECT_EQ(nearest_name("FashionMnist", std::vector<std::string>{"FashionMNIST"}), "FashionMNIST");
}

TEST(Text, FormatDoubleReadsBackExactly) {
  for (const double number : {0.1, 1e300, -2.5, 1.0 / 3}) {
    EXPECT_EQ(std::stod(format_double(number)), number);
  }
}

}  // namespace
}  // namespace rtrain
