-- torch/nn/functional.lua: torch.nn.functional: layers and losses without state.
--
-- A function that ATen has with Python's parameters is that operator. The others are in the files of functional/; each
-- file is read when its first function is used.

return require 'base.namespace'('torch.nn.functional', {
  files = {
    {'torch', 'conv1d', 'conv2d', 'conv3d', 'conv_tbc', 'conv_transpose1d', 'conv_transpose2d', 'conv_transpose3d', 'linear',
     'bilinear', 'sigmoid', 'tanh', 'prelu', 'glu', 'hardshrink', 'softshrink', 'softplus', 'relu_', 'elu_', 'selu_',
     'celu_', 'leaky_relu_', 'hardtanh_', 'threshold_', 'rrelu_', 'adaptive_avg_pool1d', 'avg_pool1d', 'avg_pool2d',
     'avg_pool3d', 'scaled_dot_product_attention', 'pad', 'cosine_similarity', 'pairwise_distance', 'pdist', 'one_hot',
     'pixel_shuffle', 'pixel_unshuffle', 'channel_shuffle', 'native_channel_shuffle'},
    {'torch.nn.functional.activation', 'relu', 'relu6', 'silu', 'mish', 'hardswish', 'selu', 'celu', 'elu', 'leaky_relu',
     'hardsigmoid', 'hardtanh', 'threshold', 'rrelu', 'gelu', 'logsigmoid', 'softsign', 'tanhshrink', 'softmax',
     'log_softmax', 'softmin', 'gumbel_softmax'},
    {'torch.nn.functional.dropout', 'dropout', 'dropout1d', 'dropout2d', 'dropout3d', 'alpha_dropout',
     'feature_alpha_dropout'},
    {'torch.nn.functional.fold', 'fold', 'unfold'},
    {'torch.nn.functional.pooling', 'max_pool1d', 'max_pool2d', 'max_pool3d', 'max_pool1d_with_indices',
     'max_pool2d_with_indices', 'max_pool3d_with_indices', 'adaptive_avg_pool2d', 'adaptive_avg_pool3d',
     'adaptive_max_pool1d', 'adaptive_max_pool2d', 'adaptive_max_pool3d', 'adaptive_max_pool1d_with_indices',
     'adaptive_max_pool2d_with_indices', 'adaptive_max_pool3d_with_indices', 'fractional_max_pool2d',
     'fractional_max_pool3d', 'fractional_max_pool2d_with_indices', 'fractional_max_pool3d_with_indices', 'max_unpool1d',
     'max_unpool2d', 'max_unpool3d', 'lp_pool1d', 'lp_pool2d', 'lp_pool3d'},
    {'torch.nn.functional.embedding', 'embedding', 'embedding_bag'},
    {'torch.nn.functional.normalization', 'batch_norm', 'instance_norm', 'layer_norm', 'rms_norm', 'group_norm',
     'local_response_norm', 'normalize'},
    {'torch.nn.functional.loss', 'cross_entropy', 'nll_loss', 'mse_loss', 'l1_loss', 'smooth_l1_loss', 'huber_loss',
     'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'kl_div', 'ctc_loss', 'poisson_nll_loss',
     'gaussian_nll_loss'},
    {'torch.nn.functional.margin', 'hinge_embedding_loss', 'soft_margin_loss', 'multi_margin_loss',
     'multilabel_margin_loss', 'multilabel_soft_margin_loss', 'cosine_embedding_loss', 'margin_ranking_loss',
     'triplet_margin_loss', 'triplet_margin_with_distance_loss'},
    {'torch.nn.functional.vision', 'interpolate', 'upsample', 'upsample_nearest', 'upsample_bilinear', 'grid_sample',
     'affine_grid'},
    {'torch.nn.functional.attention', 'multi_head_attention_forward'},
    {'torch.nn.functional.matrix', 'grouped_mm'},
  },
  absent = require('torch.nn.absent').of 'torch.nn.functional',
})
