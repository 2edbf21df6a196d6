// host/engine/recording/vector_functions.h: functions of ATen's vectors, compiled for one set of
// instructions. A file that includes it is compiled with CPU_CAPABILITY, as ATen's own kernels, and
// includes nothing else: what it instantiates must not be in other files.
#pragma once

#include "host/engine/recording/row_functions.h"
#include "host/engine/recording/vector_math.h"
#include "host/engine/recording/vector_table.h"

namespace rtrain::engine::CPU_CAPABILITY {

inline constexpr VectorTable kTable = {
    .width = Vector::size(),
    .exp = &each<&exp>,
    .expm1 = &each<&expm1>,
    .log1p = &each<&log1p>,
    .sigmoid_divisor = &each<&sigmoid_divisor>,
    .gelu_tanh = &each<&gelu_tanh>,

    .maximum = &number_of_rows<&maximum_of>,
    .softmax = &softmax<&exp>,
    .log_softmax = &log_softmax<&exp>,
    .softmax_backward = &softmax_backward,
    .log_softmax_backward = &log_softmax_backward<&exp>,
    .class_backward = &class_backward<&exp>,

    .norm_dots = &norm_dots,
    .norm_pass = &norm_pass,
    .moments = &moments,
    .sum = &number_of_rows<&sum_of>,

    .fast_exp = &each<&fast_exp>,
    .fast_normal_share = &each<&fast_normal_share>,
    .fast_softmax = &softmax<&fast_exp>,
    .fast_log_softmax = &log_softmax<&fast_exp>,
    .fast_log_softmax_backward = &log_softmax_backward<&fast_exp>,
    .fast_class_backward = &class_backward<&fast_exp>};

}  // namespace rtrain::engine::CPU_CAPABILITY
