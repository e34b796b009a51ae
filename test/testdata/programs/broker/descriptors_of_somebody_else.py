bad = []
for pid in os.listdir('/proc'):
    if pid.isdigit():
        try: names = os.listdir('/proc/%s/fd' % pid)
        except OSError: continue
        for n in names:
            try:
                if os.path.isdir('/proc/%s/fd/%s' % (pid, n)): bad.append((pid, n, os.readlink('/proc/%s/fd/%s' % (pid, n))))
            except OSError: pass
print(bad or 'none')
