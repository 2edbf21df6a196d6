-- torch/nn/utils.lua: torch.nn.utils: helpers for gradients, parameters and weights.

return require 'base.namespace'('torch.nn.utils', {
  files = {
    {'torch.nn.utils.clip_grad', 'clip_grad_norm_', 'clip_grad_value_', 'clip_grads_with_norm_', 'get_total_norm'},
    {'torch.nn.utils.vector', 'parameters_to_vector', 'vector_to_parameters'},
    {'torch.nn.utils.weight_norm', 'weight_norm', 'remove_weight_norm'},
    {'torch.nn.utils.spectral_norm', 'spectral_norm', 'remove_spectral_norm'},
    {'torch.nn.utils.fusion', 'fuse_conv_bn_eval', 'fuse_conv_bn_weights', 'fuse_linear_bn_eval',
     'fuse_linear_bn_weights'},
    {'torch.nn.utils.memory_format', 'convert_conv2d_weight_memory_format', 'convert_conv3d_weight_memory_format'},
    {'torch.nn.utils.skip_init', 'skip_init'},
    {'torch.nn.utils.summary', 'parameters_count', 'summary'},
  },
  modules = {rnn = 'torch.nn.utils.rnn', parametrize = 'torch.nn.utils.parametrize',
             parametrizations = 'torch.nn.utils.parametrizations', stateless = 'torch.nn.utils.stateless',
             prune = 'torch.nn.utils.prune'},
  absent = require('torch.nn.absent').of 'torch.nn.utils',
})
