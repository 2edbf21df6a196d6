"""rtrain dash: metrics for Prometheus."""

import json
import re

import pytest

from conftest import SOURCE, wait_until
from dash_server import Dash, dash, results  # noqa: F401  (fixtures)


def test_metrics_for_collectors(dash):
    server = dash()
    answer = server.ask("/metrics")
    assert answer.getheader("Content-Type").startswith("application/openmetrics-text; version=1.0.0")
    text = answer.body.decode()
    assert text.endswith("# EOF\n") and 'rtrain_runs{status="FINISHED"} 2' in text
    families, current = set(), None
    for line in text.splitlines()[:-1]:
        if found := re.fullmatch(r"# (TYPE|UNIT|HELP) (\w+) (.+)", line):
            if found[1] == "TYPE":
                assert found[2] not in families, "a family stands in one place"
                families.add(current := found[2])
            assert found[2] == current
        else:
            assert re.fullmatch(
                rf'{current}(\{{\w+="(?:[^"\\]|\\.)*"(,\w+="(?:[^"\\]|\\.)*")*\}})? (NaN|[+-]Inf|[-+.e\d]+)', line
            ), line


@pytest.fixture
def families():
    """Returns the metrics of a server as a Prometheus parser reads them: {name: [sample, …]}."""
    parser = pytest.importorskip(
        "prometheus_client.openmetrics.parser", reason="no prometheus-client: scripts/setup --oracle installs it"
    )

    def read(server):
        text = server.ask("/metrics").body.decode()
        return {family.name: family.samples for family in parser.text_string_to_metric_families(text)}

    return read


def test_metrics_are_open_metrics_to_prometheus(rtrain, families):
    from test_watch import Stepped

    server = Dash(rtrain)
    run = Stepped(rtrain, 'quo"ted')

    def logged():
        return any(sample.labels["metric"] == "speed" for sample in families(server)["rtrain_metric"])

    wait_until(logged, message="what was logged")
    read = families(server)
    assert read["rtrain_run_reports"][0].labels == {"run": 'quo"ted'} and read["rtrain_run_reports"][0].value >= 1
    values = {sample.labels["metric"]: sample.value for sample in read["rtrain_metric"]}
    assert values["loss"] == 1 and values["speed"] == 2
    assert {sample.labels["rank"] for sample in read["rtrain_rank_memory_bytes"]} <= {"0", "1"}
    assert {sample.labels["kind"] for sample in read["rtrain_host_cores"]} == {"host", "offered", "free"}
    counts = {sample.labels["status"]: sample.value for sample in read["rtrain_runs"]}
    assert counts["RUNNING"] == 1 and counts["ERRORED"] == counts["LOST"] == 0, "an alert sees the first one too"
    run.end()
    assert server.stop().returncode == 0


# Keywords and functions of PromQL: they are not names of series.
WORDS = {"delta", "deriv", "and", "on", "instance", "max_over_time", "min_over_time", "predict_linear", "label_values"}


def series_of(query):
    """Returns the names of series in a query; text in braces, ranges and quotes is skipped."""
    plain = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]|, \w+\)', " ", query)
    return set(re.findall(r"[a-z_]\w*", plain)) - WORDS


def labels_of(query):
    return {label for braces in re.findall(r"\{([^}]*)\}", query) for label in re.findall(r'(\w+)=~?"', braces)} - {
        "job"
    }


def test_what_grafana_and_prometheus_ask_for_is_there(dash, families):
    yaml = pytest.importorskip("yaml", reason="no PyYAML: scripts/setup --oracle installs it")
    folder = SOURCE / "examples" / "monitoring"
    board = json.loads((folder / "grafana.json").read_text())
    rules = yaml.safe_load((folder / "alerts.yaml").read_text())["groups"][0]["rules"]
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    queries += [variable["query"] for variable in board["templating"]["list"] if variable["type"] == "query"]
    queries += [rule["expr"] for rule in rules]
    known = families(dash())
    for query in queries:
        assert series_of(query) and series_of(query) <= known.keys(), query
        assert labels_of(query) <= {"status", "run", "metric", "kind", "rank", "host"}, query
    assert {name for query in queries for name in series_of(query)} == known.keys(), "all of them are shown"
    # Grafana requires panels with unique numbers, within 24 columns, that do not overlap.
    assert board["schemaVersion"] >= 36 and board["uid"] and board["title"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    places = [
        (x, y)
        for panel in board["panels"]
        for grid in [panel["gridPos"]]
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(places) == len(set(places)) and max(x for x, _ in places) < 24
    assert all(panel["type"] in ("stat", "timeseries") and panel["targets"] for panel in board["panels"])
    for rule in rules:
        assert rule["alert"].startswith("Rtrain") and rule["annotations"]["summary"] and rule["labels"]["severity"]
    scrape = yaml.safe_load((folder / "prometheus.yaml").read_text())
    assert scrape["rule_files"] == ["alerts.yaml"] and scrape["scrape_configs"][0]["job_name"] == "rtrain"


def test_metrics_do_without_the_leases_of_the_node(dash, trained):
    trained.runtime.chmod(0o755)  # rtrain does not use a runtime folder that others can open
    server = dash()
    text = server.ask("/metrics").body.decode()
    assert "rtrain_host_cores" not in text and 'rtrain_runs{status="FINISHED"} 2' in text
    assert server.error("/api/resources")[0] == 503
