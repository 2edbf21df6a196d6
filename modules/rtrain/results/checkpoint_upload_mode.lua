-- rtrain/results/checkpoint_upload_mode.lua: CheckpointUploadMode: how report() takes a checkpoint's files.

---How report() takes a checkpoint's files; the names work as strings too. Ray equivalent: ray.train.CheckpointUploadMode.
---@class CheckpointUploadMode
---@field SYNC string copied (a folder of train.tempdir is moved) before report() returns, which is when it is committed
---@field ASYNC string the same on another thread: report() returns at once
---@field NO_UPLOAD string the folder lies inside the run's folder already and is moved to its place there
return require 'base.namespace'('train.CheckpointUploadMode', nil, {
  SYNC = 'SYNC',
  ASYNC = 'ASYNC',
  NO_UPLOAD = 'NO_UPLOAD',
})
