signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open('leased', os.O_CREAT|os.O_RDWR, 0o600); os.close(fd); fd = os.open('leased', os.O_RDONLY); r = t(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
ps = [subprocess.Popen(['sh', '-c', 'echo x > leased'], stderr=2) for _ in range(30)]
time.sleep(0.3); s = time.time(); open('other', 'w').close(); os.mkdir('m'); os.rename('m', 'm2'); print('fine' if time.time() - s < 5 else 'SLOW', r)
t(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_UNLCK); [p.kill() for p in ps]; [p.wait() for p in ps]
