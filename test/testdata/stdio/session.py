"""A whole session over carrel stdio, by the client of the manual. argv: its directory,
two working directories, an undo directory. What is wrong ends it with a traceback."""
import os, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from client import Carrel

first, second, undo = sys.argv[2:]
names = lambda: sorted(os.listdir(first))
for i in range(10):
    open(f"{first}/f{i}", "w").write("x" * i)
everything = names()

c = Carrel("--working-dir", first, "--working-dir", second, "--undo-dir", undo)
c.request("safeguard.configure", delete_threshold=3, timeout_seconds=30)
assert len(c.request("session.start", protocol_version=1)["mount_points"]) == 2

# A held safeguard, allowed: everything stands still until then.
c.request("agent.execute", command="rm -f f*")
held = c.event("safeguard_triggered")
assert held["kind"] == "delete_threshold" and len(held["sample_paths"]) == 3, held
time.sleep(0.2)
assert len(names()) == 8, names()
assert c.request("session.status")["waiting"][0]["approval_id"] == held["safeguard_id"]
c.request("safeguard.confirm", safeguard_id=held["safeguard_id"], action="allow")
done = c.event("step_completed")
assert done["exit_code"] == 0 and len(done["affected_paths"]) == 10 and names() == [], done

# Undo, redo, undo.
assert c.request("carrel.preview")["step_ids"] == [done["step_id"]]
assert c.request("undo.rollback", count=1)["steps_rolled_back"] == 1 and names() == everything
assert c.request("carrel.redo")["steps_rolled_back"] == 1 and names() == []
assert c.request("undo.rollback", count=1)["steps_rolled_back"] == 1 and names() == everything

# Denied: the command ends, and what its step had done is taken back.
c.request("agent.execute", command="for f in f*; do rm $f; done; echo on > survived; sleep 60")
held = c.event("safeguard_triggered")
assert c.request("safeguard.confirm", safeguard_id=held["safeguard_id"], action="deny")["rolled_back"]
assert c.event("step_completed")["signal"] and names() == everything, names()

# Steps that the command ends itself begin no count anew.
c.request("agent.execute", command="for f in f*; do carrel step begin; rm $f; carrel step end; done")
held = c.event("safeguard_triggered")
assert len(held["sample_paths"]) == 3 and len(names()) == 8, (held, names())
command = held["command_id"]
c.request("carrel.cancel", command_id=command)  # also of what is held
assert c.event("step_completed", command_id=command)["signal"] and len(names()) == 8
c.request("undo.rollback", count=9)
assert names() == everything, names()

# Nobody answers: it does not happen, and nothing more of the step does.
c.request("safeguard.configure", overwrite_file_size_threshold=5, timeout_seconds=0.2)
done = c.run("echo > f9; echo > new; rm f0")
assert done["affected_paths"] == [] and os.path.getsize(f"{first}/f9") == 9 and names() == everything, done
c.request("safeguard.configure", rename_over_existing=True, timeout_seconds=0.2)
done = c.run("mv f1 f2")
assert done["affected_paths"] == [] and names() == everything, done
c.request("safeguard.configure", overwrite_file_size_threshold=5, timeout_seconds=0.2)
done = c.run("mv f1 f9")
assert done["affected_paths"] == [] and os.path.getsize(f"{first}/f9") == 9, done
c.request("safeguard.configure")

# Cancel ends everything that the command has started; its output has its id.
one = c.request("agent.execute", command=f"echo made > {second}/made; (sleep 60 & echo $! äöü; wait)")
two = c.request("agent.execute", command="sleep 60")
said = c.event("terminal_output", command_id=one["command_id"])
assert said["stream"] == "stdout" and said["data"].endswith(" äöü\n"), said
c.request("carrel.cancel", command_id=one["command_id"])
done = c.event("step_completed", command_id=one["command_id"])
assert done["signal"] and done["affected_paths"] == [f"{second}/made"], done
assert c.request("session.status")["commands"] == [two["command_id"]]
c.request("carrel.cancel", command_id=two["command_id"])

# Every directory is in the history, and can be meant.
while c.request("undo.history")["details"][-1]["state"] == "running":
    time.sleep(0.05)
assert c.request("undo.history", directory=1)["steps"] == [done["step_id"]]
assert done["step_id"] not in c.request("undo.history", directory=os.path.basename(first))["steps"]
for wrong in (7, "nowhere"):
    try:
        c.request("undo.history", directory=wrong)
        raise AssertionError(wrong)
    except RuntimeError as e:
        assert e.args[0]["code"] == "invalid_field" and e.args[0]["field"] == "directory", e

# What a command has left behind has a step of its own, which counts as every other.
left = c.run("(sleep 0.3; echo later > later; sleep 60) > /dev/null 2>&1 & echo now > now")
for _ in range(100):
    if os.path.exists(f"{first}/later"):
        break
    time.sleep(0.05)
assert c.request("carrel.preview", count=1)["removed"] == [f"{first}/later", f"{first}/now"], c.request("carrel.preview", count=1)
back = c.request("undo.rollback", count=1)
assert back["steps_rolled_back"] == 1 and names() == everything, (back, names())

# Somebody else changes what a step left: told, in the way, and crossed by force only.
time.sleep(1.5)
open(f"{second}/made", "w").write("mine")
assert c.event("external_modification")["affected_paths"] == [f"{second}/made"]
try:
    c.request("undo.rollback", count=1)
    raise AssertionError("crossed")
except RuntimeError as e:
    assert e.args[0]["code"] == "carrel.conflict" and e.args[0]["conflicts"], e
assert c.request("undo.history")["barriers"]
forced = c.request("undo.rollback", count=1, force=True)
assert forced["barriers_crossed"] == 1 and not os.path.exists(f"{second}/made"), forced
c.request("carrel.redo")
assert open(f"{second}/made").read() == "mine"

# Steps in both directories, taken back in one after the other; more than there are is all.
os.remove(f"{second}/made")
c.request("undo.discard")
for i in range(3):
    c.run(f"echo {i} > {first}/both{i}; echo {i} > {second}/both{i}")
both = lambda d: [n for n in sorted(os.listdir(d)) if n.startswith("both")]
assert c.request("undo.rollback", count=2, directory=1)["steps_rolled_back"] == 2 and both(second) == ["both0"]
assert c.request("undo.rollback", count=5, directory=1)["steps_rolled_back"] == 1 and both(second) == [] and len(both(first)) == 3
assert c.request("session.status")["undo_steps"] == [3, 0], c.request("session.status")
assert c.request("undo.rollback", count=5, directory=0)["steps_rolled_back"] == 3 and both(first) == []
assert c.request("session.status")["undo_steps"] == [0, 0] and c.request("undo.rollback", count=1)["steps_rolled_back"] == 0
assert c.request("carrel.redo", count=99)["steps_rolled_back"] > 0 and len(both(first)) == len(both(second)) == 3
c.run(f"rm {first}/both* {second}/both*")

# Files, as steps.
written = c.request("carrel.write", path="w", content="one\n")
assert c.request("fs.read", path="w")["content"] == "one\n" and written["step_id"]
c.request("carrel.edit", path="w", old_string="one", new_string="two")
assert "+two" in c.request("carrel.diff")["diff"]
assert {e["name"] for e in c.request("fs.list", path=".")["entries"]} == set(everything) | {"w"}
assert c.request("carrel.show", step_id=written["step_id"])["step"]["changes"]

# Limits hold, and what is discarded is gone; a reset begins anew.
c.request("undo.configure", max_step_count=1)
for i in range(3):
    c.run(f"echo {i} > g{i}")
for _ in range(200):
    if len(c.request("undo.history")["steps"]) == 1:
        break
    time.sleep(0.1)
assert len(c.request("undo.history")["steps"]) == 1
c.request("undo.discard")
assert c.request("undo.history")["steps"] == [] and os.path.exists(f"{first}/g2")
before = c.request("session.status")["workspace"]
assert c.request("session.reset")["workspace"] != before
assert c.request("session.status")["state"] == "active"
c.request("session.stop")
assert c.request("session.status")["state"] == "idle"
assert c.close() == 0
print("everything holds")
