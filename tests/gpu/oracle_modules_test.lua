-- Every module of torch.nn on the device. gpu: at most 120 s
require('oracle_on_device').run({'modules'}, require('harness.module').read)
