// tests/bench/collectives/mpi.cpp: MPI_Allreduce of float32, in place.
//
//   mpirun -n RANKS collectives_mpi
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "tests/bench/collectives/timing.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const rtrain::CollectiveSize& size : rtrain::kCollectiveSizes) {
    std::vector<float> data(static_cast<size_t>(size.bytes) / sizeof(float));
    const auto count = static_cast<int>(data.size());
    const double seconds = rtrain::median_seconds(
        size.calls, [] { MPI_Barrier(MPI_COMM_WORLD); },
        [&] {
          MPI_Allreduce(MPI_IN_PLACE, data.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        });
    if (rank == 0) std::printf("%s %.9f\n", size.name, seconds);
  }
  MPI_Finalize();
}
