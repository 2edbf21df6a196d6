-- torch/onnx.lua: torch.onnx. Each file is read when its first name is used.

return require 'base.namespace'('torch.onnx', {
  files = {
    {'torch.onnx.export', 'export'},
  },
  absent = {
    load = 'read the file with onnxruntime or another program',
    is_in_onnx_export = 'a model is called as ever while it is exported',
    ExportOptions = 'give the options to torch.onnx.export',
    dynamo_export = 'it is torch.onnx.export',
  },
})
