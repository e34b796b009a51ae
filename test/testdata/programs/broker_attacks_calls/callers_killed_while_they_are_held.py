for i in range(150):
    p = os.fork()
    if p == 0:
        while True: t(os.mkdir, 'k'); t(os.rmdir, 'k')
    time.sleep(0.002); os.kill(p, 9); os.waitpid(p, 0)
os.mkdir('last'); say('fine')
