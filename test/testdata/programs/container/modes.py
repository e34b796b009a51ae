# Makes files, directories and pipes by random umasks and modes, in a plain directory and in
# one with a default ACL, and says what modes they got. The same seed asks for the same.
import os, random, subprocess, sys
seed, at = sys.argv[1:]
draw = random.Random(seed)
os.umask(0o022)
for place in ("plain", "acl"):
    os.makedirs(f"{at}/{place}")
for i in range(300):
    mask, mode = draw.randrange(0o1000), draw.randrange(0o1000)
    kind, place = draw.choice(("file", "dir", "pipe", "unnamed")), draw.choice(("plain", "acl"))
    name = f"{at}/{place}/{i}"
    if i == 100: # from here on with the ACL
        os.umask(0o022)
        subprocess.run(["setfacl", "-d", "-m", draw.choice(("u::rwx,g::rwx,o::rx", "u::rw,g::r,u:7:rwx,o::-")), f"{at}/acl"])
    os.umask(mask)
    if kind == "file":
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    elif kind == "dir":
        os.mkdir(name, mode)
    elif kind == "pipe":
        os.mkfifo(name, mode)
    else:
        fd = os.open(f"{at}/{place}", os.O_TMPFILE | os.O_RDWR, mode)
        print(i, kind, place, oct(mask), oct(mode), oct(os.fstat(fd).st_mode))
        continue
    print(i, kind, place, oct(mask), oct(mode), oct(os.lstat(name).st_mode))
os.umask(0o022)
