-- torch/func.lua: torch.func: function transforms. Each runs the function in a level of LibTorch's functorch, so they
-- compose: vmap(grad(f)), jacfwd(jacrev(f)).

return require 'base.namespace'('torch.func', {
  files = {
    {'torch.func.gradients', 'grad', 'grad_and_value', 'vjp', 'jvp'},
    {'torch.func.jacobians', 'jacrev', 'jacfwd', 'hessian'},
    {'torch.func.vmap', 'vmap'},
    {'torch.func.module_state', 'stack_module_state'},
    {'torch.nn.utils.stateless', 'functional_call'},
  },
  absent = {linearize = 'use jvp', functionalize = 'operators run as they are called',
           replace_all_batch_norm_modules_ = 'put a GroupNorm there', debug_unwrap = 'return the tensor from the function'},
})
