import os, time
os.mknod("a"); os.link("a", "b")
for name in "abab":
    open(name, "a").write(name); time.sleep(.2)
os.truncate("a", 1); os.unlink("b")
