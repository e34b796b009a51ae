import os, random, time
while not os.path.exists("go"): time.sleep(.001)
for i in random.sample(range(1, 301), 300):
    try: open("Z/%d/HEAD" % i, "w").write("ref: refs/heads/main\n")
    except OSError: pass
