-- ATen's operators on the device. gpu: at most 150 s
require('oracle_on_device').run{'pointwise', 'reductions', 'shapes', 'linear_algebra', 'network', 'creation', 'indexing'}
