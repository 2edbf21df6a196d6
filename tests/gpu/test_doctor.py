"""rtrain doctor --train --gpus all on the devices that are here."""

import json


def test_all_devices_train(rtrain):
    result = rtrain("doctor", "--train", "--json", "--gpus", "all", "--report", "report.json", timeout=300)
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert result.returncode == 0, result.stdout
    assert checks["GPU 0"]["status"] in ("ok", "warning") and checks["GPU 0"]["figures"]["error"] < 1e-4
    assert checks["GPU 0"]["figures"]["tflops"] > 1
    assert checks["graph"]["status"] == checks["heal"]["status"] == checks["checkpoint"]["status"] == "ok"
    report = json.loads((rtrain.folder / "report.json").read_text())
    assert report["wiring"][0]["pcie_generation"] > 0
