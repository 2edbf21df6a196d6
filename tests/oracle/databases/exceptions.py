"""The intended differences from Python: (entry, form, text) as regular expressions, and the reason. An unused exception
is an error, except those marked SOMETIMES.
"""

ABSENT = "rtrain does not have it: modules/torch/ABSENT.md"
SOMETIMES = "not on every machine, nor in each run"
LAMBDA = "the entry calls a function of the database's own"

EXCEPTIONS = {
    "operators": [
        (r"(masked|signal\.windows)\..*", "name", "", ABSENT),
        (r"jiterator_.*", "name", "", "it compiles CUDA code"),
        (r"torch\..*|_segment_reduce.*|.*_backward", "name", "", "it is internal"),
        (r"_batch_norm_with_update", "out", "Python refuses", "the entry calls torch.ops.aten"),
        (r"(linalg\.(lstsq\.grad_oriented|pinv\.singular)|normal.*|(pca|svd)_lowrank)", "function|out", "", LAMBDA),
        (
            r"linalg\.lstsq",
            "out",
            "float64 result",
            "LAPACK's float32 numbers depend on where a matrix lies",
            SOMETIMES,
        ),
        (r"slice", "function|wrong", "", "torch.slice is an index here"),
        (
            r"squeeze\.multiple",
            "function|method|inplace",
            "shape",
            "an empty table behind the tensor is not a list of dimensions",
        ),
        (r"rand_like", "function", "numbers differ", "the entry calls randn_like"),
        (r"zero_", "function", "leaf Variable", LAMBDA),
        (r"cauchy|exponential|geometric|log_normal|uniform", "function", "not the tensor it was called on", LAMBDA),
    ],
    "modules": [
        (r"nn\.Lazy.*", "python|name", "", ABSENT),
        (r"nn\.BatchNorm.*", "module", "print: .*momentum=None", "Python's momentum = None is false in Lua"),
        (r"nn\.(Softplus|Softshrink)", "module", "print", "a float is printed as one, also where 1 was given"),
        (
            r"nn\.Transformer.*",
            "module",
            r"gradient .* at most 1\.\d*e-05",
            "it adds its sums in another order",
            SOMETIMES,
        ),
    ],
    "optimizers": [(r".*", "refusal", "appear in more than one", "a parameter is sent twice as two tensors")],
}
