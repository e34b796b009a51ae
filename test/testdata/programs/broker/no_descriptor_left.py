import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)); l = []
try:
    while True: l.append(os.dup(0))
except OSError: pass
print(t(os.open, 'f', os.O_WRONLY|os.O_TRUNC), t(os.open, 'EVILNEW', os.O_WRONLY|os.O_CREAT|os.O_EXCL, 0o600), flush=True); os._exit(0)
