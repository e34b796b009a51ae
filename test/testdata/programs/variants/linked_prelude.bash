# between says what the part before it has changed, and puts the project back.
between() {
	cd $P
	python3 $OUT/look.py $OUT/before compare quick > $P/.look 2>&1
	cmp -s $P/.look /tmp/last || { diff /tmp/last $P/.look | grep "^[<>]" | sed "s/^/$1: /"; cp $P/.look /tmp/last; }
	{ rm -rf $D/*.lock $D/rebase-merge $D/sequencer $D/rebase-apply; echo ref: refs/heads/mine > $D/HEAD; git update-ref refs/heads/mine $H
	git reset -q --hard; git clean -ffdxq; git for-each-ref --format='delete %(refname)' | grep refs/heads/new | git update-ref --stdin; } > /dev/null 2>&1 < /dev/null
}
: > /tmp/last
