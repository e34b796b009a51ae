exec 5<>f; exec 6</proc/self/fd/5 7<>g; echo granted >&5; exec 5>&- 8</proc/self/fd/7 7>&-
/run/carrel/bin/carrel step end; /run/carrel/bin/carrel step begin --label second
[ $1 = keep ] || rm f g
for n in 6 8; do for p in /proc/$$ /proc/self /proc/thread-self /proc/$$/task/$$; do
	{ echo EVIL >>$p/fd/$n && echo "written by $p"; } 2>/dev/null
	perl -e 'exit !truncate($ARGV[0], 0)' /proc/$$/fd/$n && echo "cut by $p"
done; done
readlink /proc/$$/fd/6
cat <&6 >/dev/null && echo readable
