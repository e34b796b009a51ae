ps = [subprocess.Popen(['python3', '-c', 'import os\nwhile True:\n  os.close(os.open("f%d" % os.getpid(), os.O_CREAT|os.O_RDWR)); os.unlink("f%d" % os.getpid())']) for _ in range(12)]
time.sleep(0.5)
for _ in range(40):
    for p in ps[:6]: p.send_signal(signal.SIGSTOP)
    for p in ps[:6]: p.send_signal(signal.SIGCONT)
for p in ps[:6]: p.send_signal(signal.SIGSTOP)
for p in ps[6:]: p.kill()
s = time.time(); [open('g%d' % i, 'w').close() for i in range(50)]; say('SLOW' if time.time() - s > 5 else 'fine'); [p.kill() for p in ps]; [p.wait() for p in ps]
