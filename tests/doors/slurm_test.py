#!/usr/bin/env python3
"""The Slurm door against the real daemons: munged, slurmctld, slurmd and a Flightplan server in one folder.

usage: slurm_test.py FLIGHTPLAN_BINARY
Works as root in a container without systemd and cgroups. Exit code 77 and "skipped: ..." where Slurm is not installed.
"""
import os
import pwd
import shutil
import signal
import sys
import threading
import time
import unittest

from slurm_cluster import Cluster

SKIPPED = 77
os.environ["PATH"] += ":/usr/sbin:/sbin"
for tool in ("slurmctld", "slurmd", "munged", "sbatch", "srun"):
    if shutil.which(tool) is None:
        print(f"skipped: {tool} is not installed (slurm-wlm, munge)")
        sys.exit(SKIPPED)
if os.geteuid() != 0:
    print("skipped: slurmd starts jobs of other users, so this test runs as root")
    sys.exit(SKIPPED)

FLIGHTPLAN = os.path.abspath(sys.argv.pop(1))

FLAGS = ("--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
         "--micro-batch-size 1 --global-batch-size 128 --pipeline-model-parallel-size 2 --bf16 --train-iters 10 --lr 1e-4 "
         "--mock-data --tokenizer-type NullTokenizer --vocab-size 32000")
FIX = "fix: --tensor-model-parallel-size 2"


def job(tp, head="#SBATCH --nodes=1\n#SBATCH --gpus-per-node=8\n", size="--nnodes $SLURM_NNODES --nproc-per-node 8"):
    """A job whose launch does nothing, so that it ends at once. (The shell's own no-op, `:`, is no launch.)"""
    return (f"#!/bin/bash\n{head}export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
            f"/bin/true torchrun {size} pretrain_gpt.py {FLAGS} --tensor-model-parallel-size {tp}\n")


def uid_of(user):
    return pwd.getpwnam(user).pw_uid


def grp_of(user):
    return pwd.getpwnam(user).pw_gid


class SlurmDoor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(FLIGHTPLAN)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()

    def script(self, text, name="train.sbatch"):
        path = self.cluster.root / "work" / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def submit(self, text, *args, name="train.sbatch"):
        return self.cluster.run("sbatch", *args, self.script(text, name))

    def accepted(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()[-1]

    def job_field(self, job_id, field):
        text = self.cluster.run("scontrol", "-o", "show", "job", job_id).stdout
        return dict(word.split("=", 1) for word in text.split() if "=" in word).get(field, "")

    def test_enforce_refuses_with_the_fix_on_the_terminal(self):
        self.cluster.settings(mode="enforce")
        done = self.submit(job(3), "-J", "never")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("this job would fail (megatron-lm main)", done.stderr)
        self.assertIn("tensor_model_parallel_size=3, pipeline_model_parallel_size=2", done.stderr)
        self.assertIn("world_size=8", done.stderr)
        self.assertIn(FIX, done.stderr)
        self.assertEqual(self.cluster.run("squeue", "-h").stdout.count("never"), 0)

    def test_each_launch_of_a_job_is_judged(self):
        self.cluster.settings(mode="enforce")
        done = self.submit(job(3) + job(2, head=""), "-J", "warm-up")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(FIX, done.stderr)

    def test_enforce_lets_a_good_job_through_and_marks_it(self):
        self.cluster.settings(mode="enforce")
        done = self.submit(job(2), "--comment", "mine")
        job_id = self.accepted(done)
        self.assertNotIn("flightplan", done.stderr)
        self.assertRegex(self.cluster.run("scontrol", "show", "job", job_id).stdout, r"Comment=mine flightplan=fp1-[0-9a-f]+")
        self.cluster.wait(lambda: self.job_field(job_id, "JobState") == "COMPLETED", "the job's end", 60)

    def test_warn_tells_and_lets_through(self):
        self.cluster.settings(mode="warn")
        done = self.submit(job(3))
        self.accepted(done)
        self.assertIn(FIX, done.stderr)

    def test_shadow_only_logs(self):
        self.cluster.settings(mode="shadow")
        done = self.submit(job(3), "-J", "shadowed")
        self.accepted(done)
        self.assertNotIn("flightplan", done.stderr + done.stdout)
        self.assertRegex(self.cluster.log(), r"flightplan: job shadowed: refused fp1-[0-9a-f]+ in mode shadow")

    def test_size_comes_from_the_command_line_of_sbatch(self):
        self.cluster.settings(mode="enforce")
        # The script's own lines say 8 GPUs, on which TP 2 x PP 2 fits; the command line's 6 win.
        done = self.submit(job(2, size="--nnodes $SLURM_NNODES --nproc-per-node $SLURM_GPUS_ON_NODE"), "--gpus-per-node=6")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("world_size=6", done.stderr)

    def test_a_launcher_of_another_size_is_warned_of(self):
        self.cluster.settings(mode="enforce")
        done = self.submit(job(2), "--gpus-per-node=6")
        self.accepted(done)
        self.assertIn("the launcher starts 8 processes, the job asks for 6 GPUs", done.stderr)

    def test_variables_of_the_submitting_shell_are_known(self):
        self.cluster.settings(mode="enforce")
        os.environ["TP"] = self.cluster.environment["TP"] = "3"
        self.addCleanup(self.cluster.environment.pop, "TP")
        self.assertIn(FIX, self.submit(job("$TP")).stderr)

    def test_hung_checker_costs_its_time_and_no_job(self):
        hung = self.cluster.root / "hung"
        hung.write_text("#!/bin/sh\nexec sleep 600\n")
        hung.chmod(0o755)
        self.cluster.settings(mode="enforce", program=str(hung), seconds=0.5)
        self.accepted(self.submit(job(3), "-J", "hung"))
        self.assertIn("flightplan: job hung: failed (no answer within 0.5 s), let through", self.cluster.log())

    def counting(self, name, then):
        """A checker that counts how often it is asked, and does `then`."""
        program, asked = self.cluster.root / name, self.cluster.root / f"{name}.asked"
        program.write_text(f"#!/bin/sh\necho >>{asked}\n{then}\n")
        program.chmod(0o755)
        asked.write_text("")
        return program, lambda: asked.read_text().count("\n")

    def since(self, length):
        return self.cluster.log()[length:]

    def test_a_checker_that_hangs_is_not_asked_for_ever(self):
        program, asked = self.counting("stuck", "exec sleep 600")
        self.cluster.settings(mode="enforce", program=str(program), seconds=1, failures=3, pause=3600, hold=3600)
        before = len(self.cluster.log())
        for i in range(8):
            self.accepted(self.submit(job(3), "--hold", "-J", f"stuck{i}"))
        log = self.since(before)
        self.assertEqual(asked(), 3)
        self.assertEqual(log.count("failed (no answer within 1 s), let through"), 3)
        self.assertEqual(log.count("3 reviews in a row failed: no review for 3600 s, jobs are let through unchecked"), 1)
        self.assertNotIn("stuck3", log.replace("job_submit", ""))  # the log has the pause once, not once a job

    def test_after_the_pause_it_is_asked_once_more(self):
        program, asked = self.counting("back", "exec sleep 600")
        self.cluster.settings(mode="enforce", program=str(program), seconds=0.2, failures=2, pause=2, hold=3600)
        before = len(self.cluster.log())
        self.accepted(self.submit(job(3), "--hold"))
        self.accepted(self.submit(job(3), "--hold"))
        self.cluster.wait(lambda: "2 reviews in a row failed" in self.since(before), "the pause")
        time.sleep(2.1)
        self.accepted(self.submit(job(3), "--hold"))  # one failure is enough now
        self.assertEqual(self.since(before).count("2 reviews in a row failed"), 2)
        self.assertEqual(asked(), 3)
        program.write_text(f"#!/bin/sh\nexec {FLIGHTPLAN} \"$@\"\n")
        time.sleep(2.1)
        # A review of its own time, where a busy machine takes longer than 0.2 s: then it pauses again, and tries again.
        for _ in range(20):
            done = self.submit(job(3), "--hold")
            if done.returncode != 0:
                break
            time.sleep(2.1)
        self.assertIn(FIX, done.stderr)

    def test_slow_answers_take_no_more_than_their_share(self):
        program, asked = self.counting("slow", f"sleep 0.3\nexec {FLIGHTPLAN} \"$@\"")
        self.cluster.settings(mode="enforce", program=str(program), seconds=10, failures=1000, pause=3600, hold=0.5)
        before = len(self.cluster.log())
        refused = sum(self.submit(job(3), "--hold").returncode != 0 for _ in range(8))
        self.assertEqual(refused, asked())  # what answers is obeyed, late or not
        self.assertIn(asked(), (1, 2))      # 0.3 s each at least, of 0.5
        self.assertRegex(self.since(before), r"reviews took [0-9.]+ s of 3600 s: no review for \d+ s, jobs are let through")

    def submit_as(self, user, text, *flags):
        """By another user of this machine (there must be one of that name), whose reviews are counted on their own."""
        path = self.script(text, f"of-{user}.sbatch")
        path.chmod(0o644)
        return self.cluster.run("setpriv", f"--reuid={user}", f"--regid={grp_of(user)}", "--clear-groups", "sbatch", "--hold", *flags, path)

    def test_one_user_who_makes_reviews_slow_stops_only_their_own(self):
        # Slow for whoever is called so, quick for the others: what a user's own script can bring about.
        program, asked = self.counting("slow_for_one", f'case "$*" in *SLOW*) exec sleep 600;; esac\nexec {FLIGHTPLAN} "$@"')
        slow = job(3).replace("--mock-data", "--mock-data $SLOW")
        self.cluster.settings(mode="enforce", program=str(program), seconds=3, failures=2, pause=3600, hold=3600)
        self.cluster.environment["SLOW"] = "SLOW"
        self.addCleanup(self.cluster.environment.pop, "SLOW")
        before = len(self.cluster.log())
        for _ in range(4):
            self.accepted(self.submit_as("daemon", slow))
        self.assertEqual(asked(), 2)
        self.assertIn(f"user {uid_of('daemon')}: 2 reviews in a row failed: no review for 3600 s", self.since(before))
        for user in ("bin", "nobody"):  # their reviews go on, and are obeyed
            self.assertIn(FIX, self.submit_as(user, job(3)).stderr)
        self.assertEqual(asked(), 4)
        self.accepted(self.submit_as("daemon", job(3)))  # still none
        self.assertEqual(asked(), 4)

    def test_one_user_has_a_share_of_the_time_that_reviews_take(self):
        program, asked = self.counting("slow_for_all", f"sleep 0.3\nexec {FLIGHTPLAN} \"$@\"")
        self.cluster.settings(mode="enforce", program=str(program), failures=1000, pause=3600, hold=3600, user_hold=0.5)
        before = len(self.cluster.log())
        refused = sum(self.submit_as("daemon", job(3)).returncode != 0 for _ in range(5))
        self.assertEqual(refused, asked())
        self.assertIn(asked(), (1, 2))
        self.assertRegex(self.since(before), rf"user {uid_of('daemon')}: reviews took [0-9.]+ s of 3600 s: no review for")
        self.assertIn(FIX, self.submit_as("bin", job(3)).stderr)

    def test_failures_of_more_than_one_user_stop_everybody(self):
        program, asked = self.counting("fails", "exit 9")
        self.cluster.settings(mode="enforce", program=str(program), failures=3, pause=3600, hold=3600)
        before = len(self.cluster.log())
        for user in ("daemon", "bin", "nobody", "daemon"):
            self.accepted(self.submit_as(user, job(3)))
        self.assertEqual(asked(), 3)
        self.assertIn("flightplan: 3 reviews in a row failed: no review for 3600 s", self.since(before))

    def test_a_server_that_answers_late_hangs_or_is_gone(self):
        server = self.cluster.processes["serve"]
        self.cluster.settings(mode="enforce", seconds=10)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            late = threading.Timer(1, os.kill, (server.pid, signal.SIGCONT))
            late.start()
            self.assertIn(FIX, self.submit(job(3), "--hold").stderr)
            late.join()
            self.cluster.settings(mode="enforce", seconds=0.3, failures=2, pause=3600, hold=3600)
            os.kill(server.pid, signal.SIGSTOP)
            before = len(self.cluster.log())
            for i in range(5):
                self.accepted(self.submit(job(3), "--hold", "-J", f"hangs{i}"))
            self.assertEqual(self.since(before).count("failed (no answer within 0.3 s), let through"), 2)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        self.cluster.settings(mode="enforce", failures=2, pause=3600, hold=3600)
        self.cluster.stop_server()
        try:
            before = len(self.cluster.log())
            for i in range(5):
                self.accepted(self.submit(job(3), "--hold", "-J", f"gone{i}"))
            self.assertEqual(self.since(before).count("failed (flightplan validate: no answer from unix:"), 2)
            self.assertEqual(self.since(before).count("2 reviews in a row failed: no review for 3600 s"), 1)
        finally:
            self.cluster.start_server()

    def test_what_could_not_be_checked_by_mode(self):
        # Loops that take more than the budget of a review to read.
        digits = "1 2 3 4 5 6 7 8 9 0"
        loops = "".join(f"for {name} in {digits}; do " for name in "ijkl") + "y=${x:0:1}${x:0:1}; " + "done; " * 4
        too_much = "#!/bin/bash\n#SBATCH --nodes=1\nx=aaaaaaaaaaaaaaaa\n" + "x=$x$x\n" * 13 + loops + "\n" + job(3)[12:]
        large = "#!/bin/bash\n# x.py " + "x" * (5 << 20) + "\n"
        latin = b"#!/bin/bash\n# x.py \xe9\n" + job(3).encode()
        missing, asked = self.counting("failing", "exit 9")
        for script, program, why in ((too_much, FLIGHTPLAN, "too much work"), (large, FLIGHTPLAN, "a script of 5"),
                                     (latin, FLIGHTPLAN, "no UTF-8 text"), (job(2), str(missing), "failed ")):
            for mode in ("shadow", "warn", "enforce"):
                for closed in (False, True):
                    with self.subTest(why, mode=mode, fail_closed=closed):
                        self.cluster.settings(mode=mode, program=program, fail_closed=closed)
                        before = len(self.cluster.log())
                        done = self.submit(script, "--hold")
                        self.assertEqual(done.returncode != 0, mode == "enforce" and closed, done.stderr)
                        self.assertEqual("could not be checked" in done.stderr, mode != "shadow", done.stderr)
                        self.assertIn(why, self.since(before))
        self.cluster.settings(mode="enforce", program=str(missing), fail_closed=True, failures=1, pause=3600)
        before, count = len(self.cluster.log()), asked()
        for _ in range(3):  # the pause is no way around
            self.assertIn("could not be checked", self.submit(job(2), "--hold").stderr)
        self.assertEqual(asked(), count + 1)
        self.assertIn("1 reviews in a row failed: no review for 3600 s, jobs are refused", self.since(before))

    def test_a_name_is_one_line_of_the_log(self):
        self.cluster.settings(mode="shadow")
        name = "a\n[2026-01-01T00:00:00.000] error: flightplan: forged\x1b[2J\u009b\\n\t"
        self.accepted(self.submit(job(3), "--hold", "-J", name))
        ours = [line for line in self.cluster.log().splitlines() if "forged" in line and "flightplan: job" in line]
        self.assertEqual(len(ours), 1)
        self.assertIn(r"job a\n[2026-01-01T00:00:00.000] error: flightplan: forged\x1b[2J\u009b\\n\t: refused", ours[0])
        self.accepted(self.submit(job(3), "--hold", "-J", "x" * 600))
        self.assertRegex(self.cluster.log(), r"flightplan: job x{100,128}\.\.\.: refused")

    def test_settings_out_of_range_are_not_taken(self):
        self.cluster.settings(mode="enforce", seconds=0, failures=0, pause=-1, hold=0, user_hold=0)
        self.assertIn(FIX, self.submit(job(3)).stderr)
        for key in ("seconds", "failures", "pause", "hold", "user_hold"):
            self.assertIn(f"flightplan_conf.lua: {key} must be from ", self.cluster.log())

    def test_fail_closed_refuses_what_could_not_be_checked(self):
        self.cluster.settings(mode="enforce", program="/nonexistent", fail_closed=True)
        done = self.submit(job(2))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("could not be checked", done.stderr)

    def test_server_down_lets_through_and_logs(self):
        self.cluster.settings(mode="enforce")
        self.cluster.stop_server()
        try:
            self.accepted(self.submit(job(3), "-J", "orphan"))
            self.assertRegex(self.cluster.log(), r"flightplan: job orphan: failed \(flightplan validate: no answer from unix:")
        finally:
            self.cluster.start_server()

    def test_other_jobs_and_skipped_partitions_are_left_alone(self):
        self.cluster.settings(mode="enforce", skip_partitions={"free": True})
        self.accepted(self.submit("#!/bin/bash\necho hello\n"))
        self.accepted(self.submit("#!/bin/bash\npython analysis.py --num-layers 3\n"))
        self.accepted(self.submit(job(3), "-p", "free"))

    def test_bad_scripts_are_not_run_not_judged_and_never_hang(self):
        self.cluster.settings(mode="enforce")
        owned = self.cluster.root / "owned"
        hostile = f"#!/bin/bash\n# $(touch {owned}) `touch {owned}` '; touch {owned}; '\nTP=$(touch {owned}-by-job; echo 2)\n" + job("$TP")
        self.accepted(self.submit(hostile, "--hold", "-J", f"$(touch {owned})'; touch {owned}; '"))
        self.assertFalse(owned.exists())
        self.accepted(self.submit("#!/bin/bash\n# x.py " + "x" * (10 << 20) + "\n", "--hold", name="large.sbatch"))
        self.accepted(self.submit(b"#!/bin/bash\n# x.py \x80\xff\xfe\x01\n" + job(2).encode(), "--hold", name="bytes.sbatch"))
        # Neither nodes nor GPUs are said: the process grid is not judged.
        self.accepted(self.submit(job(3, head="", size="").replace("heads 32", "heads 33").replace("size 4096 ", "size 4224 "),
                                  "--hold", name="sizeless.sbatch"))

    def test_srun_is_checked_by_the_cli_filter(self):
        self.cluster.settings(mode="enforce")
        true = self.script("import sys\nprint('ran', len(sys.argv))\n", "pretrain_gpt.py")
        words = ["srun", "--nodes=1", "--ntasks=8", "--gpus-per-node=8", "python3", true, *FLAGS.split()]
        done = self.cluster.run(*words, "--tensor-model-parallel-size", "3")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(FIX, done.stderr)
        self.assertNotIn("ran", done.stdout)
        done = self.cluster.run(*words, "--tensor-model-parallel-size", "2", "--tensorboard-dir", "$(touch owned); a 'b'")
        self.assertIn("ran", done.stdout, done.stderr)
        self.assertFalse((self.cluster.root / "work/owned").exists())

    def test_reviews_are_counted_at_the_server(self):
        self.cluster.settings(mode="enforce")

        def count(verdict):
            line = f'flightplan_door_reviews_total{{door="slurm",mode="enforce",verdict="{verdict}"}} '
            return float(next(row for row in self.cluster.metrics().splitlines() if row.startswith(line)).split()[-1])
        before = count("refused"), count("allowed")
        self.submit(job(3))
        self.submit(job(2))
        self.assertEqual((count("refused"), count("allowed")), (before[0] + 1, before[1] + 1))


if __name__ == "__main__":
    unittest.main()
