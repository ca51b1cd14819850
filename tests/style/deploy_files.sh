#!/usr/bin/env bash
# The files under deploy/: Prometheus rules with their tests, the dashboard fresh, YAML that can be read, settings that
# the server knows. usage: deploy_files.sh
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
if ! command -v promtool >/dev/null; then
  echo "skipped: promtool is not installed (deploy/setup.sh installs it)"
  exit 77
fi
cd "$root/deploy"
promtool check rules prometheus/recording.yml prometheus/alerts.yml
promtool test rules prometheus/rules_test.yml
# Every alert of the file has a case in which it sounds.
python3 - <<'EOF'
import pathlib, re, sys, yaml
rules = yaml.safe_load(pathlib.Path("prometheus/alerts.yml").read_text())
tests = yaml.safe_load(pathlib.Path("prometheus/rules_test.yml").read_text())
alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
sounded = {case["alertname"] for test in tests["tests"] for case in test.get("alert_rule_test", []) if case["exp_alerts"]}
if alerts - sounded:
    sys.exit(f"alerts without a case in which they sound: {sorted(alerts - sounded)}")
# A pod's front has one server. What is asked of the balancer's backends (are there enough replicas?) is not asked of it.
asked = "".join(pathlib.Path(file).read_text() for file in ("prometheus/alerts.yml", "prometheus/recording.yml", "grafana/make_dashboard.py"))
asked = {name for names in re.findall(r'haproxy_backend_\w+\{proxy=~?"([^"]+)"', asked) for name in names.split("|")}
of_front = set(re.findall(r"^backend (\w+)", pathlib.Path("haproxy/front.cfg").read_text(), re.M))
of_balancer = set(re.findall(r"^backend (\w+)", pathlib.Path("haproxy/haproxy.cfg").read_text(), re.M))
if asked & of_front or not asked <= of_balancer:
    sys.exit(f"asked of the balancer: {sorted(asked)}; backends of the front: {sorted(of_front)}, of the balancer: {sorted(of_balancer)}")
for path in sorted(pathlib.Path("kubernetes").rglob("*.yaml")):
    for document in yaml.safe_load_all(path.read_text()):
        if not isinstance(document, dict):
            sys.exit(f"{path}: not a map")
for path in sorted(pathlib.Path("kubernetes").rglob("kustomization.yaml")):
    wanted = yaml.safe_load(path.read_text())
    files = [r for r in wanted.get("resources", [])] + [p["path"] for p in wanted.get("patches", []) if "path" in p]
    files += [f for g in wanted.get("configMapGenerator", []) for f in g["files"]]
    for name in files:
        if not (path.parent / name).exists():
            sys.exit(f"{path}: {name} is not there")
EOF
grafana/make_dashboard.py --check
prometheus/make_rules.py --check
echo "deploy files: fine"
