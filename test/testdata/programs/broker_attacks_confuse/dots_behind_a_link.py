os.mkdir('d'); os.makedirs('e/f'); os.symlink('../e/f', 'd/l'); os.symlink(os.getcwd() + '/e/f', 'd/abs')
os.mkdir('d/l/../made'); os.close(os.open('d/abs/../file', os.O_CREAT|os.O_WRONLY, 0o600)); say('fine')
