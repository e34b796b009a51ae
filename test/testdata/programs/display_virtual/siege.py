import resource, socket, subprocess, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = []
for n in range(1000, 2000):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].bind('\0/tmp/.X11-unix/X%d' % n)
sys.exit(subprocess.call(sys.argv[1:]))
