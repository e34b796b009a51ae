resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
try:
    while True: os.dup(0)
except OSError: pass
say(t(os.open, 'file', os.O_WRONLY|os.O_TRUNC), t(os.open, 'new', os.O_WRONLY|os.O_CREAT)); os._exit(0)
