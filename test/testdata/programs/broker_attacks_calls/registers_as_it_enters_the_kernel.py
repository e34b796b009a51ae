resume = 24; inside = False
def traced():
    for i in range(200): t(os.mkdir, 'p%d' % i); t(os.rmdir, 'p%d' % i)
def stopped(st):
    global inside
    inside = not inside
    if inside and regs[15] == 83: mkdir()
