-- rtrain/results/checkpoint_upload_mode.lua: CheckpointUploadMode: how report() stores a checkpoint's files.

---How report() stores a checkpoint's files; the names work as strings too. Ray equivalent:
---ray.train.CheckpointUploadMode.
---@class CheckpointUploadMode
---@field SYNC string copied (a folder of train.tempdir is moved) before report() returns, which happens after the
---  commit
---@field ASYNC string copied or moved by another thread: report() returns at once
---@field NO_UPLOAD string the folder is already inside the run's folder and is moved to its place there
return require 'base.namespace'('train.CheckpointUploadMode', nil, {
  SYNC = 'SYNC',
  ASYNC = 'ASYNC',
  NO_UPLOAD = 'NO_UPLOAD',
})
