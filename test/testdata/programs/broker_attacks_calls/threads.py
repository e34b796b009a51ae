threading.stack_size(65536); sys.setswitchinterval(1); go = threading.Event(); n = 0; done = []
def f(i):
    go.wait()
    t(os.mkdir, 'x%d' % i); t(os.rmdir, 'x%d' % i); done.append(i)
for i in range(10000):
    try: threading.Thread(target=f, args=(i,), daemon=True).start(); n += 1
    except RuntimeError: break
p = subprocess.Popen(['python3', '-c', 'import os,time\nw=0\nfor i in range(50):\n s=time.time(); os.mkdir("v%d" % i); w=max(w,time.time()-s); time.sleep(.01)\nprint("SLOW" if w > 5 else "quick", w)'])
go.set(); p.wait()
while len(done) < n: time.sleep(0.05)
say('fine', n); os._exit(0)
