"""Horovod's API for PyTorch, over torch.distributed: what scripts find under `rtrain launch --backend horovod`.

It is written for rtrain, and is not Horovod: horovod.torch, horovod.torch.elastic and no other framework.
"""

__version__ = "0.28.1"  # whose API it has
