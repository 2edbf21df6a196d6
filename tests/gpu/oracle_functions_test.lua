-- torch's functions, torch.nn.functional and optimizers on the device. gpu: at most 120 s
require('oracle_on_device').run{'functional', 'nn_functional', 'optimizers'}
