got = []
def f():
    for i in range(10): got.append(t(subprocess.call, ['/usr/bin/id']))
ts = [threading.Thread(target=f) for _ in range(20)]
[x.start() for x in ts]; [x.join() for x in ts]; print(len(got), set(got) == {'EACCES'})
