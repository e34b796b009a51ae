signal.signal(signal.SIGALRM, lambda *a: None); signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002); seen = done = again = 0
for i in range(3000):
    try: os.mkdir('i%d' % i)
    except InterruptedError: seen += 1; done += os.path.lexists('i%d' % i)
signal.siginterrupt(signal.SIGALRM, False)
for i in range(3000):
    try: os.mkdir('j%d' % i)
    except InterruptedError: again += 1
signal.setitimer(signal.ITIMER_REAL, 0); say('OTHER %d done, %d of %d though restarted' % (done, again, seen) if done or again else 'fine')
