os.mkdir('a'); stop = time.time() + 2
flip = subprocess.Popen(['python3', '-c', 'import os,time\nwhile time.time() < %f:\n  os.rename("a", "b"); os.symlink("out", "a"); os.unlink("a"); os.rename("b", "a")' % stop])
i = 0
while time.time() < stop: s = socket.socket(socket.AF_UNIX); t(s.bind, 'a/s%d' % i); s.close(); i += 1
flip.wait(); say('fine')
