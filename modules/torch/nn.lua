-- torch/nn.lua: layers, containers and losses. Each file is read when its first class is used.

return require 'rtrain.namespace'('torch.nn', {
  files = {
    {'torch.nn.module', 'Module'},
    {'torch.nn.parameter', 'Parameter'},
    {'torch.nn.container', 'Sequential', 'ModuleList', 'ModuleDict'},
    {'torch.nn.linear', 'Linear', 'Identity', 'Bilinear'},
    {'torch.nn.conv', 'Conv1d', 'Conv2d', 'Conv3d', 'ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d'},
    {'torch.nn.pooling', 'MaxPool1d', 'MaxPool2d', 'MaxPool3d', 'AvgPool1d', 'AvgPool2d', 'AvgPool3d',
     'AdaptiveAvgPool1d', 'AdaptiveAvgPool2d', 'AdaptiveMaxPool2d'},
    {'torch.nn.flatten', 'Flatten', 'Unflatten'},
    {'torch.nn.dropout', 'Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d'},
    {'torch.nn.batchnorm', 'BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d'},
    {'torch.nn.normalization', 'LayerNorm', 'GroupNorm'},
    {'torch.nn.embedding', 'Embedding'},
    {'torch.nn.activation', 'ReLU', 'ReLU6', 'GELU', 'SiLU', 'Mish', 'Hardswish', 'Sigmoid', 'LogSigmoid', 'Tanh',
     'Softplus', 'LeakyReLU', 'ELU', 'Softmax', 'LogSoftmax'},
    {'torch.nn.loss', 'CrossEntropyLoss', 'NLLLoss', 'MSELoss', 'L1Loss', 'SmoothL1Loss', 'HuberLoss', 'BCELoss',
     'BCEWithLogitsLoss', 'KLDivLoss'},
    {'torch.nn.attention', 'MultiheadAttention'},
    {'torch.nn.transformer', 'TransformerEncoderLayer', 'TransformerEncoder'},
  },
  modules = {functional = 'torch.nn.functional', init = 'torch.nn.init', utils = 'torch.nn.utils'},
})
