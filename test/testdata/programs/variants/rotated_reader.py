# Reads what lies in the directories 0, 1, ... of this one, as fast as it can and by two
# processes, until there is a file "over". It prints each value of the host's once that it
# has seen. The arguments are the patterns of what to read in each directory.
import glob, os, re, sys

patterns = [p.split() for p in sys.argv[1:]]
value = re.compile(rb"host[0-9]+x[0-9]+x[0-9a-f]{20}")
seen, turn = set(), 0


def read(path):
    try:
        f = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        seen.update(value.findall(os.read(f, 1 << 16)))
    except OSError:
        pass
    os.close(f)


def aside(path):
    other = "aside%d" % os.getpid()
    try:
        os.link(path, other)
        read(other)
        os.unlink(other)
    except OSError:
        pass


child = os.fork()
open("ready", "w").close()
while not os.path.exists("over"):
    turn += 1
    for n, names in enumerate(patterns):
        for name in names:
            for path in glob.glob("%d/%s" % (n, name), include_hidden=True) if "*" in name else ["%d/%s" % (n, name)]:
                read(path)
                if turn % 16 == 0:
                    aside(path)
if child:
    os.waitpid(child, 0)
os.write(1, b"".join(s + b"\n" for s in sorted(seen)))
