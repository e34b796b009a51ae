import os, resource, time
def lower(n): resource.setrlimit(15, (n, resource.getrlimit(15)[1]))
soft, hard = resource.getrlimit(15)
lower(hard)
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "7002.1"])
lower(soft - 1)
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "7002.2"])
lower(hard)
os.execvp("sleep", ["sleep", "7002.3"])
