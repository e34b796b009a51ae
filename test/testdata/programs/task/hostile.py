# A coordinator that has been taken over asks the supervisor for everything that it must not get,
# in calls of its own making. It prints each that was carried out.
import base64, json, socket, sys

def ask(call, raw=None):
    text = raw if raw is not None else json.dumps(call).encode()
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect("/run/carrel/api.sock")
    s.sendall(json.dumps({"operation": "task", "size": len(text)}).encode() + b"\n" + text)
    got = b""
    while True:
        piece = s.recv(65536)
        if not piece:
            break
        got += piece
    line, _, rest = got.partition(b"\n")
    reply = json.loads(line or b'{"ok":false}')
    return json.loads(rest) if reply.get("ok") else {"error": reply}

def refused(call, raw=None):
    answer = ask(call, raw)
    if "error" not in answer:
        print("CARRIED OUT", call or raw[:80], json.dumps(answer)[:300])

outside, own = sys.argv[1], sys.argv[2]
touch = ["sh", "-c", "touch " + outside + "/taken"]

# Tasks of others, and its own workspace.
for op in ["status", "diff", "capture", "drop", "close", "merge"]:
    for name in ["persons", "lead", "..", "../x", "", "-h", "persons.json", "PERSONS", "persons\n", "persons\x00", "./persons"]:
        refused({"op": op, "name": name, "force": True, "keep": True})
refused({"op": "send", "name": "persons", "text": "rm -rf ."})
refused({"op": "run", "name": "persons", "argv": touch})
refused({"op": "wait", "names": ["persons"], "for": 1})

# More than it has: fields of the policy, of the record and of other operations.
for field in ["words", "Words", "parent", "include", "with_changes", "with", "policy", "network", "profile", "workspace", "trees", "tree", "approved", "approve"]:
    refused({"op": "new", "name": "more", "argv": ["true"], field: ["--network=open"]})
    refused({"op": "new", "name": "more", "argv": ["true"], field: "--network=open"})
for agent in ["codex", "gemini", "claude --network open", "../claude", "-h"]:
    refused({"op": "new", "name": "more", "agent": agent})
for program in ["codex", "/usr/local/bin/codex", "gemini"]:
    refused({"op": "new", "name": "more", "argv": [program]})

# Names and revisions that are options or paths.
for name in ["--force", "-b", "a..b", "x.lock", ".hidden", "a" * 200]:
    refused({"op": "new", "name": name, "base": "--upload-pack=touch " + outside + "/taken", "argv": ["true"]})
for base in ["--help", "--output=" + outside + "/taken", "-C/", "HEAD:file", "nothing", "@{u}", "x\ny"]:
    refused({"op": "new", "name": "based", "base": base, "argv": ["true"]})

# What is no call at all.
for raw in [b"", b"{", b"null", b"[]", b'"new"', b"{}" * 1000, b'{"op":"list","op":"new"}', b'{"op":"new","name":1}', b"\xff" * 100, b"[" * 50000, b'{"op":"purge"}', b'{"op":"open","name":"persons"}']:
    refused(None, raw)

# Into branches that are not its own. The task has a commit by now.
for into in ["main", "task/persons", "refs/heads/main", "HEAD", "--squash", "main\n", "../main"]:
    refused({"op": "merge", "name": own, "into": into, "keep": True})

# A branch that says it is another one: its working tree is pointed at main.
import subprocess
for words in [["git", "symbolic-ref", "HEAD", "refs/heads/main"], ["git", "checkout", "-q", "main"], ["git", "update-ref", "refs/heads/main", "HEAD"],
              ["git", "update-ref", "refs/heads/task/persons", "HEAD"], ["git", "branch", "-f", "main", "HEAD"], ["git", "push", "-q", ".", "HEAD:main"],
              ["git", "worktree", "remove", "--force", "--force", "persons"], ["git", "worktree", "unlock", "persons"], ["git", "branch", "-D", "task/persons"]]:
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    refused({"op": "merge", "name": own, "into": "main", "keep": True})
    subprocess.run(["git", "symbolic-ref", "HEAD", "refs/heads/task/lead"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

# Many at once: no more than eight are there at the end.
import threading
def many(i):
    ask({"op": "new", "name": "m%d" % i, "argv": ["sleep", "1000"]})
threads = [threading.Thread(target=many, args=(i,)) for i in range(20)]
[t.start() for t in threads]
[t.join() for t in threads]
print("tasks:", len(ask({"op": "list"})["result"]))
