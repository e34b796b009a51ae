import os, random, threading
os.makedirs("tt", exist_ok=True)
def work():
    r = random.Random()
    for i in range(200):
        f, g = ("tt/f%d" % r.randrange(8) for _ in range(2))
        try:
            o = r.randrange(8)
            if o == 0: open(f, "a").write("x%d" % i)
            elif o == 1: open(f, "w").write("y%d" % i)
            elif o == 2: os.unlink(f)
            elif o == 3: os.rename(f, g)
            elif o == 4: os.link(f, g)
            elif o == 5: os.symlink(f, g)
            elif o == 6: os.mknod(f)
            elif o == 7: os.truncate(f, 3)
        except OSError: pass
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
