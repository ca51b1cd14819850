"""A Slurm cluster in one folder: munged, slurmctld and slurmd, with the hooks of clients/slurm."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent / "../support"))
from serving import free_port  # noqa: E402

HOOKS = pathlib.Path(__file__).resolve().parents[2] / "clients/slurm"


class Cluster:
    """One controller, one node, and a Flightplan server that its hooks ask."""

    def __init__(self, flightplan):
        self.flightplan = flightplan
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="slurm-door-", dir="/tmp"))
        self.root.chmod(0o755)
        self.processes = {}
        self.http_port = free_port()
        for folder in ("munge", "state", "spool", "work"):
            (self.root / folder).mkdir()
        (self.root / "munge").chmod(0o755)
        self.environment = {**os.environ, "SLURM_CONF": str(self.root / "slurm.conf")}
        self.server = f"unix:{self.root}/flightplan.sock"

    def start(self):
        key = self.root / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        munge = self.root / "munge"
        self.spawn("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}/socket",
                   f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        host = socket.gethostname().split(".")[0]
        (self.root / "slurm.conf").write_text(f"""
ClusterName=door
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge}/socket
CredType=cred/munge
StateSaveLocation={self.root}/state
SlurmdSpoolDir={self.root}/spool
SlurmctldPidFile={self.root}/slurmctld.pid
SlurmdPidFile={self.root}/slurmd.pid
SlurmctldLogFile={self.root}/slurmctld.log
SlurmdLogFile={self.root}/slurmd.log
SlurmctldDebug=info
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=defer_batch,sched_interval=1,max_script_size=16777216
JobSubmitPlugins=lua
CliFilterPlugins=lua
GresTypes=gpu
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=8 RealMemory=1 Gres=gpu:h100:8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=5 State=UP
PartitionName=free Nodes=ALL MaxTime=5 State=UP
""")
        for i in range(8):  # slurmd counts device files; any file will do, since nothing opens them
            (self.root / f"gpu{i}").touch()
        (self.root / "gres.conf").write_text(f"Name=gpu Type=h100 File={self.root}/gpu[0-7]\n")
        (self.root / "cgroup.conf").write_text("CgroupAutomount=no\n")
        for hook in ("flightplan.lua", "job_submit.lua", "cli_filter.lua"):
            shutil.copy(HOOKS / hook, self.root / hook)
        self.settings()
        self.start_server()
        self.wait(lambda: (munge / "socket").exists(), "munged")
        self.spawn("slurmctld", "-D", "-i", "-f", self.root / "slurm.conf")
        self.spawn("slurmd", "-D", "-f", self.root / "slurm.conf")
        self.wait(lambda: "idle" in self.run("sinfo", "-h", "-n", "node1", "-o", "%T").stdout, "node1", 60)

    def start_server(self):
        self.spawn("serve", f"--listen={self.server}", f"--http_listen=127.0.0.1:{self.http_port}", "--drain_delay=0s",
                   program=self.flightplan)
        self.wait(lambda: pathlib.Path(self.server[5:]).exists(), "the server")

    def stop_server(self):
        self.stop("serve")
        pathlib.Path(self.server[5:]).unlink(missing_ok=True)

    def spawn(self, name, *args, program=None):
        command = [program, name] if program else [name]
        with open(self.root / f"{name}.out", "ab") as log:
            self.processes[name] = subprocess.Popen([*command, *map(str, args)], stdout=log, stderr=log,
                                                    env=self.environment, cwd=self.root, start_new_session=True)

    def stop(self, name):
        process = self.processes.pop(name)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def close(self):
        self.run("scancel", "-u", "root")
        for name in list(self.processes)[::-1]:
            self.stop(name)
        shutil.rmtree(self.root, ignore_errors=True)

    def wait(self, condition, what, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.1)
        for log in self.root.glob("*.[ol][uo][tg]"):
            print(f"--- {log}\n{log.read_text(errors='replace')[-3000:]}")
        raise RuntimeError(f"{what} did not come up in {seconds} s")

    def run(self, *command, **options):
        return subprocess.run([str(c) for c in command], env=self.environment, cwd=self.root / "work", text=True,
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL, **options)

    def settings(self, **conf):
        """Writes the site's settings; the hook is read again because its time of change moves."""
        conf = {"program": self.flightplan, "server": self.server, "seconds": 10, "hold": 3600, "user_hold": 3600, **conf}  # a busy machine is no time-out

        def lua(value):
            if isinstance(value, bool):
                return "true" if value else "false"
            if isinstance(value, dict):
                return "{" + ", ".join(f"{k} = {lua(v)}" for k, v in value.items()) + "}"
            if isinstance(value, list):
                return "{" + ", ".join(map(lua, value)) + "}"
            return str(value) if isinstance(value, (int, float)) else '"' + value + '"'
        (self.root / "flightplan_conf.lua").write_text("return " + lua(conf) + "\n")
        self.touched = getattr(self, "touched", int(time.time())) + 2
        os.utime(self.root / "job_submit.lua", (self.touched, self.touched))

    def log(self):
        return (self.root / "slurmctld.log").read_text(errors="replace")

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=10) as answer:
            return answer.read().decode()
