signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003); bad = []
for i in range(1000):
    while True:
        try: os.close(os.open('s%d' % i, os.O_CREAT|os.O_EXCL)); break
        except InterruptedError: continue
        except OSError as e: bad.append(e.errno); break
signal.setitimer(signal.ITIMER_REAL, 0); say(bad[:3] or 'fine')
