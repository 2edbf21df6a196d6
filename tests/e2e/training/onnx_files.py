"""Exports a model, and compares its outputs with those of onnxruntime."""

import textwrap

import pytest

numpy = pytest.importorskip("numpy", reason="numpy is not here: scripts/test --oracle installs it")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not here: scripts/test --oracle installs it")


# Exports `model`, and writes inputs and outputs for other sizes: `others` has a list of inputs for each case.
EXPORT = """
    local torch = require 'torch'
    local vision = require 'vision'
    local nn, F = torch.nn, torch.nn.functional
    local json = require 'rtrain.data.files.json_text'
    torch.manual_seed(7)
    torch.set_num_threads(2)
    local folder = arg[1]
    -- A BatchNorm whose statistics differ from 0 and 1.
    local function settle(model)
      for _, module in model:named_modules() do
        if module.running_mean then
          module.running_mean:normal_(0, 0.1)
          module.running_var:uniform_(0.5, 1.5)
        end
      end
      return model:eval()
    end
    local function flat(value, out)
      if torch.is_tensor(value) then
        out[#out + 1] = value
      else
        for _, item in ipairs(value) do flat(item, out) end
      end
      return out
    end
    local function ids(...) return torch.randint(0, 50, {...}) end
    %s
    model = type(model) == 'function' and model or settle(model)
    torch.onnx.export(model, examples, folder .. '/model.onnx', options)
    for i, inputs in ipairs{examples, unpack(others or {})} do
      local values = {}
      for k, input in ipairs(inputs) do values['in_' .. k] = input end
      local outputs = torch.no_grad(function() return {model(unpack(inputs))} end)
      for k, output in ipairs(flat(outputs, {})) do values['out_' .. k] = output:contiguous() end
      torch.save_safetensors(values, ('%%s/case-%%d.safetensors'):format(folder, i))
    end
"""


def export(rtrain, text):
    """Returns onnxruntime's session for the model that the script exports, and the folder."""
    script = rtrain.script(textwrap.dedent(EXPORT) % textwrap.dedent(text))
    result = rtrain("exec", script, rtrain.folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return onnxruntime.InferenceSession(rtrain.folder / "model.onnx", providers=["CPUExecutionProvider"])


def compare(rtrain, session, tolerance=1e-5):
    """Compares each case that the script has written; returns the number of cases."""
    load_file = pytest.importorskip("safetensors.numpy").load_file
    cases = sorted(rtrain.folder.glob("case-*.safetensors"))
    for case in cases:
        values = load_file(case)
        names = [given.name for given in session.get_inputs()]
        feed = {name: values[f"in_{i + 1}"] for i, name in enumerate(names)}
        outputs = session.run(None, feed)
        assert len(outputs) == sum(name.startswith("out_") for name in values)
        for i, output in enumerate(outputs):
            wanted = values[f"out_{i + 1}"]
            assert output.shape == wanted.shape and output.dtype == wanted.dtype, case
            scale = max(1.0, float(numpy.abs(wanted).max(initial=0))) if wanted.dtype.kind == "f" else 1
            numpy.testing.assert_allclose(output / scale, wanted / scale, atol=tolerance, rtol=0, err_msg=str(case))
    return len(cases)
