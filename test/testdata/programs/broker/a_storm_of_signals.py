signal.signal(signal.SIGALRM, lambda *a: None); os.mkdir('s'); signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002); bad = []
for i in range(3000):
    for what in (lambda: os.mkdir('s/%d' % i), lambda: os.rename('s/%d' % i, 's/r%d' % i)):
        while True:
            try: what()
            except InterruptedError: continue # before anybody saw the call: then it is not done
            except OSError as e: bad.append(e.errno)
            break
signal.setitimer(signal.ITIMER_REAL, 0); print(bad[:5] or 'fine')
