signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
ok = all(subprocess.call(['/bin/bash', '-c', ':']) == 0 for _ in range(100)); signal.setitimer(signal.ITIMER_REAL, 0); print('fine' if ok else 'OTHER')
