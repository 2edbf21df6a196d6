"""`rtrain submit kubernetes` and `jobset`: the manifests, and what the pods are given. kubectl is a script of the test."""

import re

import pytest

from launcher_site import K8S, dry, log, program, refused, site  # noqa: F401  (a fixture)


def documents(text):
    yaml = pytest.importorskip("yaml", reason="PyYAML is missing: scripts/test --oracle installs it")
    return list(yaml.safe_load_all(text))


def check_schema(document):
    validator = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is missing: scripts/test --oracle installs it"
    )
    validator.validate(document, "1.34", strict=True)


def test_the_job_is_one_of_the_published_schema(site):
    service, job = documents(
        dry(
            site,
            *K8S,
            "--gpus-per-node",
            "2",
            "--cpus-per-task",
            "3",
            "--storage",
            "/d",
            "--time",
            "1:00:00",
            "--namespace",
            "team",
            "-n",
            "4",
            "--set",
            'text="a\\b"',
            "--",
            "x: y",
            "$(A) $$b",
        )
    )
    check_schema(service)
    check_schema(job)
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (2, 2, "Indexed")
    assert spec["podReplacementPolicy"] == "Failed" and spec["activeDeadlineSeconds"] == 3600
    rules = [(rule["action"], rule.get("onExitCodes", {}).get("values")) for rule in spec["podFailurePolicy"]["rules"]]
    assert rules == [("Ignore", None), ("Ignore", [75]), ("FailJob", [1, 2, 3])]
    assert pod["subdomain"] == service["metadata"]["name"] == "train" and service["spec"]["clusterIP"] == "None"
    container = pod["containers"][0]
    assert container["command"] == [
        "rtrain",
        "run",
        "train.lua",
        "--name",
        "train",
        "--resume",
        "auto",
        "--storage",
        "/d",
        "-n",
        "4",
        "--set",
        'text="a\\b"',
        "--",
        "x: y",
        "$$(A) $$$$b",
    ]
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env == {
        "RTRAIN_NNODES": "2",
        "RTRAIN_MASTER_ADDR": "train-0.train",
        "RTRAIN_JOB_ID": "train",
        "RTRAIN_SECRET_FILE": "/etc/rtrain/key",
    }
    assert container["resources"]["limits"] == {"cpu": 3, "nvidia.com/gpu": 2}
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes[mounted["/d"]]["persistentVolumeClaim"] == {"claimName": "c"}
    assert volumes[mounted["/dev/shm"]]["emptyDir"] == {"medium": "Memory"}
    assert service["metadata"]["namespace"] == job["metadata"]["namespace"] == "team"


def test_results_in_an_object_store(site):
    bare = ["k8s", "train.lua", "--nodes", "2", "--image", "i"]
    program(site, "kubectl", 'cat >"$LOG"')
    for given, variable in [(["--storage", "s3://b/f"], "/here"), ([], "s3://b/f")]:
        site.env["RTRAIN_STORAGE"] = variable
        _, job = documents(dry(site, *bare, "--credentials", "keys", *given))
        check_schema(job)
        container = job["spec"]["template"]["spec"]["containers"][0]
        assert container["command"][-2:] == ["--storage", "s3://b/f"]
        assert container["envFrom"] == [{"secretRef": {"name": "keys"}}]
        assert "results" not in [mount["name"] for mount in container["volumeMounts"]]
        assert "the pods need credentials for s3://b/f" in site("submit", *bare, *given).stderr
        assert "the pods need credentials" not in site("submit", *bare, *given, "--credentials", "keys").stderr
    site.env["RTRAIN_STORAGE"] = "/here/alone"
    assert "2 pods share no folder: give --claim NAME" in refused(site, *bare)
    one = site("submit", "k8s", "train.lua", "--image", "i")
    assert (
        one.returncode == 0
        and "the results are in the pod, and go with it" in one.stderr
        and "/here" not in log(site, "kubectl")
    )


@pytest.mark.parametrize("launcher", ["mpi", "ray"])
def test_the_folder_of_the_login_node_is_that_of_the_run(site, launcher):
    """Neither launcher passes the environment on to the nodes."""
    for own, wanted in [("/data/runs", "/data/runs"), ("runs", str(site.folder / "runs")), ("s3://b/f", "s3://b/f")]:
        site.env["RTRAIN_STORAGE"] = own
        text = dry(site, launcher, "train.lua")
        assert re.search(rf'train.lua"?,? "?--storage"?,? "?{re.escape(wanted)}\b', text), text
        assert own not in dry(site, launcher, "train.lua", "--storage", "/other")


def test_the_job_of_a_jobset_is_one_too(site):
    (jobset,) = documents(dry(site, *K8S, "--jobset"))
    assert jobset["spec"]["failurePolicy"]["maxRestarts"] == 3
    (replicated,) = jobset["spec"]["replicatedJobs"]
    check_schema(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": replicated["template"]["spec"]}
    )
    env = replicated["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "RTRAIN_MASTER_ADDR", "value": "train-node-0-0.train"} in env


def test_what_the_pods_are_given_is_what_the_launcher_reads(site):
    _, job = documents(dry(site, *K8S))
    env = {each["name"]: each["value"] for each in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    site.env.update(env, JOB_COMPLETION_INDEX="1")
    found = site.json("env")["launcher"]
    assert (found["engine"], found["num_nodes"], found["node_rank"]) == ("kubernetes", 2, 1)
    assert found["hosts"] == ["train-0.train", "train-1.train"]


def test_the_secret_is_sent_and_stands_on_no_command_line(site):
    program(site, "kubectl", 'echo "$@" >"$LOG"; cat >>"$LOG"')
    names = set()
    for _ in range(2):
        result = site("submit", *K8S, "--namespace", "team")
        assert result.returncode == 0, result.stderr
        command, text = log(site, "kubectl").split("\n", 1)
        assert command == "create --filename -"
        secret, _, job = documents(text)
        check_schema(secret)
        name = job["metadata"]["name"]
        assert re.fullmatch("train-[0-9a-f]{6}", name) and secret["metadata"]["name"] == f"{name}-key"
        assert re.fullmatch("[0-9a-f]{64}", secret["stringData"]["key"]) and secret["metadata"]["namespace"] == "team"
        assert result.stdout.startswith(f"submitted job {name}\n")
        assert f"kubectl delete --namespace team job,service,secret --selector rtrain/run={name}" in result.stdout
        names.add(name)
    assert len(names) == 2
    assert site("submit", *K8S, "--name", "mine").stdout.startswith("submitted job mine\n")
    assert list(site.temp.iterdir()) == []
