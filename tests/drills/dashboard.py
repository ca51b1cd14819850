#!/usr/bin/env python3
"""A real Prometheus scrapes a loaded server, and a balancer before another: every query of the dashboard, every recording
rule and alert answers.

usage: dashboard.py BINDIR
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from drill_server import Server, tokens
from serving import free_port

bindir = pathlib.Path(sys.argv[1])
deploy = pathlib.Path(__file__).resolve().parents[2] / "deploy"
for tool in ("prometheus", "openssl", "haproxy"):
    if shutil.which(tool) is None:
        print(f"skipped: {tool} is not installed (deploy/setup.sh)")
        sys.exit(77)


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()


def wait_for(what, url, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            get(url)
            return
        time.sleep(0.1)
    sys.exit(f"FAILED: {what} does not get ready")


def expressions(node):
    if isinstance(node, dict):
        if "expr" in node:
            yield node["expr"]
        for value in node.values():
            yield from expressions(value)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value)


with contextlib.ExitStack() as stack:
    work = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def start(name, *command, **options):
        log = stack.enter_context(open(work / f"{name}.log", "wb"))
        process = subprocess.Popen(command, stdout=log, stderr=log, **options)
        stack.callback(lambda: (process.kill(), process.wait()))
        return process

    prometheus_port = free_port()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    work / "key.pem", "-out", work / "cert.pem", "-days", "30", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    (work / "quotas.yaml").write_text("default: {calls_per_second: 50, concurrent: 64}\n")
    server = Server(bindir, f"--tls_cert_file={work}/cert.pem", f"--tls_key_file={work}/key.pem", tokens(work, "drill", roles="read, resolve"),
                    f"--quota_file={work}/quotas.yaml", f"--decision_log=file:{work}/decisions", f"--evidence_store=sqlite:{work}/evidence.db")
    stack.callback(server.stop)  # before its files are gone

    # The balancer speaks plain text: with a server of its own, and two of which nobody is there.
    plain = Server(bindir)
    front_port, front_http_port = free_port(), free_port()
    replicas = {"FLIGHTPLAN_A": f"127.0.0.1:{plain.port}"}
    for letter in "BC":
        replicas |= {f"FLIGHTPLAN_{letter}": "127.0.0.1:1"}
    start("haproxy", "haproxy", "-f", deploy / "haproxy" / "strangers.cfg", "-f",
          deploy / "haproxy" / "haproxy.cfg", env=os.environ | replicas | {
        "FLIGHTPLAN_FRONT": f"127.0.0.1:{front_port}", "FLIGHTPLAN_FRONT_HTTP": f"127.0.0.1:{front_http_port}"})
    wait_for("HAProxy", f"http://127.0.0.1:{front_http_port}/metrics")

    # As deployed, but evaluated every second.
    for name in ("recording.yml", "alerts.yml"):
        text = (deploy / "prometheus" / name).read_text()
        (work / name).write_text(re.sub(r"interval: \d+s", "interval: 1s", text))
    (work / "prometheus.yml").write_text(f"""global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{work}/recording.yml, {work}/alerts.yml]
scrape_configs:
  - job_name: flightplan
    static_configs: [{{targets: ["127.0.0.1:{server.http}"]}}]
  - job_name: haproxy
    static_configs: [{{targets: ["127.0.0.1:{front_http_port}"]}}]
""")
    start("prometheus", "prometheus", f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
          f"--web.listen-address=127.0.0.1:{prometheus_port}")
    base = f"http://127.0.0.1:{prometheus_port}"
    wait_for("Prometheus", f"{base}/-/ready")

    # Calls, refusals over the quota, and findings that are errors.
    load = start("load", bindir / "load_client", f"--target=localhost:{server.port}", f"--ca={work}/cert.pem", "--token=drill",
                 "--rate=80", "--seconds=8", "--cold")
    start("balanced load", bindir / "load_client", f"--target=127.0.0.1:{front_port}", "--rate=20", "--seconds=8")
    (work / "launch.sh").write_text("torchrun pretrain_gpt.py --num-layers 7 --pipeline-model-parallel-size 2 --hidden-size 1024 "
                                    "--num-attention-heads 16 --tensor-model-parallel-size 3 --sequence-parallel\n")
    environment = {"FLIGHTPLAN_TOKEN": "drill", "FLIGHTPLAN_CA_FILE": str(work / "cert.pem"), "PATH": "/usr/bin:/bin"}
    judged = set()
    while load.poll() is None:
        result = subprocess.run([bindir / "flightplan", "validate", work / "launch.sh", "--server", f"localhost:{server.port}"],
                                env=environment, capture_output=True, text=True, check=False)
        judged.add((result.returncode, result.stderr[-200:]))
        time.sleep(1)

    def ask(query):
        text = query.replace("$job", ".+").replace("$__rate_interval", "10s")
        answer = json.loads(get(f"{base}/api/v1/query?" + urllib.parse.urlencode({"query": text})))
        return answer["status"], answer["data"]["result"]

    dashboard = json.loads((deploy / "grafana" / "flightplan.json").read_text())
    queries = list(expressions(dashboard))
    bad = []
    for query in queries:
        try:
            status, result = ask(query)
        except OSError as error:
            bad.append(f"{query}: {error}")
            continue
        if status != "success" or not result:
            bad.append(f"{query}: {status}, {len(result)} series")
    groups = json.loads(get(f"{base}/api/v1/rules"))["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    bad += [f"rule {rule['name']}: {rule['health']} {rule.get('lastError', '')}" for rule in rules if rule["health"] != "ok"]
    firing = [rule["name"] for rule in rules if rule["type"] == "alerting" and rule.get("state") == "firing"]
    print(f"dashboard: queries={len(queries)} answered={len(queries) - len([b for b in bad if not b.startswith('rule ')])} "
          f"rules={len(rules)} healthy={sum(rule['health'] == 'ok' for rule in rules)} firing={firing}")
    if bad:
        print(*bad, judged, sep="\n", file=sys.stderr)
        sys.exit("FAILED: see above")
