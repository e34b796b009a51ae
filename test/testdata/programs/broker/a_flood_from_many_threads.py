os.mkdir('s'); threading.stack_size(65536); done = []
def f(i):
    for k in range(5):
        n = 's/%d' % i; os.mkdir(n); open(n + '/f', 'w').write('x'); os.unlink(n + '/f'); os.rmdir(n)
    done.append(i)
ts = [threading.Thread(target=f, args=(i,)) for i in range(400)]; [x.start() for x in ts]; [x.join() for x in ts]
print('fine' if len(done) == 400 and not os.listdir('s') else len(done))
