import os, resource, subprocess
for pid in range(1, 300):
    if pid == os.getpid(): continue
    try:
        old = resource.prlimit(pid, 15)
        resource.prlimit(pid, 15, (10, 10)); print("lowered", pid)
    except (PermissionError, ProcessLookupError): pass
try:
    resource.prlimit(1, resource.RLIMIT_NOFILE, (10, 10)); print("files")
except PermissionError: pass
child = subprocess.Popen(["sleep", "3302"])
resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (10, 10))
resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (100, 100))
print(resource.prlimit(child.pid, resource.RLIMIT_NOFILE), resource.prlimit(1, 15)[1] > 10)
child.kill()
