if L.unshare(0x10000000) == 0:
    os.chroot('jail'); os.chdir('/'); print(t(os.symlink, '/in', '/l'), t(os.mkdir, '/../../../leaked-no'))
    print(t(lambda: open('/../f', 'w').write('EVIL'))); print(t(os.unlink, '/../../f'), t(os.rename, '/in', '/../leaked'))
