import os, random
for i in range(1, 301): open("c%d" % i, "w").write("[core]\n\tfsmonitor = x\n")
open("go", "w").close()
for i in random.sample(range(1, 301), 300):
    try: os.rename("c%d" % i, "Z/%d/config" % i)
    except OSError: pass
