"""Every scheduler: 50 learning rates of two groups, the momenta if it changes them, and its state_dict."""

from torch.optim.swa_utils import SWALR

from harness.schedules import schedule

EPOCHS = [0, 3, 7, 2, 11, 30, 5]

CASES = [
    schedule("s.LambdaLR(o, function(e) return 0.95 ^ e end)", lambda o, s: s.LambdaLR(o, lambda e: 0.95**e)),
    schedule(
        "s.LambdaLR(o, {function(e) return 1 / (e + 1) end, function() return 1 end})",
        lambda o, s: s.LambdaLR(o, [lambda e: 1 / (e + 1), lambda e: 1]),
    ),
    schedule("s.MultiplicativeLR(o, function() return 0.9 end)", lambda o, s: s.MultiplicativeLR(o, lambda e: 0.9)),
    schedule(
        "s.MultiplicativeLR(o, {function(e) return e % 2 == 0 and 0.5 or 1.5 end, function() return 1 end})",
        lambda o, s: s.MultiplicativeLR(o, [lambda e: 0.5 if e % 2 == 0 else 1.5, lambda e: 1]),
    ),
    schedule("s.StepLR(o, 7)", lambda o, s: s.StepLR(o, 7)),
    schedule("s.StepLR(o, {step_size = 1, gamma = 0.9})", lambda o, s: s.StepLR(o, 1, gamma=0.9)),
    schedule("s.StepLR(o, 4, 0.5)", lambda o, s: s.StepLR(o, 4, 0.5), at=EPOCHS),
    schedule("s.MultiStepLR(o, {5, 20, 40})", lambda o, s: s.MultiStepLR(o, [5, 20, 40])),
    schedule("s.MultiStepLR(o, {30, 5, 5}, {gamma = 0.5})", lambda o, s: s.MultiStepLR(o, [30, 5, 5], gamma=0.5)),
    schedule("s.MultiStepLR(o, {3, 9}, {gamma = 0.5})", lambda o, s: s.MultiStepLR(o, [3, 9], gamma=0.5), at=EPOCHS),
    schedule("s.ConstantLR(o)", lambda o, s: s.ConstantLR(o)),
    schedule(
        "s.ConstantLR(o, {factor = 0.5, total_iters = 30})", lambda o, s: s.ConstantLR(o, factor=0.5, total_iters=30)
    ),
    schedule("s.ConstantLR(o, 0.25, 6)", lambda o, s: s.ConstantLR(o, 0.25, 6), at=EPOCHS),
    schedule("s.LinearLR(o)", lambda o, s: s.LinearLR(o)),
    schedule(
        "s.LinearLR(o, {start_factor = 1, end_factor = 0.1, total_iters = 40})",
        lambda o, s: s.LinearLR(o, start_factor=1.0, end_factor=0.1, total_iters=40),
    ),
    schedule("s.LinearLR(o, 0.1, 1, 8)", lambda o, s: s.LinearLR(o, 0.1, 1.0, 8), at=EPOCHS),
    schedule("s.ExponentialLR(o, 0.9)", lambda o, s: s.ExponentialLR(o, 0.9)),
    schedule("s.ExponentialLR(o, {gamma = 1.1})", lambda o, s: s.ExponentialLR(o, gamma=1.1)),
    schedule("s.ExponentialLR(o, 0.9)", lambda o, s: s.ExponentialLR(o, 0.9), at=EPOCHS),
    schedule(
        "s.PolynomialLR(o, {total_iters = 45, power = 2})", lambda o, s: s.PolynomialLR(o, total_iters=45, power=2)
    ),
    schedule("s.PolynomialLR(o)", lambda o, s: s.PolynomialLR(o)),
    schedule("s.PolynomialLR(o, 20, 0.5)", lambda o, s: s.PolynomialLR(o, 20, 0.5), at=EPOCHS),
    schedule("s.CosineAnnealingLR(o, 49)", lambda o, s: s.CosineAnnealingLR(o, 49)),
    schedule("s.CosineAnnealingLR(o, 7, {eta_min = 0.01})", lambda o, s: s.CosineAnnealingLR(o, 7, eta_min=0.01)),
    schedule(
        "s.CosineAnnealingLR(o, {T_max = 10, eta_min = 0.1})",
        lambda o, s: s.CosineAnnealingLR(o, T_max=10, eta_min=0.1),
        at=EPOCHS,
    ),
    schedule("s.CosineAnnealingWarmRestarts(o, 10)", lambda o, s: s.CosineAnnealingWarmRestarts(o, 10)),
    schedule(
        "s.CosineAnnealingWarmRestarts(o, 3, {T_mult = 2, eta_min = 0.01})",
        lambda o, s: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.01),
    ),
    schedule(
        "s.CosineAnnealingWarmRestarts(o, 4, 2)",
        lambda o, s: s.CosineAnnealingWarmRestarts(o, 4, 2),
        at=[0.5, 3.75, 4, 11.5, 12.25, 40, 2],
    ),
    schedule(
        "s.CyclicLR(o, 0.1, 1, {step_size_up = 5})", lambda o, s: s.CyclicLR(o, 0.1, 1.0, step_size_up=5), "momentum"
    ),
    schedule(
        "s.CyclicLR(o, {0.1, 0.2}, {1, 2}, {step_size_up = 4, step_size_down = 7, mode = 'triangular2'})",
        lambda o, s: s.CyclicLR(o, [0.1, 0.2], [1.0, 2.0], step_size_up=4, step_size_down=7, mode="triangular2"),
        "momentum",
    ),
    schedule(
        "s.CyclicLR(o, 0.1, 1, {step_size_up = 6, mode = 'exp_range', gamma = 0.97, base_momentum = 0.5, max_momentum = 0.95})",
        lambda o, s: s.CyclicLR(
            o, 0.1, 1.0, step_size_up=6, mode="exp_range", gamma=0.97, base_momentum=0.5, max_momentum=0.95
        ),
        "adam",
    ),
    schedule(
        "s.CyclicLR(o, 0.1, 1, {step_size_up = 6, cycle_momentum = false, scale_fn = function(x) return 1 / x end})",
        lambda o, s: s.CyclicLR(o, 0.1, 1.0, step_size_up=6, cycle_momentum=False, scale_fn=lambda x: 1 / x),
    ),
    schedule("s.OneCycleLR(o, 1, {total_steps = 52})", lambda o, s: s.OneCycleLR(o, 1.0, total_steps=52), "momentum"),
    schedule(
        "s.OneCycleLR(o, {1, 0.5}, {epochs = 6, steps_per_epoch = 10, pct_start = 0.5, anneal_strategy = 'linear'})",
        lambda o, s: s.OneCycleLR(o, [1.0, 0.5], epochs=6, steps_per_epoch=10, pct_start=0.5, anneal_strategy="linear"),
        "adam",
    ),
    schedule(
        "s.OneCycleLR(o, 1, {total_steps = 60, three_phase = true, div_factor = 10, final_div_factor = 100})",
        lambda o, s: s.OneCycleLR(o, 1.0, total_steps=60, three_phase=True, div_factor=10.0, final_div_factor=100.0),
        "momentum",
    ),
    schedule(
        "s.OneCycleLR(o, 1, {total_steps = 51, cycle_momentum = false})",
        lambda o, s: s.OneCycleLR(o, 1.0, total_steps=51, cycle_momentum=False),
    ),
    schedule("s.ReduceLROnPlateau(o, {patience = 3})", lambda o, s: s.ReduceLROnPlateau(o, patience=3), at="metric"),
    schedule(
        "s.ReduceLROnPlateau(o, 'max', {factor = 0.5, patience = 2, cooldown = 2, min_lr = {0.05, 0.01}})",
        lambda o, s: s.ReduceLROnPlateau(o, "max", factor=0.5, patience=2, cooldown=2, min_lr=[0.05, 0.01]),
        at="metric",
    ),
    schedule(
        "s.ReduceLROnPlateau(o, {threshold = 0.5, threshold_mode = 'abs', patience = 0, eps = 1e-3})",
        lambda o, s: s.ReduceLROnPlateau(o, threshold=0.5, threshold_mode="abs", patience=0, eps=1e-3),
        at="metric",
    ),
    schedule(
        "s.SequentialLR(o, {s.ConstantLR(o, {factor = 0.1, total_iters = 10}), s.ExponentialLR(o, 0.9)}, {10})",
        lambda o, s: s.SequentialLR(o, [s.ConstantLR(o, factor=0.1, total_iters=10), s.ExponentialLR(o, 0.9)], [10]),
    ),
    schedule(
        "s.SequentialLR(o, {s.LinearLR(o, {total_iters = 5}), s.CosineAnnealingLR(o, 20), s.StepLR(o, 3)}, {5, 30})",
        lambda o, s: s.SequentialLR(
            o, [s.LinearLR(o, total_iters=5), s.CosineAnnealingLR(o, 20), s.StepLR(o, 3)], [5, 30]
        ),
    ),
    schedule(
        "s.ChainedScheduler{s.ConstantLR(o, {factor = 0.1, total_iters = 10}), s.ExponentialLR(o, 0.95)}",
        lambda o, s: s.ChainedScheduler([s.ConstantLR(o, factor=0.1, total_iters=10), s.ExponentialLR(o, 0.95)]),
    ),
    schedule(
        "s.ChainedScheduler({s.StepLR(o, 5, 0.5), s.MultiStepLR(o, {8}), s.LinearLR(o)}, o)",
        lambda o, s: s.ChainedScheduler([s.StepLR(o, 5, 0.5), s.MultiStepLR(o, [8]), s.LinearLR(o)], o),
    ),
    schedule("torch.optim.swa_utils.SWALR(o, 0.05)", lambda o, s: SWALR(o, 0.05)),
    schedule(
        "torch.optim.swa_utils.SWALR(o, {0.05, 0.5}, {anneal_epochs = 20, anneal_strategy = 'linear'})",
        lambda o, s: SWALR(o, [0.05, 0.5], anneal_epochs=20, anneal_strategy="linear"),
    ),
    schedule("torch.optim.swa_utils.SWALR(o, 0.05, {anneal_epochs = 0})", lambda o, s: SWALR(o, 0.05, anneal_epochs=0)),
]
