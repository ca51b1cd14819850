#!/usr/bin/env python3
"""The manifests of deploy/kubernetes: who may connect to whom, images by digest. usage: kubernetes_test.py

Policies are read as Kubernetes does (a pod that one selects may do what one of those lists, and nothing else), from the
files that a kustomization names; patches of policies are put in their place.
"""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2] / "deploy"
PROBE = ROOT / "kubernetes/probe"
OVERLAYS = [*sorted(path.parent for path in (ROOT / "kubernetes/overlays").glob("*/kustomization.yaml")), PROBE]
OWN = ("flightplan", "flightplan-probe")  # the images that a site builds; their digests stand in what it applies
OWN_NAMESPACE = {"kubernetes.io/metadata.name": "flightplan"}
CLIENTS, MONITORING = {"flightplan.dev/client": "true"}, {"flightplan.dev/monitoring": "true"}
ANYWHERE = {"kubernetes.io/metadata.name": "somewhere"}


def documents(folder):
    """Every object of a kustomization, with those of the ones it takes, in which its patches are."""
    wanted = yaml.safe_load((folder / "kustomization.yaml").read_text())
    objects = []
    for name in wanted["resources"]:
        path = folder / name
        objects += documents(path) if path.is_dir() else list(yaml.safe_load_all(path.read_text()))
    for patch in wanted.get("patches", []):
        if "path" in patch:
            change = yaml.safe_load((folder / patch["path"]).read_text())
            [object_] = [o for o in objects if o["kind"] == change["kind"] and o["metadata"] == change["metadata"]]
            if change["kind"] == "NetworkPolicy":
                object_["spec"].update(change["spec"])
            else:
                merge(object_, change)
    return objects


def merge(into, change):
    """As Kubernetes merges a patch of a pod's template: lists of named things by name, other lists as a whole."""
    for key, value in change.items():
        if isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        elif isinstance(value, list) and all(isinstance(item, dict) and "name" in item for item in value):
            for item in value:
                same = [other for other in into.setdefault(key, []) if other["name"] == item["name"]]
                merge(same[0], item) if same else into[key].append(item)
        else:
            into[key] = value


def selects(selector, labels):
    assert set(selector) <= {"matchLabels"}, selector
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def may(policies, way, pod, port, namespace, peer):
    """Whether a pod of the namespace flightplan may be connected to ("ingress") from, or connect ("egress") to, that peer."""
    of_pod = [p["spec"] for p in policies if way.capitalize() in p["spec"]["policyTypes"] and selects(p["spec"]["podSelector"], pod)]
    if not of_pod:
        return True
    return any(listed(rule, port, namespace, peer, "from" if way == "ingress" else "to")
               for spec in of_pod for rule in spec.get(way, []))


def listed(rule, port, namespace, peer, key):
    if "ports" in rule and port not in [p["port"] for p in rule["ports"]]:
        return False
    if key not in rule:
        return True
    for side in rule[key]:
        in_namespace = selects(side["namespaceSelector"], namespace) if "namespaceSelector" in side else namespace == OWN_NAMESPACE
        if in_namespace and selects(side.get("podSelector", {}), peer):
            return True
    return False


def containers(template):
    """Those that run as long as the pod: sidecars are init containers that are always started anew."""
    return template["spec"]["containers"] + [c for c in template["spec"].get("initContainers", []) if c.get("restartPolicy") == "Always"]


def made_maps(folder):
    """The config maps that a kustomization and those it takes make, each with its keys."""
    wanted = yaml.safe_load((folder / "kustomization.yaml").read_text())
    maps = {g["name"]: {file.rpartition("=")[0] or file.rpartition("/")[2] for file in g["files"]} for g in wanted.get("configMapGenerator", [])}
    for name in wanted["resources"]:
        if (folder / name).is_dir():
            maps |= made_maps(folder / name)
    return maps


def wanted_keys(template, config):
    """(kind, name, key) of all that a pod takes of secrets and config maps. Of a volume, the files that its `config` and its
    containers name."""
    spec = template["spec"]
    containers_ = spec["containers"] + spec.get("initContainers", [])
    for container in containers_:
        for variable in container.get("env", []):
            for kind in ("secret", "configMap"):
                if ref := variable.get("valueFrom", {}).get(f"{kind}KeyRef"):
                    yield kind, ref["name"], ref["key"]
        for source in container.get("envFrom", []):
            raise AssertionError(f"say which keys are taken, not envFrom: {source}")
    named = config + json.dumps(containers_)
    mounts = {mount["name"]: mount["mountPath"] for container in containers_ for mount in container.get("volumeMounts", [])}
    for volume in spec.get("volumes", []):
        for kind, key in (("secret", "secretName"), ("configMap", "name")):
            if kind in volume:
                yield kind, volume[kind][key], None
                for file in re.findall(re.escape(mounts[volume["name"]]) + r"/([\w.-]+)", named):
                    yield kind, volume[kind][key], file


def pods(objects):
    return {o["metadata"]["name"]: o["spec"]["template"] for o in objects if o["kind"] in ("Deployment", "DaemonSet", "Job")}


class Manifests(unittest.TestCase):
    def setUp(self):
        self.objects = documents(ROOT / "kubernetes/overlays/site")
        self.policies = [o for o in self.objects if o["kind"] == "NetworkPolicy"]

    def test_only_those_who_are_named_get_in(self):
        server, webhook, probe = ({"app": name} for name in ("flightplan", "flightplan-webhook", "flightplan-probe"))
        for pod, port, namespace, peer, right in [
                (server, "grpc", CLIENTS, {}, True),
                (server, "grpc", ANYWHERE, {}, False),
                (server, "grpc", {"flightplan.dev/client": "false"}, {}, False),
                (server, "grpc", MONITORING, {}, False),
                (server, "grpc", OWN_NAMESPACE, probe, False),
                (server, "grpc", OWN_NAMESPACE, {"app": "else"}, False),
                (server, "http", MONITORING, {}, True),
                (server, "http", CLIENTS, {}, False),
                (server, "front-http", MONITORING, {}, True),
                (server, "front-http", CLIENTS, {}, False),
                (server, "health", CLIENTS, {}, False),
                (webhook, "webhook", ANYWHERE, {}, True),  # the API server has no label
                (webhook, "grpc", CLIENTS, {}, False),
                (webhook, "http", MONITORING, {}, True),
                (webhook, "http", ANYWHERE, {}, False),
                (probe, "grpc", CLIENTS, {}, False),
                ({"app": "else"}, "grpc", CLIENTS, {}, False)]:
            with self.subTest(pod=pod, port=port, namespace=namespace, peer=peer):
                self.assertEqual(may(self.policies, "ingress", pod, port, namespace, peer), right)

    def test_only_where_it_must_does_anything_go_out(self):
        names, store = ({"kubernetes.io/metadata.name": name} for name in ("kube-system", "postgresql"))
        for app, port, namespace, peer, right in [
                ("flightplan", 53, names, {}, True),
                ("flightplan", 5432, store, {}, True),
                ("flightplan", 443, ANYWHERE, {}, False),
                ("flightplan-webhook", 53, names, {}, False),
                ("flightplan-webhook", 5432, store, {}, False),
                ("flightplan-probe", "grpc", OWN_NAMESPACE, {"app": "flightplan"}, False),
                ("flightplan-probe", 53, names, {}, False),
                ("else", 53, names, {}, False)]:
            with self.subTest(app=app, port=port, namespace=namespace):
                self.assertEqual(may(self.policies, "egress", {"app": app}, port, namespace, peer), right)

    def test_the_webhook_shares_no_pod_with_the_callers(self):
        services = {o["metadata"]["name"]: o["spec"] for o in self.objects if o["kind"] == "Service"}
        for name, spec in services.items():
            ports = {port["targetPort"] for port in spec["ports"]}
            self.assertEqual("webhook" in ports, spec["selector"]["app"] == "flightplan-webhook", name)
        configuration = yaml.safe_load((ROOT / "../clients/kubernetes/webhook.yaml").read_text())
        for hook in configuration["webhooks"]:
            service = hook["clientConfig"]["service"]
            self.assertEqual(service["port"], services[service["name"]]["ports"][0]["port"])
            self.assertEqual(services[service["name"]]["ports"][0]["targetPort"], "webhook")

    def test_services_and_probes_name_ports_that_are_there(self):
        templates = pods(self.objects)
        for o in self.objects:
            if o["kind"] == "Service":
                [template] = [t for t in templates.values() if selects({"matchLabels": o["spec"]["selector"]}, t["metadata"]["labels"])]
                named = {p["name"] for c in containers(template) for p in c.get("ports", [])}
                self.assertLessEqual({p["targetPort"] for p in o["spec"]["ports"]}, named, o["metadata"]["name"])
        for template in templates.values():
            for container in containers(template):
                named = {p["name"] for p in container.get("ports", [])}
                for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                    if probe in container:
                        [asked] = container[probe].keys() & {"httpGet", "tcpSocket"}
                        self.assertIn(container[probe][asked]["port"], named)

    def test_every_container_is_bounded_and_without_rights(self):
        for name, template in pods(self.objects + documents(PROBE)).items():
            self.assertIs(template["spec"]["securityContext"]["runAsNonRoot"], True, name)
            self.assertIs(template["spec"]["automountServiceAccountToken"], False, name)
            for container in template["spec"]["containers"] + template["spec"].get("initContainers", []):
                least = container["securityContext"]
                self.assertEqual((least["allowPrivilegeEscalation"], least["readOnlyRootFilesystem"], least["capabilities"]),
                                 (False, True, {"drop": ["ALL"]}), container["name"])
            if name in ("flightplan", "flightplan-webhook"):
                for container in containers(template):
                    self.assertIn("memory", container["resources"]["limits"], container["name"])

    def test_what_a_site_has_to_make_is_listed(self):
        """The secrets at the head of the overlay, with their keys; config maps are made by the kustomizations."""
        site = ROOT / "kubernetes/overlays/site"
        listed = {name: set(keys.split(", ")) for name, keys in
                  re.findall(r"^#   ([\w-]+) +([\w.]+(?:, [\w.]+)*)\b", (site / "kustomization.yaml").read_text(), re.M)}
        made = made_maps(site)
        configs = {"flightplan": "base", "flightplan-webhook": "webhook"}
        wanted = {}
        for name, template in pods(self.objects).items():
            config = (ROOT / "kubernetes" / configs[name] / "config.yaml").read_text()
            for kind, of, key in wanted_keys(template, config):
                if kind == "secret":
                    wanted.setdefault(of, set()).update([key] if key else [])
                else:
                    self.assertIn(of, made, name)
                    self.assertTrue(key is None or key in made[of], (of, key))
        self.assertEqual(wanted, listed)

    def test_a_probe_ends_and_gives_its_gpu_back(self):
        """A pod holds its devices as long as it lives, whatever its init containers have done since."""
        for objects in (self.objects, documents(PROBE)):
            for o in objects:
                specs = [template["spec"] for template in pods([o]).values()]
                if any("nvidia.com/gpu" in c.get("resources", {}).get("limits", {}) for s in specs for c in s["containers"] + s.get("initContainers", [])):
                    self.assertEqual(o["kind"], "Job")
                    self.assertLessEqual(o["spec"]["activeDeadlineSeconds"], 600)
        [job] = documents(PROBE)
        [measure] = job["spec"]["template"]["spec"]["containers"]
        self.assertEqual(measure["resources"]["limits"]["nvidia.com/gpu"], 1)
        # What it is started from has the worker; the service's image has none.
        built = {name: (ROOT / "container" / name).read_text() for name in ("Containerfile", "Containerfile.probe")}
        self.assertIn(f"-t {measure['image']} .", built["Containerfile.probe"])
        self.assertIn("bin/flightplan-probe", built["Containerfile.probe"])

    def test_profiles_are_the_same_in_every_replica(self):
        """One that is imported by an rpc reaches one pod, so they are files, of a config map of the site's own."""
        [server] = pods(self.objects)["flightplan"]["spec"]["containers"]
        folder = next(e["value"] for e in server["env"] if e["name"] == "FLIGHTPLAN_PROFILE_DIR")
        [mount] = [m for m in server["volumeMounts"] if m["mountPath"] == folder]
        [volume] = [v for v in pods(self.objects)["flightplan"]["spec"]["volumes"] if v["name"] == mount["name"]]
        self.assertIn(volume["configMap"]["name"], made_maps(ROOT / "kubernetes/overlays/site"))

    def test_what_is_scaled_names_no_number(self):
        """An apply would set it back, in the middle of the load for which there were more."""
        scaled = {o["spec"]["scaleTargetRef"]["name"] for o in self.objects if o["kind"] == "HorizontalPodAutoscaler"}
        self.assertTrue(scaled)
        for o in self.objects:
            if o["kind"] == "Deployment":
                self.assertEqual("replicas" in o["spec"], o["metadata"]["name"] not in scaled, o["metadata"]["name"])

    def test_every_pod_with_metrics_is_scraped(self):
        monitored = set()
        services = {json.dumps(o["metadata"].get("labels")): o["spec"]["selector"] for o in self.objects if o["kind"] == "Service"}
        for o in self.objects:
            if o["kind"] == "PodMonitor":
                monitored |= {(o["spec"]["selector"]["matchLabels"]["app"], e["port"]) for e in o["spec"]["podMetricsEndpoints"]}
            if o["kind"] == "ServiceMonitor":
                pod = services[json.dumps(o["spec"]["selector"]["matchLabels"])]
                monitored |= {(pod["app"], e["port"]) for e in o["spec"]["endpoints"]}
        with_metrics = {(t["metadata"]["labels"]["app"], p["name"]) for t in pods(self.objects).values()
                        for c in containers(t) for p in c.get("ports", []) if p["name"] in ("http", "front-http")}
        self.assertEqual(monitored, with_metrics)
        self.assertIn("PrometheusRule", {o["kind"] for o in self.objects})

    def test_strangers_meet_the_front_and_not_grpc(self):
        spec = pods(self.objects)["flightplan"]["spec"]
        [front] = [c for c in spec["initContainers"] if c["name"] == "front"]
        self.assertEqual(front["restartPolicy"], "Always")
        self.assertIn("grpc", {p["name"] for p in front["ports"]})
        self.assertNotIn("grpc", {p["name"] for c in spec["containers"] for p in c["ports"]})
        for folder in ("base", "webhook"):
            config = yaml.safe_load((ROOT / "kubernetes" / folder / "config.yaml").read_text())
            self.assertEqual([a for a in config["listen"] if not a.startswith("unix:/")], [], folder)
        base = yaml.safe_load((ROOT / "kubernetes/base/config.yaml").read_text())
        folder = base["front_listen"].removeprefix("unix:").rpartition("/")[0]
        for container in [front, *spec["containers"]]:  # what front.cfg connects to
            self.assertIn(folder, [v["mountPath"] for v in container["volumeMounts"]], container["name"])
        self.assertIn("unix@" + base["front_listen"].removeprefix("unix:"), (ROOT / "haproxy/front.cfg").read_text())
        leaves = next(int(e["value"]) for e in front["env"] if e["name"] == "FLIGHTPLAN_FRONT_LEAVES")
        self.assertLess(leaves, int(base["drain_delay"].removesuffix("s")))


    def test_a_pod_is_killed_only_after_its_server_has_drained(self):
        for folder in ("base", "webhook"):
            config = yaml.safe_load((ROOT / "kubernetes" / folder / "config.yaml").read_text())
            drains = sum(int(config[key].removesuffix("s")) for key in ("drain_delay", "drain_timeout"))
            text = (ROOT / "kubernetes" / folder / "deployment.yaml").read_text()
            grace = int(re.search(r"terminationGracePeriodSeconds: (\d+)", text).group(1))
            self.assertGreaterEqual(grace, drains + 5, folder)  # and kAirToEnd of service/server.h


def kustomized(folder):
    """What kubectl makes of a folder: exit code, output, errors."""
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


class Site(unittest.TestCase):
    """The overlay that a site completes."""

    UNSET = re.compile(r'^    "(the image of this site is not set: [^"]+)": true\n', re.M)
    DIGEST = "sha256:" + "ab" * 32

    def setUp(self):
        if shutil.which("kubectl") is None:
            self.skipTest("kubectl is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        shutil.copytree(ROOT / "kubernetes", folder.name, dirs_exist_ok=True)
        self.overlay = pathlib.Path(folder.name) / "overlays/site"

    def test_it_is_not_applied_as_it_stands(self):
        code, out, err = kustomized(self.overlay)
        self.assertEqual((code != 0, out), (True, ""))
        self.assertIn("the image of this site is not set: write newName (in your registry) and digest", err)

    def test_the_image_is_the_one_that_is_set(self):
        file = self.overlay / "kustomization.yaml"
        text, lines = self.UNSET.subn(f"    newName: registry.example.com/flightplan\n    digest: {self.DIGEST}\n", file.read_text())
        self.assertEqual(lines, 1)
        file.write_text(text)
        code, out, err = kustomized(self.overlay)
        self.assertEqual(code, 0, err)
        images = {c["image"] for t in pods(list(yaml.safe_load_all(out))).values() for c in t["spec"]["containers"] + t["spec"].get("initContainers", [])}
        self.assertIn(f"registry.example.com/flightplan@{self.DIGEST}", images)
        self.assertEqual([image for image in images if "@sha256:" not in image], [])


class Images(unittest.TestCase):
    """Other people's images go by digest: a tag is what its owner says today."""

    def test_in_the_manifests(self):
        for path in sorted((ROOT / "kubernetes").rglob("*.yaml")):
            for image in re.findall(r"^\s*(?:- )?image: *(\S+)", path.read_text(), re.M):
                if image not in OWN:
                    self.assertRegex(image, r"@sha256:[0-9a-f]{64}$", path)

    def test_our_own_in_the_overlays(self):
        for folder in OVERLAYS:
            images = yaml.safe_load((folder / "kustomization.yaml").read_text())["images"]
            for image in images:
                if any("is not set" in key for key in image):  # see Site
                    self.assertFalse({"newName", "digest"} & image.keys(), folder)
                elif image["name"] in OWN and not image["newName"].startswith("localhost/"):  # built on the node itself
                    self.assertRegex(image.get("digest", ""), r"^sha256:[0-9a-f]{64}$", folder)

    def test_in_container_files(self):
        for path in sorted((ROOT / "container").glob("Containerfile*")):
            text = path.read_text()
            arguments = dict(re.findall(r"^ARG (\w+)=(\S+)", text, re.M))
            stages = set(re.findall(r"^FROM \S+ AS (\S+)", text, re.M))
            for image in re.findall(r"^FROM (\S+)", text, re.M):
                image = re.sub(r"\$\{(\w+)\}", lambda m: arguments[m.group(1)], image)
                if image != "scratch" and image not in stages:
                    self.assertRegex(image, r"@sha256:[0-9a-f]{64}$", path)


if __name__ == "__main__":
    unittest.main()
