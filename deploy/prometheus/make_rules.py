#!/usr/bin/env python3
"""Writes the rules of this folder as an object for the Prometheus operator: make_rules.py [--check]."""
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parent / "kubernetes/overlays/site/rules.yaml"
SOURCES = ("recording.yml", "alerts.yml")

groups = [group for name in SOURCES for group in yaml.safe_load((HERE / name).read_text())["groups"]]
rules = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "flightplan"},
         "spec": {"groups": groups}}
text = "# Made by deploy/prometheus/make_rules.py of recording.yml and alerts.yml.\n" + yaml.safe_dump(rules, sort_keys=False, width=1000)
if sys.argv[1:] == ["--check"]:
    if not TARGET.exists() or TARGET.read_text() != text:
        sys.exit(f"{TARGET.name} is stale: run deploy/prometheus/make_rules.py")
else:
    TARGET.write_text(text)
