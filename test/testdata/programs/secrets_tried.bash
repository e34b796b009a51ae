# Every way to a hidden file, and to a directory around one, but its removal.
secret=packages/api/.env
cat $secret; exec 3<> $secret; cat <&3
ln $secret l; cat l
ln -s ../$secret other/s; cat other/s; rm -f other/s
mv $secret other/m; cat other/m
mv packages/api other/api; cat other/api/.env
cp -al packages other/p; cat other/p/api/.env
: > $secret; : >> .env; truncate -s 1 $secret
chmod 644 .env; cat .env; setfattr -n user.x -v y .env; getfattr -d $secret
touch -d 2001-01-01 $secret
mv -f packages/api/src/x .env
python3 - <<'E'
import ctypes, os
secret = "packages/api/.env"
for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_APPEND, os.O_PATH):
    try:
        fd = os.open(secret, flags)
        print(open("/proc/self/fd/%d" % fd).read())
    except OSError as e:
        print(e)
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0, 1, 2):
    print(libc.renameat2(-100, secret.encode(), -100, b"packages/api/src/x", flags))
E
true
