"""Runs examples/fashion_mnist.lua with four ranks on few images: on two nodes, then on one machine, both over Gloo."""

import hashlib
import pathlib
import re

from test_examples import example, with_images


class FashionMnist:
    def __init__(self, rtrain):
        self.rtrain = with_images(rtrain, 192, 40)
        text = pathlib.Path(example("fashion_mnist")).read_text()
        trainer = "train.TorchTrainer {"
        assert text.count(trainer) == 1
        gloo = f"{trainer} torch_config = train.TorchConfig {{backend = 'gloo'}},"
        self.script = rtrain.script(text.replace(trainer, gloo), "fashion_mnist.lua")

    def run(self, name):
        """Returns the words of `rtrain run …`, without rtrain."""
        return ["run", self.script, *self.options(), "--name", name]

    def options(self):
        return ["-n", "4", "--set", "batch_size=16", "--set", "epochs=2"]

    def check(self, result):
        """Checks the result of the run `two`: two workers ran on each node, and the final state equals that of one
        machine, bit by bit.
        """
        rtrain = self.rtrain
        assert result.returncode == 0, result.stderr
        assert len(re.findall(r"test accuracy [01]\.\d{4}\n", result.stdout)) == 1, "the script's own output, once"
        # The launcher decides which node is the first.
        hosts = [worker["host"] for worker in rtrain.json("show", "two")["attempts"][0]["workers"]]
        assert hosts in (["n0", "n0", "n1", "n1"], ["n1", "n1", "n0", "n0"])
        rtrain.env.pop("RTRAIN_RUNTIME_DIR")
        alone = rtrain(*self.run("one"), "--oversubscribe")
        assert alone.returncode == 0, alone.stderr
        assert self._state("two") == self._state("one")
        assert rtrain.reports("two") == rtrain.reports("one")

    def _state(self, run):
        """Returns a hash of the newest checkpoint's file."""
        newest = next(each for each in self.rtrain.json("checkpoint", "ls", run) if each["latest"])
        path = self.rtrain.run_folder(run) / "checkpoints" / newest["name"] / "model.pt"
        return hashlib.sha256(path.read_bytes()).hexdigest()
