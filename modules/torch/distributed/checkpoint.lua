-- torch/distributed/checkpoint.lua: torch.distributed.checkpoint: checkpoints that all ranks write and read together.
--
-- A checkpoint is a folder. Each rank writes a safetensors file, `shards-R-of-N.safetensors`, with its rows of divided
-- tensors and its part of the others; rank 0 writes `shards.json`, which says for each tensor its dtype, its shape and
-- which rows lie in which file, and has the values that are not tensors. Any number of ranks can load it.

local FOLDER = 'give the folder: {checkpoint_id = folder}'
local STATE, COPY = 'give the state_dict() of an object', 'async_save copies to memory'
local PLAN = 'tensors are found by their names'

return require 'base.namespace'('torch.distributed.checkpoint', {
  files = {
    {'torch.distributed.checkpoint.save', 'save', 'async_save'},
    {'torch.distributed.checkpoint.load', 'load'},
  },
  modules = {state_dict = 'torch.distributed.checkpoint.state_dict'},
  absent = {
    FileSystemReader = FOLDER, FileSystemWriter = FOLDER, StorageReader = FOLDER, StorageWriter = FOLDER,
    HuggingFaceStorageReader = FOLDER, HuggingFaceStorageWriter = FOLDER, QuantizedHuggingFaceStorageReader = FOLDER,
    DefaultLoadPlanner = PLAN, DefaultSavePlanner = PLAN, LoadPlanner = PLAN, SavePlanner = PLAN,
    LoadPlan = PLAN, SavePlan = PLAN, ReadItem = PLAN, WriteItem = PLAN,
    format_utils = 'rtrain checkpoint export RUN --safetensors -o FILE makes one file',
    save_state_dict = 'use save', load_state_dict = 'use load', stateful = STATE, Stateful = STATE, staging = COPY,
    DefaultStager = COPY,
    CheckpointException = "errors have the code 'checkpoint'", state_dict_saver = 'use save, async_save',
    state_dict_loader = 'use load',
  },
})
