#include "host/engine/distributed/gloo/cuttable_gloo.h"

namespace rtrain::engine {

// Gloo composes some collectives of others. These have no work of their own to cut: they end when
// their parts end.
GlooWorkPtr CuttableGloo::collective(const GlooWorkPtr& inner) {
  if (dynamic_cast<c10d::ProcessGroupGloo::AsyncWork*>(inner.get()) == nullptr) return inner;
  return GlooWork::begin(connections_, inner);
}

GlooWorkPtr CuttableGloo::message(const GlooWorkPtr& inner) {
  return c10::make_intrusive<GlooMessage>(connections_, inner);
}

GlooWorkPtr CuttableGloo::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  return collective(ProcessGroupGloo::broadcast(tensors, options));
}

GlooWorkPtr CuttableGloo::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  return collective(ProcessGroupGloo::allreduce(tensors, options));
}

GlooWorkPtr CuttableGloo::allreduce_sparse(Tensors& tensors,
                                           const c10d::AllreduceOptions& options) {
  return collective(ProcessGroupGloo::allreduce_sparse(tensors, options));
}

GlooWorkPtr CuttableGloo::allreduce_coalesced(Tensors& tensors,
                                              const c10d::AllreduceCoalescedOptions& options) {
  return collective(ProcessGroupGloo::allreduce_coalesced(tensors, options));
}

GlooWorkPtr CuttableGloo::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  return collective(ProcessGroupGloo::reduce(tensors, options));
}

GlooWorkPtr CuttableGloo::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                    const c10d::AllgatherOptions& options) {
  return collective(ProcessGroupGloo::allgather(outputs, inputs, options));
}

GlooWorkPtr CuttableGloo::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) {
  return collective(ProcessGroupGloo::allgather_coalesced(outputs, inputs, options));
}

GlooWorkPtr CuttableGloo::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                 const c10d::GatherOptions& options) {
  return collective(ProcessGroupGloo::gather(outputs, inputs, options));
}

GlooWorkPtr CuttableGloo::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                  const c10d::ScatterOptions& options) {
  return collective(ProcessGroupGloo::scatter(outputs, inputs, options));
}

GlooWorkPtr CuttableGloo::all_to_all_single(at::Tensor& output, at::Tensor& input,
                                            std::vector<int64_t>& output_sizes,
                                            std::vector<int64_t>& input_sizes,
                                            const c10d::AllToAllOptions& options) {
  return collective(Named::all_to_all_single(output, input, output_sizes, input_sizes, options));
}

GlooWorkPtr CuttableGloo::barrier(const c10d::BarrierOptions& options) {
  return collective(ProcessGroupGloo::barrier(options));
}

GlooWorkPtr CuttableGloo::send(Tensors& tensors, int to, int tag) {
  return message(ProcessGroupGloo::send(tensors, to, tag));
}

GlooWorkPtr CuttableGloo::recv(Tensors& tensors, int from, int tag) {
  return message(ProcessGroupGloo::recv(tensors, from, tag));
}

GlooWorkPtr CuttableGloo::recvAnysource(Tensors& tensors, int tag) {
  return message(ProcessGroupGloo::recvAnysource(tensors, tag));
}

}  // namespace rtrain::engine
