import os, time
open("b", "a").write("y")
time.sleep(.2)
os.chmod("c", 0o444)
