#!/usr/bin/env python3
"""Writes flightplan.json, the Grafana dashboard, from the table below: make_dashboard.py [--check]."""
import json
import pathlib
import sys

TARGET = pathlib.Path(__file__).with_name("flightplan.json")
JOB = '{job=~"$job"}'
# Row title, panels: (title, unit, [(query, legend)]).
ROWS = [
    ("Answers", [
        ("Calls", "reqps", [('sum by (grpc_method) (rate(grpc_server_handled_total{job=~"$job"}[$__rate_interval]))', "{{grpc_method}}")]),
        ("Errors of ours", "percentunit", [("flightplan:errors:ratio_rate5m" + JOB, "{{job}}")]),
        ("Calls by code", "reqps", [('sum by (grpc_code) (rate(grpc_server_handled_total{job=~"$job",grpc_code!="OK"}[$__rate_interval]))', "{{grpc_code}}")]),
        ("Time of an answer", "s", [
            ('histogram_quantile(0.5, sum by (le) (rate(grpc_server_handling_seconds_bucket{job=~"$job",grpc_method=~"ResolveConfig|ValidateConfig"}[$__rate_interval])))', "p50"),
            ('histogram_quantile(0.99, sum by (le) (rate(grpc_server_handling_seconds_bucket{job=~"$job",grpc_method=~"ResolveConfig|ValidateConfig"}[$__rate_interval])))', "p99")]),
        ("Outcomes", "reqps", [('sum by (rpc, outcome) (rate(flightplan_outcomes_total{job=~"$job"}[$__rate_interval]))', "{{rpc}} {{outcome}}")]),
        ("Launches at the doors", "reqps", [('sum by (door, mode, verdict) (rate(flightplan_door_reviews_total{job=~"$job"}[$__rate_interval]))', "{{door}} {{mode}} {{verdict}}")]),
        ("Rules that fire most", "reqps", [('topk(10, sum by (rule_id) (rate(flightplan_findings_total{job=~"$job",severity="error"}[$__rate_interval])))', "{{rule_id}}")]),
    ]),
    ("Load", [
        ("In flight", "short", [("sum by (instance) (flightplan_in_flight_requests" + JOB + ")", "{{instance}}")]),
        ("Sent away", "reqps", [('sum by (reason) (rate(flightplan_shed_total{job=~"$job"}[$__rate_interval]))', "{{reason}}")]),
        ("Sent away by tenant", "reqps", [('sum by (tenant) (rate(flightplan_tenant_shed_total{job=~"$job"}[$__rate_interval]))', "{{tenant}}")]),
        ("Dropped at the HTTP ports", "reqps", [('sum by (listener, reason) (rate(flightplan_http_dropped_total{job=~"$job"}[$__rate_interval]))', "{{listener}} {{reason}}")]),
        ("Cache hits", "percentunit", [("flightplan:cache_hits:ratio_rate5m" + JOB, "{{job}}")]),
        ("Time by stage", "s", [('sum by (stage) (rate(flightplan_stage_seconds_sum{job=~"$job"}[$__rate_interval])) / (sum by (stage) (rate(flightplan_stage_seconds_count{job=~"$job"}[$__rate_interval])) > 0)', "{{stage}}")]),
        ("Cache size", "bytes", [("flightplan_cache_bytes" + JOB, "{{instance}}")]),
    ]),
    # HAProxy as in deploy/haproxy; its job is another than the servers'.
    ("Balancer", [
        ("Calls at the balancer", "reqps", [('sum by (proxy) (rate(haproxy_backend_http_requests_total{proxy=~"flightplan|searches|others|refuse"}[$__rate_interval]))', "{{proxy}}")]),
        ("Waiting at the balancer", "short", [('sum by (proxy) (haproxy_backend_current_queue{proxy=~"flightplan|searches"})', "{{proxy}}")]),
        ("Refused at the balancer", "percentunit", [("flightplan:balancer_refused:ratio_rate5m", "{{job}}")]),
        ("Replicas ready", "short", [('haproxy_backend_active_servers{proxy="flightplan"}', "{{instance}}")]),
        ("Connections ended at the balancer", "ops", [
            ('sum by (instance) (rate(haproxy_frontend_requests_denied_total{proxy="grpc"}[$__rate_interval]))', "{{instance}} streams taken back"),
            ('sum by (instance) (rate(haproxy_frontend_denied_connections_total{proxy="grpc"}[$__rate_interval]))', "{{instance}} refused, of one address")]),
    ]),
    ("Machine", [
        ("CPU", "percentunit", [('rate(process_cpu_seconds_total{job=~"$job"}[$__rate_interval])', "{{instance}}")]),
        ("Memory", "bytes", [("process_resident_memory_bytes" + JOB, "{{instance}}")]),
        ("Descriptors", "short", [("process_open_fds" + JOB, "{{instance}}")]),
    ]),
    ("State", [
        ("Catalogue", "dateTimeAsIso", [("flightplan_catalog_last_success_timestamp_seconds" + JOB + " * 1000", "{{instance}}")]),
        ("Versions", "short", [("count by (version, catalog_revision) (flightplan_build_info" + JOB + ")", "{{version}} {{catalog_revision}}")]),
        ("Files not taken over", "short", [
            ("increase(flightplan_catalog_reload_failures_total" + JOB + "[1h])", "catalogue"),
            ("sum by (file) (increase(flightplan_access_reload_failures_total" + JOB + "[1h]))", "{{file}}")]),
        ("Certificates end in", "s", [("flightplan_tls_certificate_expiry_timestamp_seconds" + JOB + " - time()", "{{instance}} {{role}}")]),
        ("Decision log", "reqps", [
            ('sum(rate(flightplan_decision_log_written_total{job=~"$job"}[$__rate_interval]))', "written"),
            ('sum(rate(flightplan_decision_log_dropped_total{job=~"$job"}[$__rate_interval]))', "dropped")]),
        ("Evidence store up", "short", [("flightplan_evidence_store_up" + JOB, "{{instance}}")]),
        ("Measurements", "short", [("flightplan_evidence_measurements" + JOB, "{{instance}}")]),
        ("Evidence", "bytes", [("flightplan_evidence_bytes" + JOB, "{{instance}}")]),
    ]),
]


def panels():
    number, y = 0, 0
    for title, row in ROWS:
        number += 1
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "panels": [],
               "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}}
        y += 1
        for index, (name, unit, queries) in enumerate(row):
            number += 1
            yield {"id": number, "type": "timeseries", "title": name,
                   "datasource": {"type": "prometheus", "uid": "${datasource}"},
                   "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
                   "gridPos": {"x": index % 3 * 8, "y": y + index // 3 * 8, "w": 8, "h": 8},
                   "targets": [{"refId": chr(ord("A") + i), "expr": expr, "legendFormat": legend}
                               for i, (expr, legend) in enumerate(queries)]}
        y += (len(row) + 2) // 3 * 8


def dashboard():
    return {
        "title": "Flightplan", "uid": "flightplan", "schemaVersion": 37, "version": 1, "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus"},
            {"name": "job", "type": "query", "datasource": {"type": "prometheus", "uid": "${datasource}"},
             "query": "label_values(flightplan_build_info, job)", "refresh": 2, "multi": True, "includeAll": True,
             "allValue": ".+"}]},
        "panels": list(panels()),
    }


text = json.dumps(dashboard(), indent=1) + "\n"
if sys.argv[1:] == ["--check"]:
    if TARGET.read_text() != text:
        sys.exit(f"{TARGET.name} is stale: run deploy/grafana/make_dashboard.py")
else:
    TARGET.write_text(text)
