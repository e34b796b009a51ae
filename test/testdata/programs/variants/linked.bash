# Each part is one way in which a run in a linked worktree changes what the main checkout or
# another worktree stands on. Where things are is linked_world.bash's to say.
#= index written over
echo junk > $MD/index
#= index truncated
truncate -s 0 $MD/index
#= index appended to
echo x >> $MD/index
#= index replaced
cp $D/index i; mv i $MD/index
#= index by a lock file
cp $D/index $MD/index.lock && mv $MD/index.lock $MD/index
#= index removed
rm $MD/index
#= index by git
GIT_INDEX_FILE=$MD/index git add -f file; GIT_INDEX_FILE=$MD/index git rm -q --cached file
#= index by git dir
git --git-dir=$MD --work-tree=. add .
#= index of another
GIT_INDEX_FILE=$OD/index git read-tree --empty
#= index, second name
ln $MD/index $D/second && echo x > $D/second
#= index, link to it
ln -s $MD/index $D/l; echo x > $D/l; ln -s $MD/index l; echo x > l
#= index, mapped
python3 -c "import mmap; f=open('$MD/index','r+b'); m=mmap.mmap(f.fileno(),0); m[:4]=b'JUNK'"
#= index, exchanged
cp file x; python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b'x', -100, b'$MD/index', 2)"
#= index, mode
chmod 444 $MD/index; chmod 600 $OD/index
#= index through /proc
echo x > /proc/$$/root$MD/index; echo x > /proc/self/cwd/../../../../../../../../..$MD/index
#= index by a descriptor for reading
exec 7< $MD/index; echo x > /proc/self/fd/7
#= HEAD written
echo ref: refs/heads/release > $MD/HEAD
#= HEAD of another
echo ref: refs/heads/main > $OD/HEAD
#= HEAD by symbolic-ref
git --git-dir=$MD symbolic-ref HEAD refs/heads/release; git --git-dir=$OD symbolic-ref HEAD refs/heads/release
#= HEAD by name of a worktree
git update-ref main-worktree/HEAD HEAD^; git update-ref worktrees/other/HEAD HEAD^
#= HEAD, symbolic by name of a worktree
git symbolic-ref worktrees/other/HEAD refs/heads/release; git symbolic-ref main-worktree/HEAD refs/heads/release
#= ORIG_HEAD
git rev-parse HEAD > $MD/ORIG_HEAD; git rev-parse HEAD > $OD/ORIG_HEAD
#= ORIG_HEAD by git
git --git-dir=$MD update-ref ORIG_HEAD HEAD
#= ORIG_HEAD removed
rm -f $MD/ORIG_HEAD $OD/ORIG_HEAD
#= FETCH_HEAD
echo x > $MD/FETCH_HEAD
#= FETCH_HEAD by git
git --git-dir=$MD fetch -q . release
#= MERGE_HEAD made
git rev-parse HEAD^ > $MD/MERGE_HEAD; echo m > $MD/MERGE_MSG
#= MERGE_HEAD of another
git rev-parse HEAD^ > $OD/MERGE_HEAD
#= CHERRY_PICK_HEAD made
git rev-parse HEAD^ > $MD/CHERRY_PICK_HEAD; git rev-parse HEAD^ > $OD/REVERT_HEAD
#= BISECT files
echo x > $MD/BISECT_LOG; echo main > $MD/BISECT_START; echo y > $OD/BISECT_LOG
#= AUTO_MERGE, unknown files
echo x > $MD/AUTO_MERGE; echo x > $MD/anything; echo x > $OD/anything
#= COMMIT_EDITMSG
echo x > $MD/COMMIT_EDITMSG; echo x > $MD/MERGE_MSG; echo x > $MD/SQUASH_MSG; echo x > $OD/COMMIT_EDITMSG
#= log of HEAD
echo x >> $MD/logs/HEAD
#= log of HEAD removed
rm $MD/logs/HEAD $OD/logs/HEAD
#= log of a branch
echo x >> $G/logs/refs/heads/main
#= log of a branch replaced
cp $G/logs/refs/heads/mine l 2> /dev/null || echo x > l; mv l $G/logs/refs/heads/main
#= log of a branch removed
rm $G/logs/refs/heads/main $G/logs/refs/heads/loose
#= log expired
git reflog expire --expire=all --expire-unreachable=all --all
#= log expired of one
git reflog expire --expire=all refs/heads/main; git reflog delete main@{1}
#= log deleted by git
git reflog delete --rewrite --updateref refs/heads/main@{0}
#= logs moved away
mv $G/logs $G/logs2 || mv $MD/logs/HEAD $D/
#= logs of heads moved
mv $G/logs/refs/heads $G/logs/refs/remotes/heads || mv $G/logs/refs $G/lr
#= stash dropped
git stash drop; git stash drop
#= stash cleared
git stash clear
#= stash pushed
echo x >> file; git stash
#= stash stored
git stash store -m x HEAD
#= stash popped
git stash pop
#= stash by its reference
git update-ref refs/stash HEAD; git update-ref -d refs/stash
#= stash file
rm $G/refs/stash; git rev-parse HEAD > $G/refs/stash
#= stash log
: > $G/logs/refs/stash; rm $G/logs/refs/stash
#= stash log's lines dropped
git reflog delete stash@{1}
#= packed-refs truncated
: > $G/packed-refs
#= packed-refs removed
rm $G/packed-refs
#= packed-refs with another branch
sed "s,^[0-9a-f]* refs/heads/release,$(git rev-parse HEAD) refs/heads/release," $G/packed-refs > p; mv p $G/packed-refs
#= packed-refs with a branch less
grep -v refs/heads/release $G/packed-refs > $G/packed-refs.lock; mv $G/packed-refs.lock $G/packed-refs || rm $G/packed-refs.lock
#= packed-refs, peeled otherwise
sed "s,^^.*,^$(git rev-parse HEAD)," $G/packed-refs > p; mv p $G/packed-refs
#= packed-refs with strange names
H=$(git rev-parse HEAD); (cat $G/packed-refs; printf '%s refs/heads/z\001z\n%s refs/heads/z/../../../HEAD\n%s refs/zz\n' $H $H $H) > p; mv p $G/packed-refs
#= packed-refs as directory
mkdir -p $G/packed-refs.d; rm -f $G/packed-refs; mkdir $G/packed-refs
#= packed-refs in place
H=$(git rev-parse HEAD); python3 -c "
f=open('$G/packed-refs','r+'); t=f.read(); f.seek(0); f.write(t.replace('refs/heads/release','refs/heads/releasE'))"
#= packed-refs, second name
ln $G/packed-refs $D/p && echo x >> $D/p
#= alternates
echo $P/objs > $G/objects/info/alternates
#= alternates over http
echo http://x > $G/objects/info/http-alternates
#= object removed
rm -f $(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f | head -1)
#= objects removed
rm -rf $G/objects/[0-9a-f][0-9a-f]
#= object truncated
F=$(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f | head -1); chmod u+w $F; : > $F
#= object written over
F=$(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f | head -1); chmod u+w $F; echo x > $F
#= object replaced
F=$(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f | head -1); echo x > x; mv -f x $F
#= object replaced by another object
set -- $(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f); cp $1 x; mv -f x $2
#= object by a second name
F=$(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f | head -1); ln $F $D/o && chmod u+w $D/o && echo x > $D/o
#= object's directory moved
F=$(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f | head -1); mv ${F%/*} $P/moved || mv ${F%/*} $G/objects/zz
#= object's directory exchanged
set -- $(find $G/objects -maxdepth 1 -name '[0-9a-f][0-9a-f]'); python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b'$1', -100, b'$2', 2)"
#= object mapped
F=$(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f | head -1); chmod u+w $F; python3 -c "import mmap; f=open('$F','r+b'); m=mmap.mmap(f.fileno(),0); m[:4]=b'JUNK'"
#= object without permission
chmod 0 $(find $G/objects -path '*/[0-9a-f][0-9a-f]/*' -type f | head -1)
#= pack removed
rm -f $G/objects/pack/*.pack
#= pack index removed
rm -f $G/objects/pack/*.idx
#= pack truncated
F=$(ls $G/objects/pack/*.pack | head -1); chmod u+w $F; truncate -s 20 $F
#= pack index written over
F=$(ls $G/objects/pack/*.idx | head -1); chmod u+w $F; echo x > $F; echo x > x; mv -f x $F
#= packs moved
mv $G/objects/pack $G/objects/packs
#= objects moved
mv $G/objects $G/o; mkdir $G/objects
#= configuration
printf '[core]\n\thooksPath = /tmp\n' >> $G/config; git config core.fsmonitor "touch x"
#= configuration, a user's key gone
git config --unset core.repositoryformatversion; git config core.bare true; git config extensions.objectformat sha256
#= config.worktree of the main checkout
printf '[core]\n\tbare = true\n' > $MD/config.worktree; git config extensions.worktreeConfig true
#= config.worktree of another
printf '[core]\n\thooksPath = /tmp\n' > $OD/config.worktree
#= hooks
echo 'touch x' > $G/hooks/post-checkout; chmod +x $G/hooks/post-checkout; mkdir $OD/hooks; echo x > $OD/hooks/post-commit
#= hooks moved
mv $G/hooks $G/h; mkdir $G/hooks; rm -rf $G/hooks
#= info/exclude
echo '*' >> $G/info/exclude; echo '*' > e; mv e $G/info/exclude; mkdir -p $G/info
#= info/attributes
mkdir -p $G/info; echo '* filter=x' > $G/info/attributes; mkdir $OD/info; echo x > $OD/info/attributes
#= info/sparse-checkout
mkdir -p $MD/info; echo /x > $MD/info/sparse-checkout; mkdir $OD/info; echo /x > $OD/info/sparse-checkout
#= info/grafts
mkdir -p $G/info; git rev-parse HEAD > $G/info/grafts
#= info moved
mv $G/info $G/inf; mkdir $G/info
#= todo of another rebase
echo 'exec touch x' >> $OD/rebase-merge/git-rebase-todo
#= todo of another rebase replaced
echo 'exec touch x' > x; mv x $OD/rebase-merge/git-rebase-todo
#= rebase of another moved away
mv $OD/rebase-merge $D/rebase-merge; rm -rf $OD/rebase-merge
#= strategy of another rebase
echo evil > $OD/rebase-merge/strategy; echo x > $OD/rebase-merge/message; echo x > $OD/rebase-merge/done
#= rebase made in the main checkout
mkdir $MD/rebase-merge && echo 'exec touch x' > $MD/rebase-merge/git-rebase-todo
#= rebase moved to the main checkout
mkdir $D/rm; echo 'exec touch x' > $D/rm/git-rebase-todo; mv $D/rm $MD/rebase-merge
#= rebase-apply made in the main checkout
mkdir -p $MD/rebase-apply $OD/rebase-apply; echo 1 > $MD/rebase-apply/next
#= sequencer made in the main checkout
mkdir -p $MD/sequencer $OD/sequencer; echo 'pick x' > $MD/sequencer/todo
#= shallow
git rev-parse HEAD > $G/shallow
#= shallow by git
git fetch -q --depth=1 file://$G release; git fetch -q --update-shallow --depth=1 file://$G main:new
#= replace
git replace HEAD HEAD^
#= replace by graft
git replace --graft HEAD
#= worktree's gitdir
echo $P/.git > $OD/gitdir; echo $P/x > x; mv x $OD/gitdir
#= worktree's commondir
echo $P > $OD/commondir
#= worktree locked
echo x > $OD/locked2; git worktree lock $O || { git worktree unlock $O; }
#= worktree unlocked
rm $OD/locked || echo x > $OD/locked
#= worktree removed by hand
rm -rf $OD
#= worktree moved by hand
mv $OD $G/worktrees/x
#= worktree exchanged with the own
python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b'$OD', -100, b'$D', 2)"
#= worktrees moved
mv $G/worktrees $G/w
#= lock of the index
touch $MD/index.lock $OD/index.lock
#= lock of HEAD
touch $MD/HEAD.lock $OD/HEAD.lock
#= lock of a branch
touch $G/refs/heads/main.lock
#= lock of a packed branch
touch $G/refs/heads/release.lock $G/refs/tags/v1.lock
#= lock of the stash
touch $G/refs/stash.lock
#= lock as directory
mkdir $G/refs/heads/loose.lock $MD/index.lock $G/packed-refs.lock $G/config.lock
#= lock of a branch below a new directory
mkdir -p $G/refs/heads/feature $G/refs/heads/topic; touch $G/refs/heads/feature/x.lock $G/refs/heads/topic/y.lock
#= lock of logs
touch $G/logs/HEAD.lock $G/logs/refs/heads/main.lock
#= gc.log
echo stop > $G/gc.log
#= a branch as a directory of a branch by git
rm -f $G/refs/heads/loose; git update-ref refs/heads/loose/x HEAD; git update-ref refs/heads/main/x HEAD
#= description, branches, remotes
mkdir -p $G/branches $G/remotes; echo x > $G/branches/origin; echo 'URL: x' > $G/remotes/origin
#= another tool's files
echo x > $G/lazygit.yml; mkdir $G/annex
#= update-ref
git update-ref refs/heads/main HEAD^
#= update-ref of a packed branch
git update-ref refs/heads/release HEAD; git update-ref refs/heads/feature/x HEAD
#= update-ref by standard input
printf 'start\nupdate refs/heads/new1 HEAD\nupdate refs/heads/release HEAD\nprepare\ncommit\n' | git update-ref --stdin
#= update-ref without following
git update-ref --no-deref refs/heads/loose HEAD^
#= update-ref deleting
git update-ref -d refs/heads/loose; git update-ref -d refs/heads/release
#= update-ref of another place
git update-ref refs/keep/me HEAD; git update-ref -d refs/keep/me
#= update-ref in another worktree's place
git update-ref refs/worktree/x HEAD; git update-ref worktrees/other/refs/worktree/x HEAD; git update-ref main-worktree/refs/bisect/bad HEAD^
#= branch forced
git branch -f loose HEAD^; git branch -f release HEAD
#= branch deleted
git branch -D loose topic/y
#= branch deleted, packed
git branch -D release feature/x
#= branch renamed
git branch -m loose new
#= branch renamed, packed
git branch -M release new
#= branch renamed over another
git branch new; git branch -M new loose
#= own branch renamed over another
git branch -M loose
#= branch copied over another
git branch -C mine loose; git branch -C HEAD loose
#= branch of the main checkout renamed
git branch -m main new
#= push into itself
git push -q . HEAD^:refs/heads/loose -f; git push -q . :release
#= push by file
git push -q -f file://$G HEAD^:loose HEAD:refs/tags/v2
#= fetch into branches
git fetch -q . +HEAD^:loose; git fetch -q . HEAD:release
#= fetch of main into its branch
git fetch -q -u . +old:main
#= fetch pruning
git init -q $P/e; git fetch -q --prune $P/e '+refs/heads/*:refs/heads/*'
#= fetch pruning tags
git init -q $P/e; git fetch -q --prune --prune-tags $P/e; git fetch -q --prune $P/e 'refs/tags/*:refs/tags/*'
#= pull into another
git pull -q . +old:loose
#= checkout -B
git checkout -q -B loose HEAD^
#= switch -C
git switch -q -C release HEAD
#= checkout of another branch, commit
git checkout -q loose; git commit -q --allow-empty -m x
#= checkout of main, commit
git checkout -q --ignore-other-worktrees main; git commit -q --allow-empty -m x
#= checkout of a packed branch, reset
git checkout -q release; git reset -q --hard HEAD^
#= symbolic HEAD, commit
git symbolic-ref HEAD refs/heads/loose; git commit -q --allow-empty -m x
#= symbolic HEAD by hand, commit
echo ref: refs/heads/release > $D/HEAD; git commit -q --allow-empty -m x
#= symbolic HEAD at the stash
git symbolic-ref HEAD refs/stash; git commit -q --allow-empty -m x
#= symbolic HEAD at a tag
git symbolic-ref HEAD refs/tags/v2; git commit -q --allow-empty -m x
#= a new branch that is symbolic
git symbolic-ref refs/heads/new refs/heads/loose; git update-ref refs/heads/new HEAD^
#= a new symbolic reference by hand
echo ref: refs/heads/loose > $G/refs/heads/new; git branch -f new HEAD^; git update-ref refs/heads/new HEAD^
#= the own branch symbolic
git symbolic-ref refs/heads/mine refs/heads/loose; git commit -q --allow-empty -m x
#= a remote's HEAD symbolic
git symbolic-ref refs/remotes/origin/HEAD refs/heads/loose; git update-ref refs/remotes/origin/HEAD HEAD^
#= another worktree's reference symbolic
git symbolic-ref refs/worktree/x refs/heads/loose; git update-ref refs/worktree/x HEAD^
#= ORIG_HEAD symbolic
echo ref: refs/heads/loose > $D/ORIG_HEAD; git reset -q HEAD^; git reset -q --hard HEAD
#= MERGE_HEAD and others symbolic
for n in CHERRY_PICK_HEAD AUTO_MERGE FOO_HEAD; do echo ref: refs/heads/loose > $D/$n; git update-ref $n HEAD^; done
#= a branch linked hard
ln $G/refs/heads/loose $G/refs/heads/new && git rev-parse HEAD^ > $G/refs/heads/new
#= the own branch exchanged with another
git rev-parse HEAD^ > $G/refs/heads/new; python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b'$G/refs/heads/new', -100, b'$G/refs/heads/loose', 2)"
#= a new branch renamed by hand over another
git branch new HEAD^; mv -f $G/refs/heads/new $G/refs/heads/loose
#= a branch renamed by hand
mv $G/refs/heads/loose $G/refs/heads/new
#= heads moved
mv $G/refs/heads $G/refs/h || mv $G/refs/heads/topic $G/refs/heads/new
#= a directory of new branches over old ones
mkdir -p $G/refs/heads/newd; git rev-parse HEAD > $G/refs/heads/newd/y; python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b'$G/refs/heads/newd', -100, b'$G/refs/heads/topic', 2)"
#= a packed branch shadowed by a loose file
git rev-parse HEAD > $G/refs/heads/release
#= a packed tag shadowed
git rev-parse HEAD^ > $G/refs/tags/v1
#= notes
git notes add -f -m x HEAD^; git notes remove HEAD^
#= notes append
git notes append -m x HEAD
#= notes merged
git notes --ref new add -m x; git notes merge new
#= notes pruned
git notes prune; git update-ref -d refs/notes/commits
#= tag forced
git tag -f v2 HEAD^; git tag -f -m x v1 HEAD^
#= tag deleted
git tag -d v1 v2
#= pack-refs
git pack-refs --all --prune
#= gc
git gc -q --prune=now
#= gc, aggressive
git reflog expire --expire=now --all; git gc -q --aggressive --prune=all
#= repack
git repack -qadf; git prune --expire=now
#= maintenance
git maintenance run --task=gc --task=pack-refs --task=loose-objects --task=incremental-repack --task=commit-graph; git maintenance register; git maintenance start
#= rebase of another branch
git rebase -q release loose; git rebase -q --onto old HEAD^ loose
#= rebase of another worktree continued
git -C $O rebase --continue
#= rebase of another worktree aborted
GIT_DIR=$OD git rebase --abort; GIT_DIR=$OD git rebase --quit
#= filter-branch
FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter 'echo x' -- --all
#= fast-import
printf 'reset refs/heads/loose\nfrom %s\n\nreset refs/heads/release\nfrom %s\n\n' $(git rev-parse HEAD^) $(git rev-parse HEAD) | git fast-import --quiet --force
#= commit in the main checkout
git -C $M commit -qm x
#= merge in the main checkout
git commit -q --allow-empty -m x; git -C $M merge -q mine; git --git-dir=$MD --work-tree=$P merge -q mine
#= reset of the main checkout
git -C $M reset -q --hard HEAD^; git --git-dir=$MD --work-tree=$P reset -q HEAD^
#= checkout in the main checkout
git --git-dir=$MD --work-tree=$P checkout -q -f loose
#= stash in the main checkout
git --git-dir=$MD --work-tree=$P stash
#= commit with the other's directory
GIT_DIR=$OD GIT_WORK_TREE=$P git commit -q --allow-empty -m x
#= sparse checkout in the main checkout
git --git-dir=$MD --work-tree=$P sparse-checkout set x; git -C $O sparse-checkout set x
#= bisect in the main checkout
git --git-dir=$MD --work-tree=$P bisect start HEAD HEAD~2
#= worktree removed
git worktree remove --force --force $O
#= worktree of the main checkout moved
git worktree move $O $P/o
#= worktree repaired
mkdir r; cp $O/.git r/.git 2> /dev/null || echo gitdir: $OD > r/.git; git worktree repair r
#= worktree added in another's place
git worktree add -f -f $O loose; git worktree add -q -f new main; git -C new commit -q --allow-empty -m x
#= worktree added and forced to a branch
git worktree add -q -B loose new HEAD^
#= worktree added, committing to another branch
git worktree add -q -f new loose; git -C new commit -q --allow-empty -m x; git worktree remove -f new
#= remote removed
git remote remove origin; git remote rename origin new
#= branch configuration
git config branch.main.remote .; git config branch.main.merge refs/heads/loose; git branch -u loose main; git branch --unset-upstream main
#= names with strange bytes
H=$(git rev-parse HEAD); for n in 'a;$(touch x)' $'n\001ew' '-new' 'new{' '@' 'HEAD' 'new..x' '.new' 'new.lock.lock' $'new\nx' 'new x' 'new~1' "$(printf 'new\377')"; do echo $H > "$G/refs/heads/$n"; done
#= names with strange bytes by git
git branch 'new;$(touch${IFS}x)'; git update-ref refs/heads/HEAD HEAD; git update-ref refs/heads/-new HEAD; git update-ref refs/HEAD HEAD; git update-ref refs/heads/main@{0 HEAD
#= names of references outside refs
git rev-parse HEAD^ > $G/main; git rev-parse HEAD^ > $G/loose; mkdir -p $G/heads; git rev-parse HEAD^ > $G/heads/main
#= the whole git directory removed
rm -rf $G
#= the whole git directory moved
mv $G $G.x || mv $MD $MD.x
