p = os.fork()
if p == 0:
    for i in range(2000): os.close(os.open('q%d' % i, os.O_CREAT|os.O_EXCL))
    os._exit(3)
for i in range(200): t(os.kill, p, signal.SIGSTOP); time.sleep(0.0005); t(os.kill, p, signal.SIGCONT); time.sleep(0.0005)
say('fine' if os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) == 3 else 'OTHER')
