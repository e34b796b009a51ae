ok = os.access('file', os.W_OK) and not os.access('.vscode/tasks.json', os.W_OK)
fd = os.open('file', os.O_RDONLY); os.utime(fd, (1, 1)); os.fchmod(fd, 0o640); ok = ok and os.stat('file').st_mtime == 1; say('fine' if ok else 'OTHER')
