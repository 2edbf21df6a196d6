#include "host/cli/variables.h"

#include <array>

namespace rtrain {
namespace {

constexpr std::string_view kFiles = "Files and libraries";
constexpr std::string_view kTimes = "Times";
constexpr std::string_view kRuns = "Runs";
constexpr std::string_view kOthers = "Of other programs";
constexpr std::string_view kDebug = "Debugging and tests";

constexpr std::array kVariables = {
    Variable{kFiles, "RTRAIN_STORAGE", "~/rtrain_results", "folder of the store and the runs"},
    Variable{kFiles, "RTRAIN_DATA", "", "folder of datasets such as MNIST and CIFAR-10"},
    Variable{kFiles, "RTRAIN_RUNTIME_DIR", "/tmp/rtrain-<uid>",
             "folder of sockets and of the leases of cores and GPUs"},
    Variable{kFiles, "RTRAIN_LIBTORCH", "searched for", "folder of LibTorch, instead of a search"},
    Variable{kFiles, "RTRAIN_LIBTORCH_ANY", "", "1 accepts a LibTorch build that is not tested"},
    Variable{kFiles, "RTRAIN_ARROW", "searched for",
             "folder of libarrow and libparquet, instead of a search"},
    Variable{kRuns, "RTRAIN_CALLBACKS", "",
             "Lua files, separated by commas, that return callbacks for every run"},
    Variable{kRuns, "RTRAIN_CGROUP", "a cgroup where allowed",
             "off: workers are found by a mark in their environment instead"},
    Variable{kRuns, "RTRAIN_GPU_SAMPLE_S", "5", "seconds between two samples of the GPUs; 0: none"},
    Variable{kTimes, "RTRAIN_HANG_THRESHOLD_S", "FailureConfig.hang_threshold_s, 600",
             "longest time before a rank without progress is named"},
    Variable{kTimes, "RTRAIN_BUSY_THRESHOLD_S", "FailureConfig.busy_threshold_s, 600",
             "work without operator, batch, collective or report ends the attempt"},
    Variable{kTimes, "RTRAIN_WORKER_HEALTH_CHECK_TIMEOUT_S", "600",
             "a worker whose control thread is silent is lost"},
    Variable{kTimes, "RTRAIN_COLLECTIVE_TIMEOUT_S", "TorchConfig.timeout_s, 1800",
             "deadline of the collectives of train.collective"},
    Variable{kTimes, "RTRAIN_COLLECTIVE_WARN_INTERVAL_S", "60",
             "between warnings about ranks that a collective waits for"},
    Variable{kTimes, "RTRAIN_REPORT_WARN_INTERVAL_S", "60",
             "between warnings about ranks that a checkpoint waits for"},
    Variable{kTimes, "RTRAIN_RESOURCE_NOTICE_S", "30",
             "between lines about cores and GPUs that a run waits for"},
    Variable{kTimes, "RTRAIN_CALLBACK_TIMEOUT_S", "60",
             "how long callbacks may delay a new attempt"},
    Variable{kTimes, "RTRAIN_JOIN_TIMEOUT_S", "60",
             "how long processes of torchrun wait for each other"},
    Variable{kTimes, "RTRAIN_STORE_PATIENCE_S", "60",
             "how long writes wait for a full disk or a locked store"},
    Variable{kOthers, "CUDA_VISIBLE_DEVICES", "all devices", "GPUs that a run may use"},
    Variable{kOthers, "OMP_NUM_THREADS", "cores ÷ workers", "threads of each worker"},
    Variable{kOthers, "PYTORCH_ALLOC_CONF", "LibTorch's", "settings of the CUDA allocator"},
    Variable{kOthers, "PYTORCH_CUDA_ALLOC_CONF", "LibTorch's", "older name of the one above"},
    Variable{kOthers, "VIRTUAL_ENV", "", "Python environment in which libraries are searched"},
    Variable{kOthers, "CONDA_PREFIX", "", "conda environment in which libraries are searched"},
    Variable{kOthers, "HOME", "", "parent of ~/rtrain_results, and a place of Python packages"},
    Variable{kOthers, "TMPDIR", "/tmp", "parent of temporary folders"},
    Variable{kOthers, "LUA_PATH", "LuaJIT's", "where scripts find modules of their own"},
    Variable{kOthers, "NO_COLOR", "", "set: output has no colours"},
    Variable{kOthers, "TERM", "", "dumb: the display has no colours"},
    Variable{kOthers, "COLUMNS", "any width", "width of listings in a pipe"},
    Variable{kOthers, "RANK", "", "rank of a process that torchrun started"},
    Variable{kOthers, "LOCAL_RANK", "", "its rank on this host"},
    Variable{kOthers, "WORLD_SIZE", "", "number of processes that torchrun started"},
    Variable{kOthers, "LOCAL_WORLD_SIZE", "", "number of them on this host"},
    Variable{kOthers, "MASTER_ADDR", "", "identifies torchrun's job, with the next four"},
    Variable{kOthers, "MASTER_PORT", "", "see MASTER_ADDR"},
    Variable{kOthers, "TORCHELASTIC_RUN_ID", "", "see MASTER_ADDR"},
    Variable{kOthers, "TORCHELASTIC_RESTART_COUNT", "", "see MASTER_ADDR"},
    Variable{kDebug, "RTRAIN_PATH", "", "folder of Lua modules, instead of the embedded ones"},
    Variable{kDebug, "RTRAIN_ENGINE", "the embedded one", "file of librtrain_engine.so"},
    Variable{kDebug, "RTRAIN_ARROW_MODULE", "the embedded one", "file of librtrain_arrow.so"},
    Variable{kDebug, "RTRAIN_CUDA_MODULE", "the embedded one", "file of librtrain_cuda.so"},
    Variable{kDebug, "RTRAIN_FAULT", "", "point:nth:action, where a process fails on purpose"},
    Variable{kDebug, "RTRAIN_WORKER_OF", "set by rtrain", "marks the processes of a run"},
};

}  // namespace

std::span<const Variable> variables() { return kVariables; }

}  // namespace rtrain
