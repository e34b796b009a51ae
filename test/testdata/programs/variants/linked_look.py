"""What a main checkout and its other worktrees hold, and what of it is another than before.

look.py FILE keeps it; look.py FILE compare prints what differs. G, M, O, D and P are the
shared git directory, the main checkout, another worktree, the project's git directory and the
project. What a run may change is left out: its own branch, new references, new objects."""
import hashlib, json, os, re, subprocess, sys

G, M, O, D, P = (os.environ[n] for n in "GMODP")
own = ["refs/heads/mine", "logs/refs/heads/mine", "objects", "config", "packed-refs"] + [os.path.relpath(D, G)]
new = re.compile(r"refs/|worktrees/new|modules(/|$)|logs(/refs/.*|/refs)?$")


def fetched(n):
    """What a fetch writes, and directories that are empty."""
    n = n.replace(G + "/", "", 1)
    return re.match(r"(logs/)?refs/(remotes(/|$)|notes$)", n)


def git(*args):
    r = subprocess.run(["git", "--no-optional-locks", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return r.stdout.decode(errors="surrogateescape") + ("" if r.returncode == 0 else "= %d" % r.returncode)


def walk(top, skip):
    for d, dirs, files in os.walk(top):
        dirs[:] = [n for n in dirs if os.path.join(d, n) not in skip and (top == G or n != ".git")]
        for n in dirs + files:
            p = os.path.join(d, n)
            if p in skip:
                continue
            s = os.lstat(p)
            if os.path.islink(p):
                yield p, os.readlink(p)
            elif os.path.isfile(p):
                yield p, "%o %d %s" % (s.st_mode, s.st_nlink, hashlib.sha1(open(p, "rb").read()).hexdigest())
            else:
                yield p, "%o" % s.st_mode


def look():
    skip = {os.path.join(G, n) for n in own} | {P, G}
    files = dict(walk(G, skip - {G}))
    if len(sys.argv) < 4:
        files.update(walk(M, skip)); files.update(walk(O, skip))
    for n in (G + "/objects/info/alternates", G + "/objects/info/http-alternates"):
        if os.path.exists(n):
            files[n] = open(n).read()
    packed = open(G + "/packed-refs").read().splitlines() if os.path.exists(G + "/packed-refs") else []
    refs = {l.partition(" ")[2]: l for l in packed if l[:1] not in "#^" and not l.endswith("refs/heads/mine")}
    refs["peeled"] = [a + b for a, b in zip(packed, packed[1:]) if b[:1] == "^"]
    held = {"file": files, "packed": refs}
    held["object"] = dict.fromkeys(git("-C", G, "cat-file", "--batch-all-objects", "--batch-check").splitlines(), "")
    keys = git("-C", "/", "config", "-f", G + "/config", "--list").splitlines()
    held["key"] = dict.fromkeys([k for k in keys if not k.startswith("branch.mine.")], "")
    if len(sys.argv) < 4:
        refs = git("-C", G, "for-each-ref", "--format=%(refname) %(objectname) %(symref)").splitlines()
        held["ref"] = dict(l.partition(" ")[::2] for l in refs if not l.startswith("refs/heads/mine "))
        trees = re.sub(r"(?m)^HEAD.*\n", "", git("-C", G, "worktree", "list", "--porcelain"))
        held["worktree"] = dict.fromkeys([t for t in trees.split("\n\n") if t.split("\n")[0] != "worktree " + P], "")
        # How far a branch is before its upstream changes with a fetch, which a run may do.
        held["said"] = {" ".join(c): re.sub(r"(?m)^(# branch\.ab|Your branch).*\n(  \(use.*\n)*", "", git(*c)) for c in (
            ["-C", M, "status", "--porcelain=2", "--branch"], ["-C", O, "status"], ["-C", M, "stash", "list"],
            ["-C", M, "reflog", "main"], ["-C", M, "symbolic-ref", "-q", "HEAD"],
            ["-C", G, "branch", "-f", "release", "release"], ["-C", G, "tag", "-f", "v2", "v2"],
            ["-C", O, "rev-parse", "HEAD", "ORIG_HEAD"], ["-C", G, "fsck", "--no-dangling", "--no-progress"])}
    return held


quick = len(sys.argv) > 3
now = look()
if len(sys.argv) < 3:
    json.dump(now, open(sys.argv[1], "w"))
    sys.exit()
before = json.load(open(sys.argv[1]))
for kind in now:
    was, is_ = before[kind], now[kind]
    for n in {**was, **is_}:
        if n not in was:
            ok = kind in ("object", "worktree", "key")
            if kind == "packed":  # it may come there as it is
                ok = fetched(n) or "/new" in n or before["ref"].get(n, "").startswith(is_[n].partition(" ")[0])
            ok = ok or kind == "ref" and n.startswith("refs/")
            ok = ok or kind == "file" and new.match(os.path.relpath(n, G)) and not n.endswith(".lock")
            if not ok:
                print("new", kind, ascii(n), is_[n])
        elif n not in is_ and quick and kind == "file" and not n.startswith(G):
            pass
        elif fetched(n) or kind == "file" and re.fullmatch("40[0-7]*", was[n]) and re.match(r"refs/(?!heads$|tags$)", os.path.relpath(n, G)):
            pass  # git takes empty directories away by itself
        elif n not in is_:
            print("gone", kind, ascii(n), was[n])
        elif was[n] != is_[n]:
            print("other", kind, ascii(n), was[n], is_[n])
